"""Jobs in a thread for the newest value only."""

from __future__ import annotations

import threading

import pytest

from lapwing._label import model as background
from lapwing._label.model import LatestJob


class Held(LatestJob[int]):
    """A job that has begun with the value 1, and ends when it may."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.seen: list[tuple[int, bool]] = []
        super().__init__(self.hold, "test")
        self.offer(1)
        assert self.begun.wait(10)

    def hold(self, value: int) -> None:
        self.begun.set()
        assert self.may_end.wait(10)
        self.seen.append((value, self.pause(30.0 if value == 1 else 0.0)))


def test_job_runs_for_the_newest_value_only_and_its_pause_ends_for_that() -> None:
    newest = Held()
    assert not newest.overtaken
    for value in (2, 3, 4):
        newest.offer(value)
    assert newest.overtaken
    assert not newest.wait(0.01)
    newest.may_end.set()
    assert newest.wait(10)
    assert newest.seen == [(1, False), (4, True)]
    newest.close()


def test_closing_does_not_wait_for_a_long_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_PATIENCE", 0.01)
    newest = Held()
    newest.close()
    assert newest._thread.is_alive()
    newest.may_end.set()
    newest._thread.join(10)
    assert not newest._thread.is_alive()
