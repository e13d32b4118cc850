"""Docstrings that share entries of parameters and attributes.

An entry is written in the docstring of the first class that has the parameter. Another class names
this one in `document`, and has a line ``{name}`` where the entry belongs: copies of the same text
would drift apart. Entries that name the members of a registry are made from it (`CHOICES`).
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from lapwing.graphs import GRAPHS
from lapwing.kernels import KERNELS
from lapwing.losses.base import TargetKind
from lapwing.losses.registry import LOSSES, UNLABELED_LOSSES, loss_names
from lapwing.solvers.graph.registry import PARTITIONS
from lapwing.solvers.low_density.methods import METHODS
from lapwing.solvers.manifold.registry import SOLVERS

_WIDTH = 92  # of a line of source, less the indents of a class's docstring and of an entry
_SIGNS = {name: LOSSES[name] for name in loss_names(TargetKind.SIGNS)}
_OWN = "Or an object of `{}`; `lapwing.losses` describes how to write one."


def _listed(names: Iterable[str]) -> str:
    *most, last = map(repr, names)
    return f"{', '.join(most)} and {last}" if most else last


def _formulas(losses: Iterable[tuple[str, str]]) -> str:
    return "; ".join(f"{name!r}, {formula}" for name, formula in losses)


def _entry(head: str, *sentences: str) -> str:
    body = textwrap.fill(" ".join(sentences), _WIDTH, break_on_hyphens=False)
    return f"{head}\n{textwrap.indent(body, '    ')}"


def _loss(default: str, restriction: str) -> str:
    formulas = _formulas((name, loss.formula) for name, loss in _SIGNS.items())
    return _entry(
        f"loss : {{{', '.join(map(repr, _SIGNS))}}} or Loss, default={default!r}",
        f"On labelled points: {formulas}. {_OWN.format('lapwing.losses.Loss')}",
        restriction,
    )


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
        "chooses by the numbers of points, labels and features and the free memory; `solver_` is "
        "the choice, and ``logging.getLogger('lapwing')`` logs the reason"
    )
    items = _items({name: solver.summary for name, solver in SOLVERS.items()} | {"auto": auto})
    head = f"solver : {{'auto', {', '.join(map(repr, SOLVERS))}}}, default='auto'"
    return f"{head}\n    All solvers find the same optimum.\n\n{textwrap.indent(items, '    ')}"


def _partitions() -> str:
    items = _items({name: method.summary for name, method in PARTITIONS.items()})
    others = [name for name, method in PARTITIONS.items() if not method.holds_volumes]
    head = f"method : {{{', '.join(map(repr, PARTITIONS))}}}, default='flow'"
    note = f"{_listed(others)} ignore volumes; class offsets meet a known prior afterwards."
    body = f"{items}\n\n{textwrap.fill(note, _WIDTH, break_on_hyphens=False)}"
    return f"{head}\n{textwrap.indent(body, '    ')}"


def _kernels_with(parameter: str) -> str:
    """List the kernels with a parameter."""
    return _listed(name for name, formula in KERNELS.items() if parameter in formula.text)


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
    "degree": _entry("degree : float, default=3", f"Degree of {_kernels_with('degree')}."),
    "coef0": _entry("coef0 : float, default=1.0", f"Constant term of {_kernels_with('coef0')}."),
    "graph": _entry(
        "graph : graph recipe, sparse matrix, neighbours transformer or None, default=None",
        f"A recipe of `lapwing.graphs`: {', '.join(f'`{name}`' for name in GRAPHS)}. A matrix is "
        "taken as a symmetric affinity between the rows of X.",
        "None chooses by the data (`lapwing.graphs.default_graph`): for classification "
        "``KNNGraph(n_neighbors=5, power=2)``, or ``KNNGraph(n_neighbors=10, power=1)`` up to 3 "
        "features; for regression ``KNNGraph(n_neighbors=5, power=2, normalized=False)``.",
    ),
    "solver": _solvers(),
    "partition_method": _partitions(),
    "kinked_solver": _entry(
        f"solver : {{'auto', {', '.join(map(repr, _FOR_KINKS))}}}, default='auto'",
        f"As the loss is not differentiable, only {_listed(_FOR_KINKS)} is available. It computes "
        "the labelled columns of the deformed kernel, O(n^3), and solves a support vector "
        "regression on the labelled points.",
    ),
    "loss": _loss(
        "squared_hinge",
        f"Losses that are not differentiable, such as {_listed(_KINKED)}, require the solver "
        f"{_listed(_FOR_KINKS)}.",
    ),
    "s3vc_loss": _loss("hinge", f"The methods {_listed(_LABELING)} support the hinge only."),
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


T = TypeVar("T", bound=type)

# ``name : type`` and the indented or blank lines below it.
_ENTRY = re.compile(r"^(\w+) : .*\n(?:(?: .*)?\n)*", re.MULTILINE)
_MARKER = re.compile(r"^( *)\{(.+?)(?: to (\w+))?\}$", re.MULTILINE)


def document(*homes: type) -> Callable[[T], T]:
    """Make a decorator that fills entries of other classes into the docstring of a class.

    A line ``{name}`` stands for the entry of the first home that documents the name, or of
    `CHOICES`; ``{Home.name}`` for that of one of several homes; ``{first to last}`` for consecutive
    entries of the first home that documents them.

    Parameters
    ----------
    *homes : type
        Classes whose docstrings hold the entries.

    Raises
    ------
    KeyError
        By the decorator, for a line without an entry.
    """
    documented = {home.__name__: _entries(home) for home in homes}
    known = ChainMap(*documented.values(), CHOICES)
    known = known.new_child(
        {
            f"{home}.{name}": text
            for home, entries in documented.items()
            for name, text in entries.items()
        }
    )

    def consecutive(first: str, last: str) -> str:
        for entries in documented.values():
            if {first, last} <= entries.keys():
                names = list(entries)
                between = names[names.index(first) : names.index(last) + 1]
                return "\n".join(entries[name] for name in between)
        return ""

    def filled(cls: T) -> T:
        def entry(marker: re.Match[str]) -> str:
            text = consecutive(marker[2], marker[3]) if marker[3] else known.get(marker[2])
            if not text:
                places = ", ".join([*documented, "CHOICES"])
                raise KeyError(f"{cls.__name__}: {marker[0].strip()} has no entry in {places}")
            return textwrap.indent(text, marker[1])

        cls.__doc__ = _MARKER.sub(entry, cls.__doc__ or "")
        return cls

    return filled


def _entries(cls: type) -> dict[str, str]:
    """Return the entries of a class's parameters and attributes by name."""
    text = inspect.cleandoc(cls.__doc__ or "") + "\n"
    return {found[1]: found[0].rstrip() for found in _ENTRY.finditer(text)}
