"""Figures without windows, backends or global state, saved as PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def new_figure(
    rows: int, columns: int, width: float, height: float, *, sharey: bool = False
) -> tuple[Any, Any]:
    # The object interface has no window, backend or global state. Imported late, so that tables do
    # not need matplotlib.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, sharey=sharey)


def save(figure: Any, folder: Path, name: str) -> Path:
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=120)
    return path
