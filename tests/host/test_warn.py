"""Warnings point at the line that called lapwing, directly or through scikit-learn."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import LapSVC
from lapwing._host.warn import warn
from lapwing.exceptions import LapwingWarning, UnlabeledComponentWarning

# Two clouds too far apart for the graph to connect, one of them without a label.
X = np.random.default_rng(0).standard_normal((60, 2)) + 50 * (np.arange(60) >= 40)[:, None]
Y = np.where(np.arange(60) < 20, np.arange(60) % 2, -1)


def called(call: Callable[[], Any]) -> list[tuple[type[Warning], str, int]]:
    """Return categories, files and lines of the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [(warning.category, warning.filename, warning.lineno) for warning in caught]


def lines_of(function: Any) -> range:
    lines, start = inspect.getsourcelines(function)
    return range(start, start + len(lines))


def direct() -> Any:
    return LapSVC(gamma_A=0.1).fit(X, Y)


def in_a_search_of_pipelines() -> Any:
    model = make_pipeline(StandardScaler(), LapSVC())
    return GridSearchCV(model, {"lapsvc__gamma_A": [0.1]}, cv=2, error_score="raise").fit(X, Y)


@pytest.mark.parametrize("call", [direct, in_a_search_of_pipelines])
def test_warnings_point_at_the_users_line(call: Callable[[], Any]) -> None:
    found = called(call)
    assert UnlabeledComponentWarning in {category for category, _, _ in found}
    for category, filename, line in found:
        assert issubclass(category, LapwingWarning)
        assert filename == __file__
        assert line in lines_of(call)


@pytest.mark.parametrize("depth", [1, 2, 7])
@pytest.mark.parametrize("module", ["lapwing.estimators.x", "sklearn.pipeline", "joblib.parallel"])
def test_skips_frames_of_libraries(module: str, depth: int) -> None:
    inside: dict[str, Any] = {"__name__": module, "warn": warn}
    # It calls itself from inside.
    exec("def f(n):\n    f(n - 1) if n else warn('deep', UserWarning)", inside)

    def caller() -> None:
        inside["f"](depth)

    ((_, filename, line),) = called(caller)
    assert filename == __file__
    assert line in lines_of(caller)


def test_modules_with_similar_names_are_user_code() -> None:
    outside: dict[str, Any] = {"__name__": "lapwing_tools", "warn": warn}
    exec(compile("def f():\n    warn('mine', UserWarning)", "tools.py", "exec"), outside)
    assert called(lambda: outside["f"]()) == [(UserWarning, "tools.py", 2)]


@pytest.mark.slow
def test_warns_without_an_outer_frame() -> None:
    code = "__name__ = 'sklearn.x'\nfrom lapwing._host.warn import warn\nwarn('alone', UserWarning)"
    run = [sys.executable, "-W", "always", "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "UserWarning: alone" in done.stderr
