"""Neighbour map, computed in a process beside the page."""

from __future__ import annotations

from io import BytesIO
from unittest.mock import Mock

import numpy as np
import pytest

from lapwing._label import mapping
from lapwing._label.errors import RequestError
from tests.label.pages import X, session


@pytest.mark.parametrize("status", [0, 1])
def test_neighbour_map_is_listed_first_unless_it_fails(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = np.column_stack([np.arange(60.0), -np.arange(60.0)])

    def communicate(sent: bytes) -> tuple[bytes, None]:
        """Run in the thread of the job instead."""
        received = BytesIO()
        mapping.main(BytesIO(sent), received)
        return received.getvalue(), None

    started = Mock(return_value=Mock(returncode=status, communicate=communicate))
    monkeypatch.setattr("subprocess.Popen", started)
    monkeypatch.setattr("os.nice", lambda priority: None)
    monkeypatch.setattr(mapping, "neighbor_map", lambda affinity, start: expected)
    with session(X, neighbor_map=True) as found:
        assert found.rest()
        assert started.call_args.args[0][1:] == ["-m", "lapwing._label.mapping"]
        kinds = [kind["key"] for kind in found.state()["maps"]]
        if status:
            assert kinds == ["components", "graph"]
            with pytest.raises(RequestError, match="There is no map 'neighbours'"):
                found.map("neighbours")
        else:
            assert kinds == ["neighbours", "components", "graph"]
            places = np.frombuffer(found.map("neighbours"), "<f4", 120, offset=4 * 61)
            np.testing.assert_array_equal(places.reshape(2, 60).T, expected)


@pytest.mark.slow
def test_neighbour_map_is_computed_in_a_process() -> None:
    """Each group is a small component, and equal rows have one place."""
    doubled = np.vstack([X, X[:5]])
    with session(doubled, neighbor_map=True) as found:
        assert found.rest()
        places = np.frombuffer(found.map("neighbours"), "<f4", 130, offset=4 * 66).reshape(2, 65)
        np.testing.assert_array_equal(places[:, 60:], places[:, :5])
        assert len(np.unique(places, axis=1).T) == 60
