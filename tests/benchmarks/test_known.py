"""Comparisons of methods on known rows: all methods of all benchmarks, failures, and tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from benchmarks.peers import command as peers
from benchmarks.peers.adapters import CONTENDERS, Contender, Task
from benchmarks.regression import command as regression
from benchmarks.regression import coreg
from benchmarks.shared.known import Answer, Problem, error_table, installed, mean_errors
from benchmarks.shared.labels import with_labels
from benchmarks.text import command as text
from benchmarks.text.contenders import ON_TABLES, ON_TEXTS, ON_WORDS, Documents
from benchmarks.text.documents import Texts, weighted
from benchmarks.text.mixed import mixed_table
from tests.helpers.data import two_clouds
from tests.helpers.texts import TOPICS, on_topics


def clouds() -> Problem:
    X, y = two_clouds(60, apart=(5.0, 0, 0))
    truth = (y > 0).astype(np.int64)
    contenders = {one.key: one for one in CONTENDERS}
    return Problem(contenders, partial(Task.drawn, X, truth), partial(peers.measured, truth))


def of_documents(methods: Any, X: Any, truth: np.ndarray) -> Problem:
    measure = partial(text.measured, Documents(X), truth, 60)
    return Problem(methods, partial(with_labels, truth), measure)


def words() -> Problem:
    texts, truth = on_topics(60)
    return of_documents(ON_WORDS, weighted(texts), truth)


def tables() -> Problem:
    return of_documents(
        {**ON_TABLES, **ON_TEXTS}, *mixed_table(300, Texts(*on_topics(300), TOPICS))
    )


def curve() -> Problem:
    """Points of a curve, and how far along it they are, with a deviation of 1."""
    place = np.linspace(-1, 1, 120) * np.sqrt(3)
    X, truth = np.column_stack([place, place**2]), 50 + place
    hide = partial(regression.drawn, truth)
    return Problem(regression.CONTENDERS, hide, partial(regression.measured, X, truth))


# With the number of known rows, and the largest error.
COMPARISONS = {clouds: (10, 10), words: (3, 20), tables: (5, 50), curve: (20, 0.2)}
problem_of = cache(lambda make: make())


def methods() -> Iterator[Any]:
    """Methods that choose among others take seconds, and encoders that are models to load."""
    for make in COMPARISONS:
        for name, contender in make().methods.items():
            packages = getattr(contender, "packages", ())
            slow = name.startswith(("FewLabel", "KernelRidge by")) or (packages and make is tables)
            missing = [one for one in packages if find_spec(one) is None]
            marks = [pytest.mark.slow] * bool(slow)
            marks += [pytest.mark.skip(f"{one} is not installed") for one in missing]
            yield pytest.param(make, name, id=f"{make.__name__}-{name}", marks=marks)


@pytest.mark.parametrize(("make", "name"), [*methods()])
def test_every_method_answers(make: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coreg, "ROUNDS", 10)
    monkeypatch.setattr(coreg, "POOL", 10)
    problem, (known, limit) = problem_of(make), COMPARISONS[make]
    method = problem.methods[name]
    found = problem.measure(method, problem.hide(known, np.random.default_rng(0)))
    assert found.failed == ""
    assert found.error is not None
    assert found.error < limit
    assert found.seconds > 0
    assert (found.coverage is not None) is getattr(method, "intervals", False)


def test_labels_are_drawn_in_equal_numbers() -> None:
    truth = np.repeat([0, 1, 2], [30, 10, 5])
    y = with_labels(truth, 2, np.random.default_rng(0))
    assert np.bincount(y[y >= 0]).tolist() == [2, 2, 2]
    assert (y[y >= 0] == truth[y >= 0]).all()


def test_methods_without_their_packages_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    there = Contender("A", "m", lambda task: task.y)
    absent = there._replace(packages=("numpy", "no_such_package"))
    assert installed({"there": there, "absent": absent}) == {"there": there}
    assert capsys.readouterr().err == "absent: left out, as no_such_package is not installed\n"


@pytest.mark.parametrize(
    ("make", "labels_alone"),
    [
        (clouds, Contender("A", "m", lambda task: task.y)),
        (words, text.Contender(lambda X, y: y)),
    ],
)
def test_errors_are_of_unlabelled_rows(make: Any, labels_alone: Any) -> None:
    problem = problem_of(make)
    known = problem.hide(3, np.random.default_rng(0))
    assert problem.measure(labels_alone, known).error == 100


def broken(task: Task) -> np.ndarray:
    raise ValueError("no such graph")


def test_failures_are_counted() -> None:
    problem = clouds()
    task = problem.hide(1, np.random.default_rng(0))
    found = problem.measure(Contender("Other", "m n", broken), task)
    assert (found.error, found.failed) == (None, "ValueError: no such graph")
    answers = [Answer("s", "Other m n", 1, 0, *found), Answer("s", "Other m n", 1, 1, 7.0, 1.0)]
    table = peers.table_of("s", answers)
    assert table.header == ["library", "method", "1 per class", "s"]
    assert table.rows == [["Other", "m n", "7.0 (0.0), 1 failed", "1.00"]]
    assert table.notes[1] == "- Other m n: ValueError: no such graph."


def test_means_over_draws_are_of_methods_without_failures() -> None:
    good = Answer("s", "good", 3, 0, 10.0, 0.5)
    lost = replace(good, method="lost", error=5.0)
    failed = replace(lost, draw=1, error=None, seconds=60.0, failed="stopped after 60 s")
    found = [good, replace(good, draw=1, error=20.0), lost, failed, replace(good, known=4)]
    table = error_table("t", found, "labels", 1, "Note.")
    assert table.header == ["method", "3 labels", "4 labels", "s"]
    assert table.rows == [
        ["good", "15.0 (7.1)", "10.0 (0.0)", "0.50"],
        ["lost", "5.0 (0.0), 1 failed", "-", "0.50"],
    ]
    assert "over 2 draws" in table.notes[0]
    assert table.notes[1:] == ["- lost: stopped after 60 s."]
    assert mean_errors(found[:4]) == {"good": 15.0}
    assert text.best(found[:4]).rows == [["s", "good 15.0"]]
