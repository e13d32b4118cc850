"""Verdicts on a comparison, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from scipy.special import ndtr, ndtri

from lapwing._arrays import Array
from lapwing._words import listed, quoted
from lapwing.model_selection.candidates import CLUSTERS, LABELS_ALONE, SHEETS, guessing
from lapwing.model_selection.evidence import PROBABILITY, Evidence

# An estimated error of so much of what guessing has is hardly better than that: it is told, and
# at the second number the labels alone are used if enough labels say so. With 0.7 there as well the
# regret changes by -0.2 to +0.4 points; with 0.9, and without the rule, g241d is six to seven
# points worse than the labels alone.
_AS_GUESSING = 0.7
_NOTHING_FOUND = 0.8
# Of two classes with three labels each, six labels that are left out say so by chance too often:
# with 5 here the choice on twelve such sets is 0.7 points worse (standard error 0.4).
_ENOUGH_FOR_NOTHING = 10
# A smaller gain over the labels alone is within what either estimate may be wrong by.
_GAIN = 0.03
_FAR = 0.1
# How probable a gain must be to be called one.
_SURE = 0.9
# Below so many left-out labels, most of the estimate is the reproducibility.
FEW_LEFT_OUT = 5
# Estimates that agree to so many digits are equal but for rounding.
TIE_DIGITS = 9
# An answer that changes so little and misses so many of its labels follows something else.
_STABLE, _WRONG = 0.1, 0.3

_FINDINGS = {
    CLUSTERS: "the classes look like clusters with gaps between them",
    SHEETS: "neighbours have the same class",
}


class Setting(NamedTuple):
    """Setting of a comparison."""

    classes: Array
    counts: Array  # labels of each class
    n_samples: int
    n_used: int
    sizes: Array | None = None  # parts of the classes that are known
    untried: Sequence[str] = ()  # candidates left out for want of time


def verdict(table: Sequence[Evidence], setting: Setting) -> str:
    """Whether the unlabelled rows help, and which estimator to use.

    Parameters
    ----------
    table : sequence of Evidence
        The one to choose first.
    setting : Setting
    """
    chosen = table[0]
    alone = [row for row in table if row.assumption == LABELS_ALONE and row.admitted]
    use = f"Use {chosen.name}."
    if not chosen.admitted:
        return (
            "No candidate keeps all classes and the given labels. Label more rows, or use other "
            f"features. The least bad is {chosen.name}, which {chosen.objection}."
        )
    if math.isnan(chosen.reproducibility):
        return f"Every row has a label, so there are no other rows to learn from. {use}"
    if _is_near_guessing(chosen, guessing(len(setting.classes), setting.sizes)):
        if chosen.n_left_out < FEW_LEFT_OUT:
            return (
                "These labels are too few to say whether anything here follows the classes. Label "
                f"more rows. Until then, {_lower(use)}"
            )
        return (
            "Nothing here follows the classes: label more rows, or use other features. The best is "
            f"{chosen.name}, and it is hardly better than guessing."
        )
    if chosen in alone and setting.untried:
        return (
            "No method compared does better than the labels alone; not compared: "
            f"{listed(setting.untried, 5)}. {use}"
        )
    if chosen in alone:
        return (
            "The unlabelled rows do not help: no method that uses them does better than the labels "
            f"alone. {use}"
        )
    finding = _FINDINGS.get(chosen.assumption, chosen.assumption)
    if not alone:
        return f"Of these candidates {chosen.name} is the best: {finding}. {use}"
    if _gain(chosen, alone) < _GAIN:
        return (
            f"The unlabelled rows make little difference: the labels alone do nearly as well. {use}"
        )
    rival = min(alone, key=attrgetter("error"))
    if chosen.n_left_out < FEW_LEFT_OUT:
        return f"The unlabelled rows seem to help: {finding}. {use}"
    if _probability_better(chosen, rival) < _SURE:
        missed, by_labels = _missed(chosen), _missed(rival)
        beside = "as" if missed == by_labels else by_labels
        return (
            f"The unlabelled rows seem to help: {finding}. {use} The difference is within chance: "
            f"{missed} labels are missed when they are left out, {beside} by the labels alone. "
            "More labels would tell."
        )
    return f"The unlabelled rows help: {finding}. {use}"


def finds_nothing(row: Evidence, n_classes: int, sizes: Array | None = None) -> bool:
    """Whether enough left-out labels say that an answer is near to guessing."""
    enough = row.n_left_out >= _ENOUGH_FOR_NOTHING
    return enough and row.error >= _NOTHING_FOUND * guessing(n_classes, sizes)


def _is_near_guessing(row: Evidence, of_guessing: float) -> bool:
    return row.error >= _AS_GUESSING * of_guessing


def caveats(table: Sequence[Evidence], setting: Setting) -> tuple[str, ...]:
    """Return caveats of the estimates, a sentence or two each.

    Parameters
    ----------
    table : sequence of Evidence
        The one to choose first.
    setting : Setting
    """
    chosen, found = table[0], []
    if chosen.n_left_out == 0:
        found.append(
            "Each class has one label, and none can be left out: the estimate comes from how much "
            "the answer changes with the labels alone. An answer can be stable and wrong, and "
            "nothing here would show it. Check some rows by hand, or label a second row of each "
            "class."
        )
    elif not math.isnan(chosen.reproducibility):
        found.append(
            f"The estimate comes from {chosen.n_left_out} labels that were left out, one of each "
            "class at a time, and from how much the answer changes with the labels."
        )
    tied = [
        row.name
        for row in table[1:]
        if row.admitted and round(row.error - chosen.error, TIE_DIGITS) == 0
    ]
    if tied:
        found.append(
            f"{listed(tied, 5)} {'has' if len(tied) == 1 else 'have'} the same estimate as "
            f"{chosen.name}, which comes first among the candidates."
        )
    lonely = setting.classes[setting.counts == 1].tolist()
    if lonely and chosen.n_left_out:
        found.append(
            f"Classes with one label only: {quoted(lonely, 5)}. Nothing could be left out there, "
            "so errors on them are not seen. Label a second row of each."
        )
    if chosen.n_left_out and chosen.reproducibility < _STABLE and chosen.left_out_error > _WRONG:
        found.append(
            "The answer hardly changes with the labels and misses many of them when they are left "
            "out: it may follow groups that are not your classes."
        )
    if chosen.contradiction >= _STABLE:
        found.append(
            f"The labels alone contradict the answer on {100 * chosen.contradiction:.0f} % more of "
            "the rows than they would if it were right."
        )
    if (barred := _barred(table)) is not None:
        found.append(
            f"{barred.name} would be at {100 * barred.error:.0f} %, and is not chosen as it "
            f"{barred.objection}. If that may be right, use it, or give the classes' sizes."
        )
    if setting.n_used < setting.n_samples:
        found.append(
            f"The evidence is of {setting.n_used} of the {setting.n_samples} rows, with all "
            "labelled ones among them. On all rows methods that join neighbours do better."
        )
    return tuple(found)


def _barred(table: Sequence[Evidence]) -> Evidence | None:
    """The best of those that are not to be chosen, where it is far better than the choice."""
    barred = [row for row in table if not row.admitted]
    if not table[0].admitted or not barred or table[0].n_left_out < FEW_LEFT_OUT:
        return None
    best = min(barred, key=attrgetter("error"))
    return best if best.error < table[0].error - _FAR else None


def _probability_better(row: Evidence, other: Evidence) -> float:
    """That a row has the smaller error, from the widths of the intervals of both."""
    width = math.hypot(*(high - low for low, high in (row.error_interval, other.error_interval)))
    tail = (1 - PROBABILITY) / 2
    return float(ndtr((other.error - row.error) / width * 2 * ndtri(1 - tail)))


def _missed(row: Evidence) -> str:
    return f"{round(row.left_out_error * row.n_left_out)} of {row.n_left_out}"


def _gain(chosen: Evidence, alone: Sequence[Evidence]) -> float:
    """How much fewer errors are expected than of the labels alone."""
    return min(row.error for row in alone) - chosen.error


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
