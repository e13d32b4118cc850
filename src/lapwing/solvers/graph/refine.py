r"""Cut refinement: an answer is improved on the graph while the classes keep their volumes.

A few steps of the random walk P = D^-1 W smooth the answer X (one-hot rows), and the points are
shared out again among the classes,

.. math:: X \leftarrow \arg\max_Z \sum_i d_i \langle z_i, (P^t X)_i \rangle,

over all Z with the volumes of the prior in which labelled points keep their class: an exact
transport (`lapwing.classes.transport`). This is threshold dynamics with volumes (M. Jacobs,
E. Merkurjev and S. Esedoglu, "Auction dynamics: a volume constrained MBO scheme", Journal of
Computational Physics 354, 288-310, 2018) by the walk instead of the heat equation. What falls is
the *diffused cut*

.. math:: C_t(X) = \sum_i d_i \big(1 - \langle x_i, (P^t X)_i \rangle\big),

the weight of the walks of t steps that end in another class: D P^t is positive semi-definite for
even t, so that Z can only gain on what its linearisation promises. The weights d_i are what makes
that true; without them the points may go round in circles. C_1 is twice the cut itself.

Walks begin long, which finds the way past small parts that hang together, and become shorter, which
sharpens the boundaries. How long is too long depends on the graph: long walks see nothing but its
slowest modes. So of every round the cut is counted, and one that does not lower it is not taken.

Two classes that each hold a part of the other are a cut that no walk leaves. So the pairs with the
largest cut between them, relative to the smaller class, are looked at by themselves: the first
eigenvectors of L v = lambda D v on their part of the graph say where else it may be split, and the
two may have exchanged their names. A new split may leave no more labels than before contradicted
by their neighbours; or one in ten, as labels lie amid other classes, if the whole cut falls by a
tenth. Of the splits within this limit the one of the least cut is taken, if the cut falls. Then all
points have their turn again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
import scipy.linalg as sla

from lapwing._arrays import Array
from lapwing.classes.decoding import enforce_codes
from lapwing.classes.transport import parted_in_two, transport
from lapwing.classes.volumes import whole_volumes
from lapwing.objectives.volumes import GraphOperator, VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.graph.linear import shifted_solve
from lapwing.solvers.graph.partition import side_by_side

# Even, see above. Measured on MNIST with the true prior from LapERLS, eight draws of one label a
# class, without pairs cut anew: ten steps throughout 6.6 %, twenty 6.5, four 7.3, from 40 down to
# ten 6.4 and to two 6.3; four draws of five labels 2.9 to 3.3 and 2.8.
STEPS = (40, 28, 20, 14, 10, 6, 4, 2)
_REPEATED = 10  # rounds with so many steps or fewer are repeated while they lower the cut
_SHORT = 4  # index of the first number of steps in and after a split of a pair
_PAIRS, _DIRECTIONS = 3, 3  # pairs that are tried, and eigenvectors for each
_SMOOTH = 10  # steps of the walk whose ends are the scores
_CHANGED = 2e-4  # share of the points: fewer changes do not pay for another round or split
_MOST_ROUNDS = 50
# Without the fall of a tenth Uspst has 7.7 % in place of 7.4 (one label a class, draws 120 to 149);
# without the labels, MNIST 11 % in place of 2.4 where the label of a 5 lies amid the 3s (set 6).
_CONTRADICTED, _FALL = 0.1, 0.9
_SPARE = 3  # columns beside the eigenvectors that are wanted, which make the iteration converge
_ROUNDS = 4  # of that: only signs and order of the values are used, and two digits do


@dataclass(frozen=True, eq=False)
class Refinement:
    """A refined answer.

    Attributes
    ----------
    codes : ndarray of int of shape (n,)
        Class of each point.
    scores : ndarray of shape (n, c)
        Part of the walks from a point that end in each class, between 0 and 1. The first largest
        of a row is that of its class: where volumes or a label decided otherwise it was raised.
    history : ndarray
        Weight of the edges between classes: of the answer before, then of the refined answers, each
        less than the one before it. Alone the first one if the answer before stays.
    n_iter : int
        Times that the points were shared out.
    n_products : int
        Products with the graph.
    status : Status
    """

    codes: Array
    scores: Array
    history: Array
    n_iter: int
    n_products: int
    status: Status

    @property
    def improved(self) -> bool:
        """Whether a smaller cut was found. If not, the answer before stays."""
        return len(self.history) > 1


def refine(
    problem: VolumeProblem,
    scores: Array,
    *,
    before: Array | None = None,
    steps: tuple[int, ...] = STEPS,
) -> Refinement:
    """Refine an answer.

    Parameters
    ----------
    problem : VolumeProblem
        Its prior is met exactly, to one point; whether it is known is not asked.
    scores : ndarray of shape (n, c)
        The answer: values whose largest of a row is the class. Ties are broken by the prior.
    before : ndarray of int of shape (n,), optional
        Classes of the answer, which may contradict labels and miss the volumes: a refined answer
        must cut less than it where both have the same volumes. `share_out` of the scores by
        default.
    steps : tuple of int
        Of the walks, in turn. An answer whose parts are right needs no long ones.

    Returns
    -------
    Refinement

    Notes
    -----
    Time is O(t nnz(W) c) and a transport of n points a round, some 10 to 30 rounds; memory some
    6 n c numbers.
    """
    begun = share_out(problem, scores)
    path = _split(problem, _walked(problem, begun, steps))
    return _refinement(problem, path, _history(problem, begun, path.cuts, before))


def walk_down(problem: VolumeProblem, scores: Array, steps: tuple[int, ...] = STEPS) -> Refinement:
    """Refine an answer by walks alone, which costs a fraction of `refine`.

    Parameters
    ----------
    problem : VolumeProblem
    scores : ndarray of shape (n, c)
        As for `refine`.
    steps : tuple of int
        As for `refine`.
    """
    path = _walked(problem, share_out(problem, scores), steps)
    return _refinement(problem, path, np.array(path.cuts))


def split(problem: VolumeProblem, found: Refinement) -> Refinement:
    """Split pairs of classes after `walk_down`, as `refine` does.

    Parameters
    ----------
    problem : VolumeProblem
        At whose volumes the answer was found.
    found : Refinement
    """
    settled = found.status == Status.CONVERGED
    path = _Path(found.codes, tuple(found.history.tolist()), settled=settled)
    path = _split(problem, path)
    return _refinement(problem, path, np.array(path.cuts))


def _refinement(problem: VolumeProblem, path: _Path, history: Array) -> Refinement:
    """Make the result of a path, with scores by walks from its end."""
    smooth = diffused(problem, path.codes, _SMOOTH)
    return Refinement(
        path.codes,
        _surely(smooth, path.codes, problem),
        history,
        path.n_iter,
        path.n_products + _SMOOTH,
        Status.CONVERGED if path.settled else Status.MAX_ITER,
    )


def _history(
    problem: VolumeProblem, begun: Array, cuts: tuple[float, ...], before: Array | None
) -> Array:
    """Return the cuts of the answer before and of the better ones on a path from `begun`."""
    if before is None:
        return np.array(cuts)
    first, c = _cut(problem, before), problem.n_classes
    shown, wanted = (np.bincount(codes, problem.sizes, c) for codes in (before, begun))
    if np.array_equal(shown, wanted):
        return np.array([first, *(cut for cut in cuts if cut < first)])
    return np.array([first, *cuts] if len(cuts) > 1 else [first])


@dataclass(frozen=True, eq=False)
class _Path:
    """State of a refinement, with the cuts on its way."""

    codes: Array
    cuts: tuple[float, ...]
    n_iter: int = 0
    n_products: int = 0
    settled: bool = True
    offsets: Array | None = None  # of the last transport, from which the next may start

    def to(self, codes: Array, cut: float) -> _Path:
        return replace(self, codes=codes, cuts=(*self.cuts, cut))

    def after(self, steps: int, offsets: Array | None) -> _Path:
        """Count a round."""
        spent = self.n_products + steps
        return replace(self, n_iter=self.n_iter + 1, n_products=spent, offsets=offsets)


def _walked(problem: VolumeProblem, codes: Array, steps: tuple[int, ...]) -> _Path:
    """Refine a partition by walks."""
    return _descended(problem, _Path(codes, (_cut(problem, codes),)), steps)


def _descended(problem: VolumeProblem, path: _Path, steps: tuple[int, ...]) -> _Path:
    """Rounds with fewer and fewer steps, taken where they lower the cut."""
    for number in steps:
        for _ in range(_MOST_ROUNDS):
            smooth = diffused(problem, path.codes, number)
            following, offsets = _shared(problem, _by_degree(problem, smooth), path.offsets)
            cut, path = _cut(problem, following), path.after(number, offsets)
            if not cut < path.cuts[-1]:
                break
            changed = _changed(problem, following != path.codes)
            path = path.to(following, cut)
            if number > _REPEATED or changed <= _CHANGED:
                break
        else:
            path = replace(path, settled=False)
    return path


def _changed(problem: VolumeProblem, moved: Array) -> float:
    """Return the share of the points that moved, by their sizes."""
    return float(problem.sizes @ moved / problem.sizes.sum())


def _split(problem: VolumeProblem, path: _Path) -> _Path:
    """Split the pairs with the relatively largest cuts anew, as long as the cut falls."""
    tried: dict[tuple[int, int], Array] = {}
    while True:
        for pair in worst_pairs(problem, path.codes)[:_PAIRS]:
            if pair in tried and not _moved(problem, pair, tried[pair], path.codes):
                continue
            tried[pair] = path.codes
            path = _cut_anew(problem, path, pair)
            if path.codes is not tried[pair]:
                path = _descended(problem, path, STEPS[_SHORT:])
                break
        else:
            return path


def _moved(problem: VolumeProblem, pair: tuple[int, int], before: Array, codes: Array) -> bool:
    """Return whether a pair of classes has changed since it was tried with the codes `before`."""
    differ = before != codes
    differ &= np.isin(before, pair) | np.isin(codes, pair)
    return _changed(problem, differ) > _CHANGED


def _cut_anew(problem: VolumeProblem, path: _Path, pair: tuple[int, int]) -> _Path:
    """Split two classes anew along eigenvectors of their graph, if cut and labels permit."""
    rows = np.flatnonzero((path.codes == pair[0]) | (path.codes == pair[1]))
    present = (path.codes[rows] == pair[1]).astype(np.intp)
    part = pair_problem(problem, rows, present, pair)
    if part is None:
        return path
    vectors, spent = smooth_functions(part.graph, _DIRECTIONS, present, float(STEPS[0]))
    # Either side may be either class, where a label of each lies on the same one. Exchanged names
    # mend 2 of 4 wrong draws of full USPS (one label a class, draws 120 to 141), and either side
    # makes Uspst 6.6 % in place of 7.4 (draws 120 to 149).
    scores = [np.column_stack([-v, v]) for v in (*vectors.T, *-vectors.T)]
    scores.append(diffused(part, 1 - present, _SMOOTH))
    starts = [share_out(part, each) for each in scores]
    # Longer walks decide between the starts, shorter ones sharpen the boundaries of one.
    first, later = STEPS[_SHORT : _SHORT + 1], STEPS[_SHORT + 1 :]
    splits = side_by_side(part, [partial(_walked, part, start, first) for start in starts])
    spent += sum(each.n_products for each in splits)
    others = path.cuts[-1] - _cut(part, present)  # of edges that no split of the two concerns
    permitted = _permission(problem, path)

    def placed(each: _Path) -> Array:
        codes = path.codes.copy()
        codes[rows] = np.where(each.codes == 1, pair[1], pair[0])
        return codes

    # The least of all cuts may have the classes' names exchanged, and the next the right ones.
    for each in sorted(splits, key=lambda split: split.cuts[-1]):
        if permitted(placed(each), others + each.cuts[-1]):
            sharp = _descended(part, replace(each, n_products=0), later)
            spent += sharp.n_products
            codes = placed(sharp)
            cut = _cut(problem, codes)
            if cut < path.cuts[-1] and permitted(codes, cut):
                path = path.to(codes, cut)
            break
    whole = path.n_products + round(spent * len(rows) / problem.n_points)
    return replace(path, n_products=whole)


def _permission(problem: VolumeProblem, path: _Path) -> Callable[[Array, float], bool]:
    """Make the test whether a partition of a smaller cut contradicts few enough labels."""
    contradicted = problem.disagreeing(problem.members(path.codes))
    tolerated = max(contradicted, int(_CONTRADICTED * len(problem.index)))

    def permitted(codes: Array, cut: float) -> bool:
        most = tolerated if cut < _FALL * path.cuts[-1] else contradicted
        return problem.disagreeing(problem.members(codes)) <= most

    return permitted


def worst_pairs(problem: VolumeProblem, codes: Array) -> list[tuple[int, int]]:
    """Sort the pairs of classes with edges between them by their cut over the smaller volume."""
    c = problem.n_classes
    cuts = problem.graph.cuts(codes, c)
    volume = np.maximum(np.bincount(codes, problem.graph.masses, c), np.finfo(float).tiny)
    ratio = cuts / np.minimum(volume[:, None], volume)
    pairs = [pair for pair in combinations(range(c), 2) if cuts[pair] > 0]
    return sorted(pairs, key=lambda pair: -ratio[pair])


def pair_problem(
    problem: VolumeProblem, rows: Array, present: Array, pair: tuple[int, int]
) -> VolumeProblem | None:
    """Make the problem of two classes alone, at their present volumes.

    Parameters
    ----------
    problem : VolumeProblem
    rows : ndarray of int
        Their points.
    present : ndarray of int
        1 for points of the second class.
    pair : (int, int)

    Returns
    -------
    VolumeProblem or None
        None if a class has no label there or its labels leave no room.
    """
    place = np.full(problem.n_points, -1)
    place[rows] = np.arange(len(rows))
    mine = np.flatnonzero((place[problem.index] >= 0) & np.isin(problem.codes, pair))
    codes = (problem.codes[mine] == pair[1]).astype(np.intp)
    sizes = problem.sizes[rows]
    second = float(sizes @ present / sizes.sum())
    part = replace(
        problem,
        graph=problem.graph.restrict(rows),
        index=place[problem.index[mine]],
        labels=np.eye(2)[codes],
        weights=problem.weights[mine],
        prior=np.array([1 - second, second]),
        exact=True,
        sizes=sizes,
    )
    room = part.prior - part.known / sizes.sum()
    return part if (part.known > 0).all() and (room > 0).all() else None


def smooth_functions(
    graph: GraphOperator, wanted: int, guess: Array, s: float
) -> tuple[Array, int]:
    """Approximate the first eigenvectors of L v = lambda D v after the constant one.

    Powers of the resolvent (D + sL)^-1 D on a few columns, one of which is a guess, then the best
    combinations (Rayleigh and Ritz). Only signs and order of the values are used: two digits do.

    Returns
    -------
    vectors : ndarray of shape (n, wanted), or fewer columns for fewer points
    n_iter : int
        Products with the graph.
    """
    n, d = graph.n_points, graph.masses
    width = min(wanted + _SPARE, n - 1)
    V = np.empty((n, width))
    # By values of the graph: the start of a point does not depend on its place.
    order = np.argsort(graph.laplacian(d[:, None].astype(graph.dtype))[:, 0], kind="stable")
    V[order] = np.random.default_rng(0).standard_normal((n, width))
    V[:, 0] = guess
    n_iter = 0
    for _ in range(_ROUNDS):
        V = _orthonormal(V, d)
        found = shifted_solve(graph, d, s, d[:, None] * V, start=None)
        V, n_iter = found.x.astype(np.float64), n_iter + found.n_iter
    V = _orthonormal(V, d)
    small = V.T @ graph.laplacian(V.astype(graph.dtype)).astype(np.float64)
    _, turn = sla.eigh((small + small.T) / 2)
    return V @ turn[:, :wanted], n_iter


def _orthonormal(V: Array, d: Array) -> Array:
    """Orthonormalise columns in the metric of d, also to the constants."""
    root = np.sqrt(d)[:, None]
    V = V - d @ V / d.sum()
    return np.asarray(np.linalg.qr(root * V)[0] / root)


def share_out(problem: VolumeProblem, scores: Array) -> Array:
    """Assign points to classes at the volumes of the prior, with the largest sum of scores.

    Labelled points keep their class. A class whose labels alone exceed its volume gets no other
    point.
    """
    return _shared(problem, scores, None)[0]


def _shared(
    problem: VolumeProblem, scores: Array, start: Array | None
) -> tuple[Array, Array | None]:
    """Do `share_out` from earlier offsets of the classes; also return the new offsets."""
    codes = np.empty(problem.n_points, dtype=np.intp)
    codes[problem.index] = problem.codes
    free, mass = problem.free, problem.sizes[problem.free]
    if not len(free):
        return codes, None
    F = scores[free].astype(np.float64)
    volumes = open_volumes(problem, F)
    if problem.n_classes == 2:
        codes[free] = parted_in_two(F, mass, volumes)
        return codes, None
    F -= F.max(axis=1, keepdims=True)  # digits go into differences, not into the level
    plan, _, _ = transport(F, mass, volumes, start=start)
    codes[free] = plan.assignment()
    return codes, plan.offsets


def open_volumes(problem: VolumeProblem, F: Array) -> Array:
    """Compute the volumes that the labels leave open, in whole numbers.

    Parameters
    ----------
    problem : VolumeProblem
    F : ndarray of shape (u, c)
        Scores of the points without a label. Of classes with equal remainders, the one with the
        largest score at most points gets the point.
    """
    mass, c = problem.sizes[problem.free], problem.n_classes
    held = np.bincount(problem.codes, problem.sizes[problem.index], c)
    left = np.maximum(problem.prior * float(problem.sizes.sum()) - held, 0)
    before = np.bincount(F.argmax(axis=1), mass, c)
    # Scaled down where some classes have more labels than their volume.
    return whole_volumes(left / left.sum(), round(float(mass.sum())), before)


def diffused(problem: VolumeProblem, codes: Array, steps: int) -> Array:
    """Compute P^t X (n, c) of an answer X."""
    X = np.zeros((problem.n_points, problem.n_classes), dtype=problem.graph.dtype)
    X[np.arange(problem.n_points), codes] = 1
    # Rows keep their sum of one, so that one column of two is enough.
    two = problem.n_classes == 2
    F = X[:, 1:] if two else X
    for _ in range(steps):
        F = problem.graph.walk(F)
    return np.hstack([1 - F, F]) if two else F


def _by_degree(problem: VolumeProblem, smooth: Array) -> Array:
    # The transport counts every point with its size.
    return np.asarray((problem.graph.masses / problem.sizes)[:, None] * smooth)


def _surely(smooth: Array, codes: Array, problem: VolumeProblem) -> Array:
    """Set the scores of labelled points to 0 and 1, and raise others that miss their class."""
    smooth = smooth.copy()
    smooth[problem.index] = 0
    smooth[problem.index, problem.codes] = 1
    return enforce_codes(smooth, codes)


def _cut(problem: VolumeProblem, codes: Array) -> float:
    return problem.graph.cut(codes)
