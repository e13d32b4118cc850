"""Findings at the head of the report, the most serious first."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from operator import itemgetter
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from lapwing._report.program import changed_parameters
from lapwing._report.record import Choice, Hints
from lapwing._report.rows import CLASSES_SHOWN
from lapwing._report.text import (
    NAME_LENGTH,
    clean,
    count,
    cut_middle,
    finite_or_none,
    number,
    percent,
    plural,
)
from lapwing._version import __version__
from lapwing._words import listed
from lapwing.classes.label_checks import words_for_none
from lapwing.model_selection.comparison import Comparison

Note = tuple[str, str]  # level and text
Row = Mapping[str, Any]  # figures of a compared method

# "info": a fact that is neither good nor bad.
_ORDER = {"problem": 0, "warning": 1, "good": 2, "info": 3}
_DECIDED = 0.05
_SETTLED = ("converged", "precision reached", "stopped early")
_VOLUME_FACTOR = 4.0
_SPREAD_FACTOR = 5.0
_LARGE_SHARE = 0.5
_NAMED = 5


class ChoiceTable(NamedTuple):
    """Table of the methods that were compared.

    Attributes
    ----------
    columns : mapping of str to callable
        Formats of the columns, by their headings; each takes the figures of a method.
    assumption : str
        Heading of the assumptions of the methods on the labels.
    legend : str
    """

    columns: Mapping[str, Callable[[Row], str]]
    assumption: str
    legend: str

    def cells(self, row: Row) -> list[str]:
        """Format the figures of a method."""
        return [show(row) for show in self.columns.values()]


def _missed(row: Row) -> str:
    n = row["n_left_out"]
    return f"{round(row['left_out_error'] * n)} of {n}" if n else "–"


_CLASS_TABLE = ChoiceTable(
    {
        "method": itemgetter("name"),
        "wrong": lambda row: f"{100 * row['error']:.0f}\u00a0%",
        "90 % interval": lambda row: f"{100 * row['low']:.0f} to {100 * row['high']:.0f}\u00a0%",
        "missed": _missed,
        "changed": lambda row: percent(row["changed"]),
    },
    "assumes classes to be",
    "Wrong: the estimated fraction of wrong answers on the rows without a label. Missed: labels "
    "that the fit without them predicts wrongly. Changed: rows that get another answer when labels "
    "are drawn from the method’s own answers.",
)
_NUMBER_TABLE = ChoiceTable(
    {
        "method": itemgetter("name"),
        "off by": lambda row: number(row["error"]),
        "90 % interval": lambda row: f"{number(row['low'])} to {number(row['high'])}",
        "explained": lambda row: percent(row["explained"]),
        "left out": lambda row: count(row["n_left_out"]),
    },
    "assumes values to be",
    "Off by: the root mean square error of targets that were left out in turn. Explained: the "
    "fraction of their variance that is predicted.",
)

_MOST_NAMED = 3
# Components without a label are reported if they have at least this fraction of the points; labels
# in smaller components improve fewer predictions than labels elsewhere.
_UNLABELED_SHARE = 0.01

_PACKAGES = ("numpy", "scipy", "scikit-learn")


def write_notes(report: dict[str, Any]) -> list[dict[str, str]]:
    """Return the findings of a report: text and level ('problem', 'warning', 'good' or 'info')."""
    fitted = report["fitted"]
    remedies = fitted["remedies"]
    found = [
        *_solver_notes(report["convergence"], remedies["convergence"]),
        *_graph_notes(report["graph"], fitted["unlabeled_use"]),
        *_twin_notes(report["twin"]),
        *_truth_notes(report["truth"], remedies["unlabeled_weight"]),
    ]
    if report["kind"] == "classification":
        found += _class_notes(report["volumes"], report["rows"], remedies["unlabeled_weight"])
        found += [("warning", fitted["margin_note"])] if fitted["margin_note"] else []
    else:
        found += _spread_notes(report["volumes"], remedies["underfitting"])
    return [
        {"level": level, "text": text}
        for level, text in sorted(found, key=lambda note: _ORDER[note[0]])
    ]


def _solver_notes(facts: dict[str, Any], remedy: str) -> Iterator[Note]:
    iterations = plural(facts["n_iter"], "iteration")
    if facts["status"] in _SETTLED:
        verb = {"precision reached": "reached the precision of its arithmetic"}.get(
            facts["status"], facts["status"]
        )
        yield "good", f"The solver {verb} after {iterations}."
        return
    cure = f" Raise max_iter or tol, or use {remedy}." if facts["max_iter"] else ""
    yield (
        "problem",
        f"The solver ended as “{facts['status']}” after {iterations}: the answers may still "
        f"change.{cure}",
    )


def _graph_notes(graph: dict[str, Any], unlabeled_use: str) -> Iterator[Note]:
    if not graph:
        # A method that uses the unlabelled rows in a different way needs no graph.
        if not unlabeled_use:
            yield "warning", "The fit did not use the unlabelled rows."
        return
    n = graph["n_components_unlabeled"]
    if n:
        yield (
            "warning",
            f"{plural(n, 'part')} of the graph ({plural(graph['n_points_unlabeled'], 'point')}) "
            f"{'holds' if n == 1 else 'hold'} no label: answers there depend on the kernel only. "
            "Label a row in each, or raise graph.n_neighbors.",
        )
    else:
        yield "good", "Every part of the graph holds at least one label."
    if graph["n_isolated"]:
        yield (
            "warning",
            f"{plural(graph['n_isolated'], 'point')} without any neighbour in the graph.",
        )


def _twin_notes(twin: dict[str, Any]) -> Iterator[Note]:
    if "n_differing" not in twin:
        return
    rows = plural(twin["n_unlabeled"], "unlabelled row")
    if twin["n_differing"]:
        level = "warning" if twin["share_differing"] > _LARGE_SHARE else "info"
        share = percent(twin["share_differing"])
        yield level, f"From the labels alone {share} of {rows} would get another class."
    else:
        yield (
            "warning",
            f"The supervised twin gives the same class to all {rows}: the unlabelled rows made no "
            "difference.",
        )


def _spread_notes(volumes: dict[str, Any], parameter: str) -> Iterator[Note]:
    labels, rows = volumes["labels"]["std"], volumes["rows"]["std"]
    if rows * _SPREAD_FACTOR < labels:
        yield (
            "problem",
            f"The predictions hardly vary: their standard deviation is {number(rows)}, that of the "
            f"labels {number(labels)}. A smaller {parameter} lets the function follow the labels.",
        )


def _class_notes(volumes: dict[str, Any], rows: dict[str, Any], remedy: str) -> Iterator[Note]:
    labeled = [c for c in volumes["classes"] if c["n_labels"]]
    total = sum(c["n_unlabeled"] for c in volumes["classes"])
    everywhere = [c["name"] for c in labeled if total and c["n_unlabeled"] == total]
    empty = [c for c in labeled if total and not c["n_unlabeled"]]
    # A class whose labels are all rows that the prior allows is rightly empty.
    nowhere = [c["name"] for c in empty if not c.get("fills_prior")]
    single = [c["name"] for c in labeled if c["n_labels"] == 1]
    if everywhere:
        yield (
            "problem",
            f"Every unlabelled row was given the class {_names(everywhere)}. Look at the scales of "
            f"the columns and at gamma, or try {remedy}.",
        )
    elif nowhere:
        which, them = ("class", "it") if len(nowhere) == 1 else ("classes", "them")
        yield (
            "problem",
            f"No unlabelled row was given the {which} {_names(nowhere)}. Label more rows of "
            f"{them}, or try {remedy}.",
        )
    given = (c for c in labeled if c["n_unlabeled"])
    rarer = [c for c in given if c["row_share"] * _VOLUME_FACTOR < c["label_share"]]
    for c in rarer[:CLASSES_SHOWN]:
        yield (
            "warning",
            f"The class {_names([c['name']])} has {percent(c['label_share'])} of the labels "
            f"but {percent(c['row_share'])} of the rows.",
        )
    if single:
        which = "The class" if len(single) == 1 else "Each of the classes"
        yield "warning", f"{which} {_names(single)} was learnt from a single label."
    n = rows["n_contradicted"]
    if n:
        worst = rows["contradicted"][0]
        yield (
            "warning",
            f"{plural(n, 'labelled row')} {'gets' if n == 1 else 'get'} another class than the "
            f"label says, most clearly row {worst['id']} (margin {number(worst['margin'])}). Check "
            "these labels.",
        )


def _names(names: list[str]) -> str:
    shown = [f"“{name}”" for name in names]
    if len(shown) > _NAMED:
        return listed(shown, _NAMED)
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _truth_notes(truth: dict[str, Any], remedy: str) -> Iterator[Note]:
    if not truth.get("n") or truth["p_value"] is None:
        return
    if "rmse" in truth:
        ours, twins = truth["rmse"], truth["twin"].get("rmse")
        words = f"their root mean square error is {number(twins)} instead of {number(ours)}"
    else:
        ours, twins = truth["error_rate"], truth["twin_error_rate"]
        words = f"{_share(truth, 'twin_')} would be wrong instead of {_share(truth, '')}"
    if truth["p_value"] >= _DECIDED or twins == ours:
        yield (
            "info",
            f"From the labels alone {words}: too small a difference to say whether the "
            "unlabelled rows help.",
        )
    elif twins > ours:
        yield "good", f"The unlabelled rows help: from the labels alone {words}."
    else:
        yield (
            "problem",
            f"The unlabelled rows mislead: from the labels alone {words}. Try {remedy}.",
        )


def _share(truth: dict[str, Any], whose: str) -> str:
    return f"{plural(truth[f'{whose}n_errors'], 'row')} ({percent(truth[f'{whose}error_rate'])})"


def describe_choice(choice: Choice | None) -> dict[str, Any]:
    """Describe how the method of a fit was chosen; empty if the user named it."""
    if choice is None:
        return {}
    skipped = [clean(name) for name in choice.skipped]
    found: dict[str, Any] = {"reason": clean(choice.reason), "skipped": skipped, "methods": []}
    return found if choice.comparison is None else found | describe_comparison(choice.comparison)


def describe_comparison(comparison: Comparison) -> dict[str, Any]:
    """Return the figures of a `lapwing.model_selection.Comparison`, the chosen method first.

    Times are left out, because they differ from run to run.
    """
    return {
        "verdict": clean(comparison.verdict, 2000),
        "notes": [clean(note, 2000) for note in comparison.notes],
        "n_labeled": int(comparison.n_labeled),
        "n_used": int(comparison.n_used),
        "n_samples": int(comparison.n_samples),
        "methods": [_describe(row) for row in comparison.table],
    }


def estimate_words(choice: Mapping[str, Any]) -> str:
    """State the estimated error of the chosen method; empty if nothing was compared."""
    if not choice or not choice["methods"]:
        return ""
    best = choice["methods"][0]
    _, error, interval, *_ = choice_table(choice["methods"]).cells(best)
    words = f"About {error} of the answers are wrong"
    if "explained" in best:
        words = f"Numbers are off by about {error} (root mean square)"
    return f"{words} by the estimate of the comparison, {interval} with a probability of 90\u00a0%."


def choice_table(methods: Sequence[Row]) -> ChoiceTable:
    """Return the table of methods for classes, or for numbers."""
    return _NUMBER_TABLE if "explained" in methods[0] else _CLASS_TABLE


def _describe(row: Any) -> dict[str, Any]:
    low, high = row.error_interval
    found = {
        "name": clean(row.name),
        "assumption": clean(row.assumption),
        "error": float(row.error),
        "low": float(low),
        "high": float(high),
    }
    if row.regression:
        numbers = {"explained": finite_or_none(row.explained), "n_left_out": row.n_left_out}
        return {**found, **numbers, "objection": ""}
    return {
        **found,
        "left_out_error": finite_or_none(row.left_out_error),
        "n_left_out": int(row.n_left_out),
        "changed": finite_or_none(row.reproducibility),
        "smallest_share": float(row.smallest_share),
        "labels_kept": float(row.fitted),
        "objection": clean(row.objection),
    }


def next_step(report: dict[str, Any], notes: list[dict[str, str]], hints: Hints) -> str:
    """Recommend the next step.

    Parameters
    ----------
    report : dict
        Sections of a `ReportData`.
    notes : list of dict
        Result of `write_notes`.
    hints : Hints
        Commands or calls for the next step.

    Returns
    -------
    str
        Sentences.
    """
    grave = [note["text"] for note in notes if note["level"] == "problem"]
    if grave:
        return f"Look at this problem first. {grave[0]}"
    steps = (
        _check_labels(report["rows"]),
        _label_components(report["graph"]),
        _label_or_use(report, hints),
    )
    return next(step for step in steps if step)


def _check_labels(rows: dict[str, Any]) -> str:
    if not rows.get("n_contradicted"):
        return ""
    row = rows["contradicted"][0]
    if words_for_none([str(row["predicted"])]):
        return (
            f"“{row['predicted']}” counts as a class here. If it means no label, mark its rows as "
            "unlabelled (--unlabeled, or unlabeled= in Python), and fit again."
        )
    return (
        f"Check the label of row {_id(row)}: it is “{row['label']}”, but everything else points "
        f"to “{row['predicted']}”. Correct it if it is wrong, and fit again."
    )


def _label_components(graph: dict[str, Any]) -> str:
    if not graph or graph["n_points_unlabeled"] <= _UNLABELED_SHARE * graph["n_points"]:
        return ""
    parts = plural(graph["n_components_unlabeled"], "part")
    named = ", ".join(
        cut_middle(part["ids"][0], NAME_LENGTH)
        for part in graph["unlabeled_components"][:_MOST_NAMED]
    )
    one = graph["n_components_unlabeled"] == 1
    return (
        f"Label a row in {'the' if one else 'each of the'} {parts} of the graph that no label "
        f"reaches, such as {named}, and fit again."
    )


def _label_or_use(report: dict[str, Any], hints: Hints) -> str:
    rows, volumes = report["rows"], report["volumes"]
    if report["kind"] == "regression":
        if not rows["outliers"]:
            return (
                f"No label stands out from the others. Use the model for new rows: {hints.predict}."
            )
        (row,) = rows["outliers"]
        return (
            f"Compare row {_id(row)} with your records: its label is {number(row['label'])}, the "
            f"others point to {number(row['predicted'])}, the largest difference of all labels."
        )
    if not rows["least_certain"]:
        return f"Every row has a label. Use the model for new rows: {hints.predict}."
    if not volumes["n_to_check"]:
        return "Look at some of the answers, and use them: all are sure."
    asked = rows["suggested"] or rows["least_certain"][: volumes["n_to_check"]]
    named = ", ".join(_id(row) for row in asked[:_MOST_NAMED])
    which = "most informative" if rows["suggested"] else "least certain"
    return (
        f"Label the {which} rows ({named}{', …' if len(asked) > _MOST_NAMED else ''}) and fit "
        f"again. {hints.label}"
    ).strip()


def _id(row: dict[str, Any]) -> str:
    return cut_middle(row["id"], NAME_LENGTH)


def sure_words(volumes: Mapping[str, Any]) -> str:
    """State how many predictions of unlabelled rows are sure.

    Parameters
    ----------
    volumes : mapping
        Contains `n_sure`, `n_to_check` and `trust`.
    """
    sure, unsure = volumes["n_sure"], volumes["n_to_check"]
    rows = plural(sure + unsure, "row")
    if not sure:
        which = "the row" if unsure == 1 else f"all {rows}"
        return (
            f"No answer is sure: {which} without a label {'is' if unsure == 1 else 'are'} to check."
        )
    level = volumes["trust"]["level"]
    are = "is" if unsure == 1 else "are"
    return (
        f"{count(sure)} of {rows} without a label {'has' if sure == 1 else 'have'} a sure answer "
        f"({percent(sure / (sure + unsure))}), {count(unsure)} {are} to check. Of the sure "
        f"answers {100 * level:.0f}\u00a0% or more should be right."
    )


def trust_words(trust: Mapping[str, Any] | None) -> str:
    """State the precision of the sure predictions, and the labels needed for a higher level."""
    if trust is None:
        return ""
    if not trust["n_needed"]:
        return (
            "Nothing here says how often this method is right: its probabilities rest on other "
            "data. Look at some of the answers. Without --method, lapwing fit learns it from the "
            "labels that it leaves out, where classes have two or more."
        )
    tests = plural(trust["n_tests"], "label")
    origin = f"This comes from {tests} that {'was' if trust['n_tests'] == 1 else 'were'} left out"
    needs = ""
    if trust["level"] != 0.99 or trust["threshold"] is None:
        needs = f" To claim 99\u00a0% takes {count(trust['n_needed'])} labels or more."
    if trust["threshold"] is None:
        return (
            f"{origin}. This is not enough to claim even 90\u00a0%: there are too few labels, or "
            f"too many of them were predicted wrongly.{needs}"
        )
    return (
        f"{origin}: {percent(trust['expected'])} of the sure answers are expected to be right, "
        f"{percent(trust['low'])} to {percent(trust['high'])} with a probability of 90\u00a0%."
        f"{needs} Look at some of them before you take over all."
    )


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the numerical packages."""
    found = {"Python": platform.python_version(), "lapwing": __version__}
    return found | {name: version(name) for name in _PACKAGES}


def parameters(estimator: BaseEstimator) -> list[dict[str, Any]]:
    """List the estimator's parameters, and whether they differ from their defaults."""
    changed = changed_parameters(estimator)
    return [
        {"name": name, "value": _short(value), "changed": name in changed}
        for name, value in sorted(estimator.get_params(deep=False).items())
    ]


def _short(value: Any) -> str:
    if isinstance(value, BaseEstimator):
        return clean(" ".join(value.__repr__(N_CHAR_MAX=10**6).split()))
    return clean(" ".join(repr(value).split()))
