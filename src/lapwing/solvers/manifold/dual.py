r"""The labelled-size dual: any loss on an l x l problem.

Of the deformed kernel (`lapwing.solvers.manifold.deformed`) only the labelled columns
T = [1 K] M^-1 [0; J'] are needed: one factorisation with l right-hand sides, shared by all classes,
losses and weights. By the representer theorem f = T beta (+ b), and beta minimises

.. math:: \tfrac12 \big[\textstyle\sum_i w_i 2\ell(y_i, (T_{ll} \beta + b)_i)
          + \beta^T T_{ll} \beta\big],

the supervised problem of the kernel T_ll with gamma_A = 1. The bias is part of T where the
intrinsic norm sees a constant (then there is no equality constraint, errata L8), else it is free.
"""

from __future__ import annotations

from lapwing.objectives.manifold import Objective
from lapwing.solvers.base import Iteration, OnIteration, Result, carry_on, optimality, verdict
from lapwing.solvers.manifold.deformed import DeformedKernel, Representers
from lapwing.solvers.manifold.reduced import solve_reduced


def dual(
    objective: Objective,
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
    on_iteration: OnIteration = carry_on,
    columns: Representers | None = None,
) -> Result:
    """Minimise an objective with any loss by its problem of the size of the labels.

    Parameters
    ----------
    objective : Objective
    max_iter : int, default=100
        Newton steps (losses without kinks).
    tol : float, default=1e-8
        Losses with kinks: of libsvm's optimality conditions, or the relative duality gap.
    on_iteration : callable, optional
    columns : Representers, optional
        Of the deformed kernel of an objective with the same space, graph, gamma_A and gamma_I, at
        the labelled points at least, to be used again for other losses, targets or weights.

    Returns
    -------
    Result
    """
    if columns is None:
        columns = DeformedKernel.of(objective).at(objective.index)
    columns = columns.of(objective.index)

    def lifted(iteration: Iteration) -> bool:
        number, reduced = iteration.number, iteration.state
        return on_iteration(Iteration(number, lambda: columns.lift(objective, reduced())))

    inner = solve_reduced(
        columns.reduce(objective), max_iter=max_iter, tol=tol, on_iteration=lifted
    )
    state = columns.lift(objective, inner.state)
    # The reduced problem does not know what was lost on the way to it; the gradient does, of
    # losses that have one.
    smooth = objective.loss.kind.differentiable
    measure = optimality(objective, state) if smooth else inner.optimality
    return Result(state, inner.n_iter, verdict(inner.status, measure), measure, inner.history)
