"""What does not fit into memory is refused before it is computed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from lapwing.kernels import make_kernel
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.mapped import full_map, landmark_map
from tests.helpers.problems import rbf
from tests.helpers.spaces import GAMMA, MAKERS, N, applied, penalty, points

SQUARE = 8 * N * N
X = points(4)[0]
KERNEL, K = make_kernel("rbf", X, gamma=GAMMA), rbf(X, X, GAMMA)
SINGLE = FullKernelSpace(K.astype(np.float32))


def system(name: str, *, graph: bool = True) -> Any:
    known = MAKERS[name]()
    smoothness = applied(penalty(known, "normalized")) if graph else None
    return partial(known.space.system, smoothness, 0.1, False)


COMPUTED = FullKernelSpace.computed(KERNEL, X)
MATRIX, DIRECT = "The kernel matrix of 14 points", r"direct solver .*Use solver='pcg'"
LANDMARKS = r"Coordinates of 14 points by 5 landmarks needs? .*Use fewer landmarks, or float32"


@pytest.mark.parametrize(
    ("call", "needed", "message"),
    [
        (COMPUTED.stored, 3 * SQUARE, MATRIX),
        (COMPUTED.gram, 3 * SQUARE, MATRIX),
        (partial(full_map, KERNEL, K), 2 * SQUARE, r"full kernel at n = 14 .*space=Landmarks"),
        (partial(landmark_map, KERNEL, X, X[:5]), 3 * 8 * 5**2, LANDMARKS),
        (landmark_map(KERNEL, X, X[:5]).stored, 8 * N * 5, LANDMARKS),
        (system("full"), 2 * SQUARE, DIRECT),
        (system("full computed"), 3 * SQUARE, DIRECT),
        (system("full precomputed sparse"), 3 * SQUARE, DIRECT),
        (system("linear"), 2 * 8 * 4**2, DIRECT),
        (system("linear wide"), 3 * SQUARE, DIRECT),
        (system("linear wide", graph=False), SQUARE, DIRECT),
        (partial(SINGLE.system, None, 0.1, False), SQUARE, r"at n = 14 points needs 1\.5 kB"),
    ],
)
def test_memory_is_forecast(call, needed, message, monkeypatch):
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", str(needed - 1))
    with pytest.raises(MemoryError, match=message):
        call()
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", str(needed))
    call()


def test_kernels_of_other_precision_only_are_copied(monkeypatch):
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1")
    FullKernelSpace(K).system(None, 0.1, False)
    COMPUTED.values(np.ones((N, 1)))
