"""New classification problems from the classes of a set."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch


def group_classes(data: Bunch, groups: Sequence[Sequence[int]]) -> Bunch:
    """Join classes of a data set, and leave out the others.

    This makes the binary problems of the papers: ``[[3], [8]]`` of MNIST is MNIST3VS8,
    ``[[2], [5]]`` of USPS is USPS(2,5), and ``[range(5), range(5, 10)]`` are the digits 0 to 4
    against 5 to 9.

    Parameters
    ----------
    data : Bunch
        A data set as `load_mnist` or `load_usps` returns it. It is not changed.
    groups : sequence of sequences of int
        For each new class the codes in ``data.target`` that form it. Points whose class is in no
        group are left out.

    Returns
    -------
    Bunch
        The same fields for the points that are left, in their order.

    Raises
    ------
    ValueError
        If there are fewer than two groups, or a group is empty, holds an unknown class, or shares
        a class with another.

    Examples
    --------
    >>> from lapwing.datasets import group_classes, load_usps
    >>> two_and_five = group_classes(load_usps(), [[2], [5]])  # doctest: +SKIP
    """
    target = _group_codes(data.target, groups, len(data.target_names))
    rows = np.flatnonzero(target >= 0)
    names = [", ".join(str(data.target_names[code]) for code in group) for group in groups]
    return Bunch(
        **{
            **data,
            "data": data.data if rows.size == target.size else data.data[rows],
            "target": target[rows],
            "target_names": np.array(names),
            "is_test": None if data.is_test is None else data.is_test[rows],
            "DESCR": f"{data.DESCR}\nClasses here: {' against '.join(names)}",
        }
    )


def _group_codes(
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
