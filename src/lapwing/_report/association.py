"""Columns of a table that separate the classes of its rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.cluster import contingency_matrix

from lapwing._arrays import is_sparse
from lapwing._report.rows import even_sample, feature_values
from lapwing._tables.encoders import CATEGORICAL, NUMERIC
from lapwing._tables.tables import Table

_ROWS = 5000  # in the sample: proportions are known to about 0.01
_CELLS = 5_000_000  # largest number of cells in the sample: wider tables have fewer rows
_N_BINS = 8  # bins of a column of numbers, cut at its quantiles


@dataclass(frozen=True, eq=False)
class BinnedColumns:
    """Columns of some rows, each divided into a few bins.

    Attributes
    ----------
    names : list of str
        Columns of numbers and categories.
    rows : ndarray of int of shape (m,)
    values : list of ndarray of shape (m,)
        Numbers, NaN if missing, or texts.
    bins : ndarray of int of shape (n_columns, m)
        Bin of each value: an eighth of the numbers, or a category; missing values are one bin.
    """

    names: list[str]
    rows: NDArray[np.intp]
    values: list[NDArray[Any]]
    bins: NDArray[np.int32]

    @classmethod
    def of(cls, table: Table, chosen: Collection[str] | None = None) -> BinnedColumns:
        """Bin the columns of a table; a sparse table gives none, as it has too many columns.

        Parameters
        ----------
        table : Table
        chosen : collection of str, default=None
            Columns to use; None means all.
        """
        n, d = table.X.shape
        rows = even_sample(n, min(_ROWS, _CELLS // max(1, d)))
        names: list[str] = []
        values, bins = [], []
        kinds = table.features.kinds or (NUMERIC,) * d
        block = table.X[rows] if isinstance(table.X, np.ndarray) else None
        for place, (name, kind) in enumerate(zip(table.feature_names, kinds, strict=True)):
            if is_sparse(table.X) or kind not in (NUMERIC, CATEGORICAL):
                continue
            if chosen is not None and name not in chosen:
                continue
            found: Any = feature_values(table.X, place, rows) if block is None else block[:, place]
            column = _as_numbers(found) if kind == NUMERIC else None
            if column is None:  # in Python a frame or a list of texts may be the points
                column = np.array(["" if v is None else str(v) for v in found], dtype=object)
                bin_of = np.unique(column.astype(str), return_inverse=True)[1]
            else:
                bin_of = _quantile_bins(column)
            names.append(name)
            values.append(column)
            bins.append(bin_of.astype(np.int32))
        return cls(names, rows, values, np.array(bins, dtype=np.int32).reshape(-1, len(rows)))

    def association(
        self, codes: NDArray[np.intp], among: Sequence[int] | None = None
    ) -> NDArray[Any]:
        r"""Compute the association of each column with the classes.

        Goodman and Kruskal's tau [1]_ of the bins i of a column and the classes j,

        .. math:: \tau = \frac{\sum_{ij} p_{ij}^2 / p_i - \sum_j p_j^2}{1 - \sum_j p_j^2},

        adjusted, like R², for its value by chance, (bins - 1) / (rows - 1).

        Parameters
        ----------
        codes : ndarray of int of shape (n,)
            Classes of all rows of the table.
        among : sequence of int, default=None
            Classes to separate; None means all.

        Returns
        -------
        ndarray of shape (n_columns,)
            From 0, no association, to 1, where the column determines the class.

        References
        ----------
        .. [1] L. A. Goodman and W. H. Kruskal, "Measures of association for cross
           classifications", Journal of the American Statistical Association 49, 1954, section 9.
        """
        mine = codes[self.rows]
        chosen = np.ones(len(mine), bool) if among is None else np.isin(mine, np.asarray(among))
        mine = mine[chosen]
        m = len(mine)
        found = np.zeros(len(self.names))
        if m < 3 or len(np.unique(mine)) < 2:
            return found
        alone = float(((np.bincount(mine) / m) ** 2).sum())
        for k, bins in enumerate(self.bins):
            joint = contingency_matrix(bins[chosen], mine) / m
            given = float((joint**2 / joint.sum(axis=1, keepdims=True)).sum())
            chance = (len(joint) - 1) / (m - 1)
            tau = (given - alone) / (1 - alone)
            found[k] = max(0.0, (tau - chance) / (1 - chance)) if chance < 1 else 0.0
        return found


def _as_numbers(values: Any) -> NDArray[Any] | None:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _quantile_bins(column: NDArray[np.float64]) -> NDArray[np.intp]:
    known = np.isfinite(column)
    bin_of = np.full(len(column), _N_BINS)
    if known.any():
        edges = np.unique(np.quantile(column[known], np.arange(1, _N_BINS) / _N_BINS))
        bin_of[known] = np.searchsorted(edges, column[known])
    return bin_of
