"""A line of progress, for those who see it."""

from __future__ import annotations

import io
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from sklearn.datasets import make_blobs

from lapwing import FewLabelClassifier, LapSVC
from lapwing._host import terminal
from lapwing._host.terminal import StatusLine, current_line, harmless, showing
from lapwing.datasets import mask_labels
from lapwing.model_selection import Candidate, compare, rows_to_label


class Screen(io.StringIO):
    """A terminal that shows its last line."""

    def isatty(self) -> bool:
        return True

    @property
    def line(self) -> str:
        cells = ""
        for text in self.getvalue().split("\r"):
            cells = text + cells[len(text) :]
        return cells.rstrip()


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    found = Screen()
    # pytest puts its own stream into sys between a fixture and its test
    monkeypatch.setattr(terminal, "sys", SimpleNamespace(stderr=found))
    monkeypatch.setattr(terminal, "DELAY", 0.0)
    return found


def test_control_characters_and_surrogates_are_replaced() -> None:
    assert harmless("Köln, 2 €") == "Köln, 2 €"
    assert harmless("a\ud800b\x00\n\x1f\x7f\x9f\xa0é") == "a?b␀␊␟␡␡\xa0é"


def test_a_line_names_the_work_and_is_erased(screen: Screen) -> None:
    with StatusLine("Comparing", forecast=30.0) as line:
        line.show("a long name of a candidate")
        line.show("S3VC()")
        assert screen.line == "Comparing: S3VC(), 0 s (about 30 s left)"
    assert screen.line == ""


def test_a_line_fits_the_terminal(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    with StatusLine("Comparing") as line:
        line.show("a long\x1b name of a candidate")
        assert screen.line == "Comparing: a l, 0 s"


def work() -> None:
    with StatusLine("Comparing") as line:
        line.show("S3VC()")


def test_short_work_and_that_of_other_threads_shows_nothing(screen: Any, monkeypatch: Any) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    monkeypatch.setenv("LAPWING_PROGRESS", "0")
    work()
    assert screen.getvalue() == ""
    monkeypatch.setenv("LAPWING_PROGRESS", "1")
    work()
    before = screen.getvalue()
    assert "S3VC()" in before
    monkeypatch.setattr(terminal, "DELAY", 60.0)
    work()
    assert screen.getvalue() == before


def test_a_single_long_stage_is_shown(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "DELAY", 1e-3)
    seen = threading.Event()
    monkeypatch.setattr(screen, "flush", seen.set)
    with StatusLine("Comparing"):
        assert seen.wait(60)
    assert screen.getvalue().startswith("\rComparing, 0 s")


@pytest.mark.parametrize("stream", [io.StringIO(), None], ids=["file", "none"])
def test_shows_nothing_without_a_terminal(stream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "DELAY", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    work()
    assert stream is None or stream.getvalue() == ""


def test_is_shown_in_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(sys, "stderr", stream)
    assert terminal.is_watched()


def test_one_display_at_a_time(screen: Screen) -> None:
    with StatusLine("outer") as outer, StatusLine("inner") as inner:
        outer.show("")
        inner.show("part")
    assert "inner" not in screen.getvalue()
    before = screen.getvalue()
    with StatusLine("outer", quiet=True), StatusLine("inner") as inner:
        inner.show("part")
    assert screen.getvalue() == before
    assert showing.get() is None


def test_stages_are_shown_on_the_current_line(screen: Screen) -> None:
    X, truth = make_blobs(60, 2, centers=2, random_state=0)
    y = mask_labels(truth, 10, random_state=0)
    model = LapSVC(solver="pcg", tol=1e-2)
    for quiet in (False, True):
        with StatusLine("LapSVC", quiet) as line:
            assert current_line() is line
            model.set_callbacks(*line.callbacks).fit(X, y)
            assert (", iteration" in line._part) is not quiet
    assert "LapSVC: kernel, 0 s" in screen.getvalue()
    with StatusLine("Comparing methods") as line, current_line().stage("S3VC()", 3) as tick:
        assert not tick(dict)
        assert not tick(dict)
        assert line._part == "S3VC(), 2 of 3"
    before = screen.getvalue()
    with current_line().stage("nobody sees it"):
        assert screen.getvalue() == before
    assert current_line().callbacks == []


def test_choosing_shows_the_methods_tried(screen: Screen) -> None:
    X, truth = make_blobs(40, centers=2, random_state=0)
    y = mask_labels(truth, 2, random_state=0)
    candidates = [Candidate("mine", LapSVC(), "classes are sheets")]
    compare(X, y, candidates=candidates, n_draws=1)
    assert "Comparing methods: mine" in screen.getvalue()
    FewLabelClassifier(candidates, n_draws=1).fit(X, y)
    assert "Choosing a method: mine" in screen.getvalue()
    assert "Choosing a method: fit mine" in screen.getvalue()
    rows_to_label(X, y, 2)
    assert "Choosing rows to label among 40" in screen.getvalue()
    assert screen.line == ""
