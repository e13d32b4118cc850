"""Registry of the solvers of manifold regularisation.

A new solver is one entry in `SOLVERS`; allowed names, messages and shared tests are derived from
it. The choice of 'auto' is in `lapwing.estimators.choice`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lapwing.objectives.manifold import Objective
from lapwing.solvers.base import Solver, registry
from lapwing.solvers.manifold.dual import dual
from lapwing.solvers.manifold.newton import newton
from lapwing.solvers.manifold.pcg import pcg
from lapwing.solvers.manifold.settings import ManifoldResult, ManifoldSettings


@dataclass(frozen=True)
class ManifoldSolver(Solver[Callable[[Objective, ManifoldSettings], ManifoldResult]]):
    """Solver with its abilities.

    Attributes
    ----------
    kinks : bool, default=False
        Whether it supports losses with kinks.
    stops_early : bool, default=False
        Whether it supports early stopping rules, that is, iterates without a factorisation.
    reduces : bool, default=False
        Whether it solves a problem in l unknowns, by columns of the deformed kernel.
    """

    kinks: bool = False
    stops_early: bool = False
    reduces: bool = False


SOLVERS = registry(
    ManifoldSolver(
        newton,
        "newton",
        "is Newton's method on the primal, O(n^3) per step and class; with the linear kernel, the "
        "systems have the size of the features",
    ),
    ManifoldSolver(
        pcg,
        "pcg",
        "is conjugate gradient preconditioned by the kernel, O(n^2) per iteration for all classes "
        "together; it only needs products with kernel and graph, and is suited to more points, "
        "sparse kernels and early stopping",
        stops_early=True,
    ),
    ManifoldSolver(
        dual,
        "dual",
        "computes the labelled columns of the deformed kernel once, O(n^3), and then solves a "
        "problem of the size of the labels for each class; usually chosen up to 12000 points",
        kinks=True,
        reduces=True,
    ),
)
