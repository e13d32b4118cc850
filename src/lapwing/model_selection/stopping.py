"""Error on rows drawn at random: exact intervals, and when to stop labelling.

The interval is that of Clopper and Pearson for a single look at the data. Testing after each row
and stopping at the first success would stop too often by chance, so `rows_needed` distributes the
probability of a false stop over all looks (alpha spending): with k misclassified rows, stopping is
allowed from n_k rows on, where n_k is the first number such that a model with an error rate equal
to the target has at most k misclassified rows, without having stopped before, with a probability of
0.1 / ((k + 1) (k + 2)). These sum to 0.1 over all k.

This holds for independent rows and a fixed model. If the model improves while rows are labelled,
false stops are rarer, by `python -m benchmarks finish`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import betaincinv

from lapwing.model_selection.evidence import PROBABILITY, ErrorEstimate


def exact_error(n_wrong: int, n_rows: int) -> ErrorEstimate:
    """Compute the error rate on random rows, and its Clopper-Pearson interval.

    Parameters
    ----------
    n_wrong : int
        Number of rows that a model fitted without their label misclassifies.
    n_rows : int
        Number of rows drawn at random, at least 1.
    """
    tail, n_right = (1 - PROBABILITY) / 2, n_rows - n_wrong
    # Quantiles of beta distributions; `scipy.stats` takes a hundred times as long.
    low = betaincinv(n_wrong, n_right + 1, tail) if n_wrong else 0.0
    high = betaincinv(n_wrong + 1, n_right, 1 - tail) if n_right else 1.0
    return ErrorEstimate(n_wrong / n_rows, float(low), float(high))


@lru_cache(maxsize=1024)
def rows_needed(target: float, n_wrong: int) -> int:
    """Return the number of random rows needed to stop at a target error rate.

    Parameters
    ----------
    target : float
        Error rate to reach, in (0, 1).
    n_wrong : int
        Number of misclassified rows.

    Returns
    -------
    int
        Number of rows; for a target of 0.05, 59 without misclassified rows and 98 with one.
    """
    going = np.zeros(n_wrong + 1)  # probability of 0, 1, ... errors without an earlier stop
    going[0] = 1.0
    n_rows = 0
    for k in range(n_wrong + 1):
        allowed = (1 - PROBABILITY) / ((k + 1) * (k + 2))
        while going[: k + 1].sum() > allowed:
            going[1:] = going[1:] * (1 - target) + going[:-1] * target
            going[0] *= 1 - target
            n_rows += 1
        going[: k + 1] = 0.0
    return n_rows
