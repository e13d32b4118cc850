"""New classification problems from the classes of a set."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

__all__ = ["group_classes", "group_codes", "renumber"]


def group_classes(data: Bunch, groups: Sequence[Sequence[int]]) -> Bunch:
    """Join classes of a data set, and leave out the others.

    This makes the binary problems of the papers: ``[range(5), range(5, 10)]`` of USPST is
    USPST(B), ``[[3], [8]]`` of MNIST is MNIST3VS8 and ``[[2], [5]]`` of USPS is USPS(2,5).

    Parameters
    ----------
    data : Bunch
        A data set as `load_dataset` returns it. It is not changed.
    groups : sequence of sequences of int
        For each new class the codes in ``data.target`` that form it. Points whose class is in no
        group are left out.

    Returns
    -------
    Bunch
        The same fields for the points that are left, in their order. Published splits keep those
        of their labelled points that are left, so their sizes may differ (as in Section 4.1 of
        the continuation paper), and a class may be without a label.

    Raises
    ------
    ValueError
        If there are fewer than two groups, or a group is empty, holds an unknown class, or shares
        a class with another.
    """
    n_classes = len(data.target_names)
    target = group_codes(data.target, groups, n_classes)
    rows = np.flatnonzero(target >= 0)
    names = [", ".join(str(data.target_names[code]) for code in group) for group in groups]
    return Bunch(
        **{
            **data,
            "data": data.data if rows.size == target.size else data.data[rows],
            "target": target[rows],
            "target_names": np.array(names),
            "splits": tuple(renumber(split, rows, target.size) for split in data.splits),
            "is_test": None if data.is_test is None else data.is_test[rows],
            "DESCR": f"{data.DESCR}\nClasses here: {' against '.join(names)}",
        }
    )


def group_codes(
    target: NDArray[np.int64], groups: Sequence[Sequence[int]], n_classes: int
) -> NDArray[np.int64]:
    """Number of the group of every point's class, -1 where the class is in none."""
    if len(groups) < 2:
        raise ValueError(f"groups={groups!r}: at least two classes are needed.")
    new = np.full(n_classes, -1, dtype=np.int64)
    for number, group in enumerate(groups):
        if len(group) == 0:
            raise ValueError(f"groups[{number}] is empty; name the classes that form it.")
        for code in group:
            if not isinstance(code, numbers.Integral) or code not in range(n_classes):
                raise ValueError(
                    f"groups[{number}] holds {code!r}; the classes are 0 to {n_classes - 1}."
                )
            if new[code] >= 0:
                raise ValueError(f"class {code} is named twice in groups; it can be in one group.")
            new[code] = number
    return new[target]


def renumber(indices: NDArray[Any], rows: NDArray[np.intp], n: int) -> NDArray[np.int64]:
    """Where points stand among the `rows` kept of n; points that are not kept drop out."""
    place = np.full(n, -1, dtype=np.int64)
    place[rows] = np.arange(rows.size)
    moved: NDArray[np.int64] = place[indices]
    return np.asarray(moved[moved >= 0])
