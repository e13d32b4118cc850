"""State of a session as JSON and bytes for the page; pure functions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._label.history import NO_CODE, Batch, History
from lapwing._label.learner import Answers, Estimate, SuspiciousLabel
from lapwing._label.material import Material, encode_columns
from lapwing._label.model import ModelSnapshot
from lapwing._label.state import LabelingState, looks_done
from lapwing._report.text import percent, plural
from lapwing.model_selection.evidence import rows_needed

_STEPS_SHOWN = 500
_SUSPICIOUS_SHOWN = 50
_NO_CLASS = 65535


def state_of(state: LabelingState, learnt: ModelSnapshot, material: Material) -> dict[str, Any]:
    """Return the labels and the model, which has learnt these or earlier labels, for the page."""
    history, answers, advice = state.history, learnt.answers, learnt.advice
    classes, estimate = history.classes, advice.estimate
    n_labeled = history.n_labeled
    return {
        "version": state.version,
        "source": material.table.source,
        "n": material.n,
        "columns": material.columns(),
        "has_text": material.texts is not None,
        "has_image": material.picture is not None,
        "classes": list(classes),
        "hidden": [classes[code] for code in sorted(history.hidden)],
        "given": history.counts(),
        "predicted": {} if answers is None else volumes(answers, classes),
        "n_labeled": n_labeled,
        "history": [_step(batch, history) for batch in history.batches[-_STEPS_SHOWN:]],
        "can_undo": history.last is not None,
        "evidence": None if estimate is None else vars(estimate) | {"words": _error_text(estimate)},
        "target": state.target,
        "finish": _describe_target(state, estimate, material, n_labeled),
        "curve": [
            {**point, "volumes": {classes[code]: n for code, n in point["volumes"].items()}}
            for n_labels, point in sorted(state.curve.items())
            if n_labels <= n_labeled
        ],
        "suspicious": _suspicious(advice.suspicious_labels[:_SUSPICIOUS_SHOWN], history),
        "fit_command": None if material.fit_command is None else material.fit_command(history),
    }


def colours_of(given: NDArray[np.int32], answers: Answers | None, rows: NDArray[np.intp]) -> bytes:
    """Return the number of some rows, their given and predicted classes, and confidences."""
    predicted, confidence = np.full(len(rows), _NO_CLASS), np.zeros(len(rows))
    if answers is not None:
        predicted, confidence = answers.codes[rows], np.rint(255 * answers.confidence[rows])
    known = np.where(given[rows] < 0, _NO_CLASS, given[rows])
    return encode_columns((known, "<u2"), (predicted, "<u2"), (confidence, "u1"))


def rows_of(
    rows: Sequence[int],
    material: Material,
    history: History,
    answers: Answers | None,
    flagged: Collection[int] = (),
) -> list[dict[str, Any]]:
    """Return some rows for display.

    Parameters
    ----------
    rows : sequence of int
    material : Material
        Cells, texts and pictures of the rows.
    history : History
        Labels given so far.
    answers : Answers or None
        Predictions; None before the first fit.
    flagged : collection of int, default=()
        Rows that the user has flagged.
    """
    classes = history.classes
    codes = None if answers is None else answers.codes.astype(np.intp)
    supporting = material.supporting_words(list(rows), codes)
    candidates: list[list[tuple[int, float]]] = [[] for _ in rows]
    if answers is not None:
        candidates = answers.candidates(rows)
    # Rows with the same two candidate classes share the columns that distinguish these.
    pairs = [tuple(sorted(code for code, _ in mine[:2])) for mine in candidates]
    columns = {pair: material.separating_columns(codes, pair) for pair in set(pairs)}
    return [
        {
            "row": row,
            "id": str(material.table.ids[row]),
            "cells": cells,
            "text": material.text(row),
            "supporting_words": words,
            "image": material.picture is not None,
            "flagged": row in flagged,
            "given": None if history.codes[row] < 0 else classes[history.codes[row]],
            "predicted": None if answers is None else classes[answers.codes[row]],
            "confidence": None if answers is None else float(answers.confidence[row]),
            "candidates": [{"name": classes[code], "share": share} for code, share in mine],
            "first_columns": columns[pair],
        }
        for row, cells, words, mine, pair in zip(
            rows, material.cells(list(rows)), supporting, candidates, pairs, strict=True
        )
    ]


def volumes(answers: Answers, classes: Sequence[str]) -> dict[str, int]:
    """Count the rows predicted for each class."""
    counts = np.bincount(answers.codes, minlength=len(classes))
    return dict(zip(classes, counts.tolist(), strict=True))


def _suspicious(
    suspicious_labels: Sequence[SuspiciousLabel], history: History
) -> list[dict[str, Any]]:
    """Return suspicious labels that have not changed since the model learnt them."""
    codes, classes = history.codes, history.classes
    return [
        {
            "row": label.row,
            "given": classes[codes[label.row]],
            "suggested": classes[label.code],
            "against": f"{label.n_against or 'none'} of its {label.n_near} nearest labels "
            f"{'is' if label.n_against == 1 else 'are'} {classes[label.code]}",
        }
        for label in suspicious_labels
        if codes[label.row] not in (NO_CODE, label.code)
    ]


def _step(batch: Batch, history: History) -> dict[str, Any]:
    renaming = batch.renaming
    codes = np.unique(batch.codes if renaming is None else renaming.code)
    label = None if codes[0] < 0 else history.classes[codes[0]]
    return {
        "batch": batch.number,
        "label": label,
        "renamed": None if renaming is None else [renaming.before, renaming.name],
        "n_classes": len(codes),
        "n_rows": len(batch.rows),
        "taken_back": batch.number in history.taken_back,
        "by": batch.by,
        "time": batch.time,
        "checked": _checked(batch, history),
    }


def _checked(batch: Batch, history: History) -> str:
    """Describe the predictions for the check rows of a step; empty if there are none."""
    given = dict(zip(batch.rows.tolist(), batch.codes.tolist(), strict=True))
    checked = [(given[row], predicted) for row, predicted in batch.checked if given[row] != NO_CODE]
    if not checked:
        return ""
    if len(checked) > 1 and any(predicted != NO_CODE for _, predicted in checked):
        right = sum(label == predicted for label, predicted in checked)
        return f"{len(checked)} drawn at random, {right} of them as the model said"
    label, predicted = checked[0]
    if predicted == NO_CODE:
        return "drawn at random" if len(checked) == 1 else f"{len(checked)} drawn at random"
    name = history.classes[predicted]
    agreement = "as the model said" if label == predicted else f"the model said {name}"
    return f"drawn at random, {agreement}"


def _describe_target(
    state: LabelingState, estimate: Estimate | None, material: Material, n_labeled: int
) -> dict[str, Any] | None:
    """Describe whether the target is reached, or what is missing; None without a target."""
    target = state.target
    if target is None:
        return None
    goal = f"{100 * target:g}\u00a0%"
    reached = [
        n_labels
        for n_labels, point in sorted(state.curve.items())
        if n_labels <= n_labeled
        and point.get("n_rows", 0) >= rows_needed(target, point.get("n_wrong", 0))
    ]
    if reached:
        words = (
            f"{goal} reached with a probability of 90 % after "
            f"{plural(reached[0], 'label')}: you can stop."
        )
        return {"reached": True, "words": words}
    n_rows, n_wrong = (0, 0) if estimate is None else (estimate.n_rows, estimate.n_wrong)
    checks = max(1, rows_needed(target, n_wrong) - n_rows)
    words = (
        f"To say that at most {goal} are wrong takes {plural(checks, 'more check row')} "
        "at the least, if the model misses none of them. "
        + (
            "All rows suggested now are check rows."
            if looks_done(target, estimate)
            else f"One in {material.check_every} suggested rows is a check row, and all are once "
            "the model is right often enough on those so far."
        )
    )
    return {"reached": False, "words": words}


def _error_text(estimate: Estimate) -> str:
    return (
        f"About {percent(estimate.error)} of the rows without a label are wrong; with a "
        f"probability of 90 % between {percent(estimate.low)} and {percent(estimate.high)}. Of "
        f"{plural(estimate.n_rows, 'row')} drawn at random the model misses {estimate.n_wrong}."
    )
