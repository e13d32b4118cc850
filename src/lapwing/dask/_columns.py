"""Columns of numbers that are made of rows on a cluster, for their order statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lapwing._arrays import Array
from lapwing.dask._tall import Tall


@dataclass(frozen=True, eq=False)
class ColumnsOnCluster:
    """`lapwing.graphs.order_statistics.Columns` that a view makes of rows, whenever it is asked.

    Attributes
    ----------
    rows : Tall
    view : callable (block, *others) -> ndarray of shape (b, q)
    others : tuple
        As for `Tall.map`.
    """

    rows: Tall
    view: Callable[..., Array]
    others: tuple[Any, ...] = ()

    def total(self, task: Callable[..., Array], *arguments: Any) -> Array:
        found: Array = self.rows.total(_seen, self.view, task, arguments, *self.others)
        return found

    def collect(self, task: Callable[..., Any], *arguments: Any) -> list[Any]:
        return self.rows.collect(_seen, self.view, task, arguments, *self.others)


def _seen(
    block: Array,
    view: Callable[..., Array],
    task: Callable[..., Any],
    arguments: tuple[Any, ...],
    *others: Any,
) -> Any:
    return task(view(block, *others), *arguments)
