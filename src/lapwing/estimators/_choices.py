"""Entries of docstrings that name what a registry holds, made from it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from lapwing.losses.base import TargetKind
from lapwing.losses.registry import LOSSES, UNLABELED_LOSSES, loss_names
from lapwing.solvers.low_density.methods import METHODS
from lapwing.solvers.manifold.registry import SOLVERS

__all__ = ["CHOICES"]

_WIDTH = 92
_SIGNS = {name: LOSSES[name] for name in loss_names(TargetKind.SIGNS)}
_OWN = "Or an object of `{}`; `lapwing.losses` says how to write one."


def _listed(names: Iterable[str]) -> str:
    *most, last = map(repr, names)
    return f"{', '.join(most)} and {last}" if most else last


def _formulas(losses: Iterable[tuple[str, str]]) -> str:
    return "; ".join(f"{name!r}, {formula}" for name, formula in losses)


def _entry(head: str, *sentences: str) -> str:
    body = textwrap.fill(" ".join(sentences), _WIDTH, break_on_hyphens=False)
    return f"{head}\n{textwrap.indent(body, '    ')}"


def _methods() -> str:
    items = []
    for name, method in METHODS.items():
        text = f"- {name!r} {method.summary}."
        items.append(textwrap.fill(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False))
    return "method : str or Method, default='gradient'\n" + textwrap.indent(
        "\n".join(items), "    "
    )


_SIGN_FORMULAS = _formulas((name, loss.formula) for name, loss in _SIGNS.items())
_KINKED = [name for name, loss in _SIGNS.items() if not loss.kind.differentiable]
_FOR_KINKS = [name for name, solver in SOLVERS.items() if solver.kinks]
_LABELING = [name for name, method in METHODS.items() if method.labels_by is not None]
_AUTO: dict[str, list[str]] = {}
for _name, _method in METHODS.items():
    _AUTO.setdefault(_method.unlabeled_loss, []).append(_name)

CHOICES = {
    "loss": _entry(
        f"loss : {{{', '.join(map(repr, _SIGNS))}}} or Loss, default='squared_hinge'",
        f"On labelled points: {_SIGN_FORMULAS}. {_OWN.format('lapwing.losses.Loss')}",
        f"Losses with kinks ({_listed(_KINKED)} has some) are solved by {_listed(_FOR_KINKS)} "
        "only.",
    ),
    "s3vc_loss": _entry(
        f"loss : {{{', '.join(map(repr, _SIGNS))}}} or Loss, default='hinge'",
        f"On labelled points: {_SIGN_FORMULAS}. {_OWN.format('lapwing.losses.Loss')}",
        f"The methods {_listed(_LABELING)} know the hinge only.",
    ),
    "unlabeled_loss": _entry(
        f"unlabeled_loss : {{'auto', {', '.join(map(repr, UNLABELED_LOSSES))}}} or UnlabeledLoss, "
        "default='auto'",
        "On unlabelled points:",
        _formulas((name, loss.formula) for name, loss in UNLABELED_LOSSES.items()) + ".",
        "'auto' is " + ", ".join(f"{loss!r} for {_listed(of)}" for loss, of in _AUTO.items()) + ".",
        _OWN.format("lapwing.losses.UnlabeledLoss"),
    ),
    "method": _methods(),
}
