"""The map of neighbours, which is made beside the page."""

from __future__ import annotations

import subprocess
from typing import Any

import numpy as np
import pytest

from lapwing._label import session as session_module
from lapwing._label.mapping import MapJob
from lapwing._label.words import RequestError
from tests.label.pages import problem, session

X, TRUTH = problem()


class Instant:
    """A job that gives a fixed map as soon as it begins."""

    places = np.column_stack([np.arange(60.0), -np.arange(60.0)])

    def __init__(self, done: Any) -> None:
        self._done = done

    def begin(self, graph: Any, points: Any) -> None:
        assert graph.prepared.problem.n_points == len(points)
        self._done(self.places)

    def wait(self, seconds: float) -> bool:
        return True

    def close(self) -> None: ...


def test_the_page_hears_of_the_map_and_shows_it_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "MapJob", Instant)
    with session(X, neighbor_map=True) as found:
        assert found.rest()
        kinds = [kind["key"] for kind in found.state()["maps"]]
        assert kinds == ["neighbours", "components", "graph"]
        places = np.frombuffer(found.map("neighbours"), "<f4", 120, offset=4 * 61)
        np.testing.assert_array_equal(places.reshape(2, 60).T, Instant.places)


def test_without_it_there_are_the_others() -> None:
    with session(X) as found:
        assert [kind["key"] for kind in found.state()["maps"]] == ["components", "graph"]
        with pytest.raises(RequestError, match="There is no map 'neighbours'"):
            found.map("neighbours")


@pytest.mark.slow
def test_a_process_of_its_own_makes_it() -> None:
    """Each group is a small component, and equal rows have one place."""
    doubled = np.vstack([X, X[:5]])
    with session(doubled, neighbor_map=True) as found:
        assert found.rest()
        places = np.frombuffer(found.map("neighbours"), "<f4", 130, offset=4 * 66).reshape(2, 65)
        np.testing.assert_array_equal(places[:, 60:], places[:, :5])
        assert len(np.unique(places, axis=1).T) == 60


def test_a_process_that_fails_leaves_the_page_without(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def __init__(self, command: list[str], **options: Any) -> None:
            assert command[1:3] == ["-m", "lapwing._label.mapping"]

        def wait(self) -> int:
            return 1

        def kill(self) -> None: ...

    monkeypatch.setattr(subprocess, "Popen", Failing)
    taken: list[Any] = []
    job = MapJob(taken.append)
    with session(X) as found:
        job.begin(found._model.point_graph, X)
        assert job.wait(10.0)
    job.close()
    assert not taken
