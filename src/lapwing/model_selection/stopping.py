"""Error on rows drawn at random: exact intervals, and when to stop labelling.

The interval is Clopper and Pearson's at one look. Whoever looks after each row and stops at the
first good moment stops too often by chance, so that `rows_needed` spends the probability of a false
stop over the looks: with k rows missed a stop is allowed from n_k rows on, and n_k is the first
number at which a model that errs exactly at the target comes there with no more than k missed, and
has not stopped before, with a probability of 0.1 / ((k + 1) (k + 2)). These sum to 0.1 over all k.

That is guaranteed for independent rows and one model. While labels come in the model changes, and
errors less and less; by `python -m benchmarks finish` the false stops are then rarer.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import betaincinv

from lapwing.model_selection.evidence import PROBABILITY, ErrorEstimate


def exact_error(n_wrong: int, n_rows: int) -> ErrorEstimate:
    """Compute the share of wrong answers among random rows, and its Clopper-Pearson interval.

    Parameters
    ----------
    n_wrong : int
        Rows whose label the model does not give when it does not know it.
    n_rows : int
        Rows drawn at random, 1 or more.
    """
    tail, n_right = (1 - PROBABILITY) / 2, n_rows - n_wrong
    # Quantiles of beta distributions: scipy.stats finds them by roots, a hundred times as long.
    low = betaincinv(n_wrong, n_right + 1, tail) if n_wrong else 0.0
    high = betaincinv(n_wrong + 1, n_right, 1 - tail) if n_right else 1.0
    return ErrorEstimate(n_wrong / n_rows, float(low), float(high))


@lru_cache(maxsize=1024)
def rows_needed(target: float, n_wrong: int) -> int:
    """Return the number of random rows needed to stop at a target error, given the misses.

    Parameters
    ----------
    target : float
        Share of wrong answers to reach, in (0, 1).
    n_wrong : int
        Rows that the model missed.

    Returns
    -------
    int
        For a target of 0.05: 59 with none missed, 98 with one.
    """
    going = np.zeros(n_wrong + 1)  # probability of 0, 1, ... missed rows without a stop before
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
