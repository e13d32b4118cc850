"""Entries of docstrings that name what a registry holds, made from it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from lapwing.graphs import GRAPHS
from lapwing.kernels import KERNELS
from lapwing.losses.base import TargetKind
from lapwing.losses.registry import LOSSES, UNLABELED_LOSSES, loss_names
from lapwing.solvers.low_density.methods import METHODS
from lapwing.solvers.manifold.registry import SOLVERS

_WIDTH = 92  # of a line of source, less the indents of a class's docstring and of an entry
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


def _items(summaries: Mapping[str, str]) -> str:
    return "\n".join(
        textwrap.fill(f"- {name!r} {text}.", _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        for name, text in summaries.items()
    )


def _methods() -> str:
    items = _items({name: method.summary for name, method in METHODS.items()})
    return "method : str or Method, default='gradient'\n" + textwrap.indent(items, "    ")


def _solvers() -> str:
    auto = (
        "picks from the numbers of points, labels and features and the free memory; `solver_` and "
        "the log of ``logging.getLogger('lapwing')`` say what and why"
    )
    items = _items({name: solver.summary for name, solver in SOLVERS.items()} | {"auto": auto})
    head = f"solver : {{'auto', {', '.join(map(repr, SOLVERS))}}}, default='auto'"
    return f"{head}\n    All reach the same optimum.\n\n{textwrap.indent(items, '    ')}"


def _kernels_with(parameter: str) -> str:
    """The kernels whose formula has a parameter."""
    return _listed(name for name, formula in KERNELS.items() if parameter in formula.text)


_SIGN_FORMULAS = _formulas((name, loss.formula) for name, loss in _SIGNS.items())
_KINKED = [name for name, loss in _SIGNS.items() if not loss.kind.differentiable]
_FOR_KINKS = [name for name, solver in SOLVERS.items() if solver.kinks]
_LABELING = [name for name, method in METHODS.items() if method.labels_by is not None]
_AUTO: dict[str, list[str]] = {}
for _name, _method in METHODS.items():
    _AUTO.setdefault(_method.unlabeled_loss, []).append(_name)

_KERNEL = (
    _formulas((name, formula.text) for name, formula in KERNELS.items()) + ".",
    "'precomputed': X is the kernel matrix, dense or sparse, and the graph must be given as an "
    "affinity. Or a function (X, Z) -> matrix of kernel values.",
)

CHOICES = {
    "kernel": _entry(
        "kernel : str or callable, default='rbf'",
        *_KERNEL,
        "With 'linear' the kernel matrix is never formed.",
    ),
    "embedded_kernel": _entry("kernel : str or callable, default='rbf'", *_KERNEL),
    "degree": _entry("degree : float, default=3", f"Of {_kernels_with('degree')}."),
    "coef0": _entry("coef0 : float, default=1.0", f"Of {_kernels_with('coef0')}."),
    "graph": _entry(
        "graph : graph recipe, sparse matrix, neighbours transformer or None, default=None",
        f"A recipe of `lapwing.graphs`: {', '.join(f'`{name}`' for name in GRAPHS)}. A matrix is "
        "taken as a symmetric affinity between the rows of X.",
        "None chooses by the points (`lapwing.graphs.default_graph`): for classes "
        "``KNNGraph(n_neighbors=5, power=2)``, or ``KNNGraph(n_neighbors=10, power=1)`` up to 3 "
        "features; for regressions ``KNNGraph(n_neighbors=5, power=2, normalized=False)``. "
        "`normalized` of a graph of your own says which Laplacian is made of it.",
    ),
    "solver": _solvers(),
    "kinked_solver": _entry(
        f"solver : {{'auto', {', '.join(map(repr, _FOR_KINKS))}}}, default='auto'",
        f"The loss has kinks: of the solvers only {_listed(_FOR_KINKS)} will do. 'dual' solves for "
        "the labelled columns of the deformed kernel, O(n^3), then a support vector regression of "
        "the size of the labels.",
    ),
    "loss": _entry(
        f"loss : {{{', '.join(map(repr, _SIGNS))}}} or Loss, default='squared_hinge'",
        f"On labelled points: {_SIGN_FORMULAS}. {_OWN.format('lapwing.losses.Loss')}",
        f"Losses with kinks, as {_listed(_KINKED)}, are solved by {_listed(_FOR_KINKS)} only.",
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
