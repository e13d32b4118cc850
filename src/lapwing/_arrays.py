"""Types and predicates of arrays that every module needs."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

__all__ = ["Array", "is_sparse"]

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse array or matrix.

    A plain bool: the type that ``scipy.sparse.issparse`` narrows to has no arithmetic.
    """
    return bool(sp.issparse(X))
