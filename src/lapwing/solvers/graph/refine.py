r"""Cut refinement: reduce the cut of a partition at fixed class volumes.

A few steps of the random walk P = D^-1 W smooth the partition X (one-hot rows), and the points are
assigned to the classes again,

.. math:: X \leftarrow \arg\max_Z \sum_i d_i \langle z_i, (P^t X)_i \rangle,

over all Z with the volumes of the prior in which labelled points keep their class: an exact
transport (`lapwing.classes.transport`). This is threshold dynamics with volumes (M. Jacobs,
E. Merkurjev and S. Esedoglu, "Auction dynamics: a volume constrained MBO scheme", Journal of
Computational Physics 354, 288-310, 2018) with the walk instead of the heat equation. It decreases
the *diffused cut*

.. math:: C_t(X) = \sum_i d_i \big(1 - \langle x_i, (P^t X)_i \rangle\big),

the weight of the walks of t steps that end in another class: D P^t is positive semi-definite for
even t, so that the decrease is at least that of the linearisation. This requires the weights d_i;
without them the iteration may cycle. C_1 is twice the cut itself.

The first walks are long, to move clusters of points as a whole, and later ones are shorter, to
sharpen the boundaries. The longest useful walk depends on the graph, as only its slowest modes
survive long walks. The cut is therefore computed in every round, and a round that does not decrease
it is rejected.

Walks cannot separate two classes that each contain a part of the other. Therefore the pairs with
the largest cut between them, relative to the smaller class, are split again: along the first
eigenvectors of L v = lambda D v on their subgraph, or with exchanged classes. A new split must not
increase the number of labels contradicted by their neighbours, with two exceptions, as labels may
be on points among another class: one label may be contradicted if every class has several, and a
tenth of all labels if the whole cut decreases by a tenth. Of the permitted splits the one with the
smallest cut is accepted, if the cut decreases. Then the short walks are repeated for all points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
import scipy.linalg as sla

from lapwing._arrays import Array
from lapwing._host.threads import share_rows
from lapwing.classes.decoding import enforce_codes
from lapwing.classes.transport import assign_two_classes, transport
from lapwing.classes.volumes import whole_volumes
from lapwing.objectives.volumes import GraphOperator, VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.graph.evidence import AT_BOUNDARIES
from lapwing.solvers.graph.partition import Partition, by_columns, recorded, side_by_side
from lapwing.solvers.graph.propagation import shifted_solve

# Even numbers, see above. Errors on MNIST from LapERLS with the true prior, eight draws of one
# label per class, without splits: always ten steps 6.6 %, twenty 6.5, four 7.3, from 40 down to ten
# 6.4 and down to two 6.3. Four draws of five labels: 2.9 to 3.3, and 2.8 down to two.
STEPS = (40, 28, 20, 14, 10, 6, 4, 2)
_REPEATED = 10  # rounds with at most this many steps are repeated, see `_WORTHWHILE`
# Smallest relative decrease of the cut after which a round is repeated. After smaller ones shorter
# walks gain more than repetitions, which took half of the time of a refinement with 10^5 points of
# 100 classes; the mean errors are the same without (draws 100 to 111 of `docs/notes/volumes.md`).
_WORTHWHILE = 2e-3
_SHORT = 4  # index in STEPS of the walk that selects a split of a pair; shorter ones follow
_PAIRS, _DIRECTIONS = 3, 3  # pairs that are tried, and eigenvectors for each
SMOOTH = 10  # steps of the walk that gives the scores
_CHANGED = 2e-4  # fraction of the points: fewer changes are not worth another split
_MOST_ROUNDS = 50
# Without the decrease by a tenth the error on Uspst is 7.7 instead of 7.4 % (one label per class,
# draws 120 to 149); without the limit on contradicted labels it is 11 instead of 2.4 % on MNIST if
# the label of a 5 is on a point among the 3s (set 6).
_CONTRADICTED, _FALL = 0.1, 0.9
_SPARE = 3  # columns besides the wanted eigenvectors, to accelerate convergence
_ROUNDS = 4  # of subspace iteration: signs and order of the values need two digits only


@dataclass(frozen=True, eq=False)
class Path:
    """State of a refinement.

    Attributes
    ----------
    codes : ndarray of int of shape (n,)
        Class of each point.
    cuts : tuple of float
        Weight of the edges between classes: of the initial partition, then of the refined ones, in
        descending order.
    n_iter : int
        Products with the graph.
    settled : bool
        Whether no walk ended at the limit of its rounds.
    offsets : ndarray of shape (c,) or None
        Of the last transport, from which the next may start.
    """

    codes: Array
    cuts: tuple[float, ...]
    n_iter: int = 0
    settled: bool = True
    offsets: Array | None = None

    def to(self, codes: Array, cut: float) -> Path:
        """Append a step."""
        return replace(self, codes=codes, cuts=(*self.cuts, cut))


def refine(
    problem: VolumeProblem,
    scores: Array,
    *,
    before: Array | None = None,
    steps: tuple[int, ...] = STEPS,
) -> Partition:
    """Refine a partition by walks and splits of pairs.

    Parameters
    ----------
    problem : VolumeProblem
        Its prior is met up to one point, even if the prior is not known.
    scores : ndarray of shape (n, c)
        Scores of the partition: the largest of a row gives the class. Ties are broken by the prior.
    before : ndarray of int of shape (n,), optional
        Classes of the partition, which may contradict labels and have other volumes; the cut of a
        refined partition must be smaller if both have the same volumes. By default `share_out` of
        the scores.
    steps : tuple of int
        Numbers of steps of the walks, in turn. Long walks are not needed if only the boundaries
        are inexact.

    Returns
    -------
    Partition
        Scores are the fractions of walks of ten steps from a point that end in each class, raised
        for the class if volumes or a label determined it. The history has the cuts of the initial
        partition and of the refined ones, in descending order: only the first entry if the cut
        could not be reduced.

    Notes
    -----
    A round takes O(t nnz(W) c) and a transport of n points. There are some 10 to 30 rounds. Memory
    is about 6 n c numbers.
    """
    begun = share_out(problem, scores)
    path = split(problem, _walked(problem, begun, steps))
    smooth = diffused(problem, path.codes, SMOOTH)
    path = replace(path, n_iter=path.n_iter + SMOOTH)
    found = partition_of(problem, path, smooth, smooth)
    return replace(found, history=recorded(_cuts(problem, begun, path.cuts, before)))


def walk_down(problem: VolumeProblem, scores: Array, steps: tuple[int, ...] = STEPS) -> Path:
    """Refine a partition by walks without splits, in a fraction of the time of `refine`."""
    return _walked(problem, share_out(problem, scores), steps)


def partition_of(problem: VolumeProblem, path: Path, smooth: Array, shares: Array) -> Partition:
    """Return the result of a path, with scores by walks from its end and class memberships."""
    shares = enforce_codes(shares, path.codes)
    shares /= shares.sum(axis=1, keepdims=True)
    # Division may make scores equal that differ in the last digit.
    shares = enforce_codes(shares, path.codes)
    shares[problem.index] = problem.labels
    return Partition(
        _enforce_labels_and_codes(smooth, path.codes, problem),
        path.cuts[-1],
        0.0 if path.settled else 1.0,
        path.n_iter,
        Status.CONVERGED if path.settled else Status.MAX_ITER,
        recorded(path.cuts),
        shares=shares,
    )


def _cuts(
    problem: VolumeProblem, begun: Array, cuts: tuple[float, ...], before: Array | None
) -> tuple[float, ...]:
    """Return the cut of the initial partition, and the smaller cuts on a path from `begun`."""
    if before is None:
        return cuts
    first, c = problem.graph.cut(before), problem.n_classes
    shown, wanted = (np.bincount(codes, problem.sizes, c) for codes in (before, begun))
    if np.array_equal(shown, wanted):
        return (first, *(cut for cut in cuts if cut < first))
    return (first, *cuts) if len(cuts) > 1 else (first,)


def _walked(problem: VolumeProblem, codes: Array, steps: tuple[int, ...]) -> Path:
    """Refine a partition by walks."""
    return _descended(problem, Path(codes, (problem.graph.cut(codes),)), steps)


def _descended(problem: VolumeProblem, path: Path, steps: tuple[int, ...]) -> Path:
    """Do rounds with decreasing numbers of steps, accepting those that reduce the cut."""
    weights = problem.graph.masses / problem.sizes  # the transport multiplies them by the sizes
    for number in steps:
        for _ in range(_MOST_ROUNDS):
            smooth = diffused(problem, path.codes, number)
            following, offsets = _shared(problem, smooth, path.offsets, weights)
            path = replace(path, n_iter=path.n_iter + number, offsets=offsets)
            cut = problem.graph.cut(following)
            before = path.cuts[-1]
            if not cut < before:
                break
            path = path.to(following, cut)
            if number > _REPEATED or cut > (1 - _WORTHWHILE) * before:
                break
        else:
            path = replace(path, settled=False)
    return path


def split(problem: VolumeProblem, path: Path) -> Path:
    """Split the pairs with the largest relative cuts again, as long as the cut decreases.

    The prior of the problem must be the volumes of the partition.
    """
    tried: dict[tuple[int, int], Array] = {}
    while True:
        for pair in worst_pairs(problem, path.codes)[:_PAIRS]:
            if pair in tried and not _moved(problem, pair, tried[pair], path.codes):
                continue
            tried[pair] = path.codes
            path = _split_pair(problem, path, pair)
            if path.codes is not tried[pair]:
                path = _descended(problem, path, STEPS[_SHORT + 1 :])
                break
        else:
            return path


def _moved(problem: VolumeProblem, pair: tuple[int, int], before: Array, codes: Array) -> bool:
    """Return whether a pair of classes has changed since it was tried with `before`."""
    involved = np.isin(before, pair) | np.isin(codes, pair)
    return problem.differing(np.where(involved, before, codes), codes) > _CHANGED


def _split_pair(problem: VolumeProblem, path: Path, pair: tuple[int, int]) -> Path:
    """Split two classes again along eigenvectors of their subgraph, if cut and labels permit."""
    rows = np.flatnonzero((path.codes == pair[0]) | (path.codes == pair[1]))
    present = (path.codes[rows] == pair[1]).astype(np.intp)
    part = pair_problem(problem, rows, present, pair)
    if part is None:
        return path
    vectors, spent = smooth_functions(part.graph, _DIRECTIONS, present, float(STEPS[0]))
    # Both signs of an eigenvector are tried, as both classes may have a label on the same side.
    # Exchanged classes correct 2 of 4 wrong draws on full USPS (one label per class, draws 120 to
    # 141), and with both signs the error on Uspst is 6.6 instead of 7.4 % (draws 120 to 149).
    scores = [np.column_stack([-v, v]) for v in (*vectors.T, *-vectors.T)]
    scores.append(diffused(part, 1 - present, SMOOTH))
    starts = [share_out(part, each) for each in scores]
    # Longer walks select one of the starts, and shorter ones sharpen its boundaries.
    first, later = STEPS[_SHORT : _SHORT + 1], STEPS[_SHORT + 1 :]
    splits = side_by_side(part, [partial(_walked, part, start, first) for start in starts])
    spent += sum(each.n_iter for each in splits)
    permitted, before = _label_check(problem, path), part.graph.cut(present)

    def placed(each: Path) -> Array:
        codes = path.codes.copy()
        codes[rows] = np.where(each.codes == 1, pair[1], pair[0])
        return codes

    # The split with the smallest cut may have exchanged classes, and the next one the right ones.
    # Labels are compared after the short walks, which may move their neighbours; these seldom
    # reduce a cut by more than a tenth.
    for each in sorted(splits, key=lambda split: split.cuts[-1]):
        if _FALL * each.cuts[-1] >= before:
            break
        sharp = _descended(part, replace(each, n_iter=0), later)
        spent += sharp.n_iter
        codes = placed(sharp)
        cut = problem.graph.cut(codes)
        if cut < path.cuts[-1] and permitted(codes, cut):
            path = path.to(codes, cut)
            break
    whole = path.n_iter + round(spent * len(rows) / problem.n_points)
    return replace(path, n_iter=whole)


def _label_check(problem: VolumeProblem, path: Path) -> Callable[[Array, float], bool]:
    """Return a function that tests whether a partition with a smaller cut is permitted."""
    contradicted = problem.disagreeing(problem.members(path.codes))
    # The only label of a class is all that tells it from others, so it must not be contradicted.
    if np.bincount(problem.codes, minlength=problem.n_classes).min() > 1:
        contradicted = max(contradicted, AT_BOUNDARIES)
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
    """Return the problem restricted to two classes, with their present volumes.

    Parameters
    ----------
    problem : VolumeProblem
    rows : ndarray of int
        Points of the two classes.
    present : ndarray of int
        1 for points of the second class, 0 for the first.
    pair : (int, int)

    Returns
    -------
    VolumeProblem or None
        None if a class has no label among these points, or only labelled points.
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

    Subspace iteration with the resolvent (D + sL)^-1 D on a few columns, one of which is a guess,
    followed by Rayleigh-Ritz. Signs and order of the values are used only: two digits are enough.

    Returns
    -------
    vectors : ndarray of shape (n, wanted)
        With few points there may be fewer columns.
    n_iter : int
        Products with the graph.
    """
    n, d = graph.n_points, graph.masses
    width = min(wanted + _SPARE, n - 1)
    V = np.empty((n, width))
    # Random numbers are assigned in an order by values of the graph, so that the start does not
    # depend on the order of the points.
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
    """Orthonormalise columns in the metric of d, orthogonal to constants too."""
    root = np.sqrt(d)[:, None]
    V = V - d @ V / d.sum()
    return np.asarray(np.linalg.qr(root * V)[0] / root)


def share_out(problem: VolumeProblem, scores: Array) -> Array:
    """Assign points to classes with the largest sum of scores at the volumes of the prior.

    Labelled points keep their class. A class whose labelled points exceed its volume gets no other
    points.
    """
    return _shared(problem, scores, None)[0]


def _shared(
    problem: VolumeProblem, scores: Array, start: Array | None, weights: Array | None = None
) -> tuple[Array, Array | None]:
    """Compute `share_out` of weighted scores, from earlier offsets, and return new offsets too."""
    codes = np.empty(problem.n_points, dtype=np.intp)
    codes[problem.index] = problem.codes
    free, mass = problem.free, problem.sizes[problem.free]
    if not len(free):
        return codes, None
    F = _gains(scores, free, weights)
    volumes = open_volumes(problem, F)
    if problem.n_classes == 2:
        codes[free] = assign_two_classes(F, mass, volumes)
        return codes, None
    plan = transport(F, mass, volumes, start=start)
    codes[free] = plan.assignment()
    return codes, plan.offsets


def _gains(scores: Array, free: Array, weights: Array | None) -> Array:
    """Compute weighted scores of the free points, minus the largest of each for precision."""
    F = np.empty((len(free), scores.shape[1]))

    def fill(rows: slice) -> None:
        some, part = free[rows], F[rows]
        part[:] = scores[some]
        if weights is not None:
            part *= weights[some, None]
        part -= part.max(axis=1, keepdims=True)

    share_rows(len(F), F.itemsize * F.shape[1], fill)
    return F


def open_volumes(problem: VolumeProblem, F: Array) -> Array:
    """Compute the volumes of the classes without the labelled points, as integers.

    Parameters
    ----------
    problem : VolumeProblem
    F : ndarray of shape (u, c)
        Scores of the unlabelled points. Of classes with equal remainders, the one with the largest
        score at most points is rounded up.
    """
    mass, c = problem.sizes[problem.free], problem.n_classes
    held = np.bincount(problem.codes, problem.sizes[problem.index], c)
    left = np.maximum(problem.prior * float(problem.sizes.sum()) - held, 0)
    before = np.bincount(F.argmax(axis=1), mass, c)
    # Scaled down if some classes have more labels than their volume.
    return whole_volumes(left / left.sum(), round(float(mass.sum())), before)


def diffused(problem: VolumeProblem, codes: Array, steps: int) -> Array:
    """Compute P^t X (n, c) of a partition X."""
    graph, n, c = problem.graph, problem.n_points, problem.n_classes
    found = np.empty((n, c), dtype=graph.dtype)

    def walk(columns: slice) -> None:
        # Rows sum to one, so that one of two columns is enough.
        some = slice(1, 2) if c == 2 else columns
        F = (codes[:, None] == np.arange(c)[some]).astype(graph.dtype)
        for _ in range(steps):
            F = graph.walk(F)
        found[:, some] = F

    by_columns(n, c, walk)
    if c == 2:
        found[:, 0] = 1 - found[:, 1]
    return found


def _enforce_labels_and_codes(smooth: Array, codes: Array, problem: VolumeProblem) -> Array:
    """Set the scores of labelled points to 0 and 1, and raise those of the codes to the maximum."""
    smooth = smooth.copy()
    smooth[problem.index] = 0
    smooth[problem.index, problem.codes] = 1
    return enforce_codes(smooth, codes)
