"""Laplacian embedded regularised least squares with parameter selection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, replace
from itertools import product
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from joblib import Memory

from lapwing._arrays import Array
from lapwing._parameters import Rule, grid, is_count, is_word_or, parameters
from lapwing.estimators import diagnostics
from lapwing.estimators._docs import document
from lapwing.estimators.choice import SPEED, eigenvectors_wanted
from lapwing.estimators.classifier import WeightedClassifier
from lapwing.estimators.embedded import EmbeddedEstimator, EmbeddedPrepared
from lapwing.estimators.laperls import LapERLSClassifier
from lapwing.estimators.manifold_cv import LapRLSClassifierCV
from lapwing.estimators.path import (
    KernelWidth,
    PathEstimator,
    PathSolution,
    Scored,
    graph_of,
    nearest,
    width_of,
)
from lapwing.estimators.prepared import Prepared, Stages, Targets, Tick
from lapwing.graphs import Eigenpairs, GraphRecipe, Laplacian
from lapwing.problem import Problem
from lapwing.solvers.embedded.posterior import SpectralPath
from lapwing.solvers.ridge import Observations
from lapwing.spaces.base import Space
from lapwing.spaces.full import ComputedKernel, FullKernelSpace
from lapwing.spaces.recipes import SpaceRecipe


class Spectrum(NamedTuple):
    """Graph recipe with the eigenpairs of the points."""

    recipe: GraphRecipe
    laplacian: Laplacian
    pairs: Eigenpairs  # shared between the powers of one Laplacian


EmbeddedPathPrepared: TypeAlias = Prepared[tuple[KernelWidth, ...], tuple[Spectrum, ...]]


class EmbeddedPath(PathEstimator[EmbeddedPathPrepared]):
    """Prepared grid over C, lambda, mu, numbers of eigenvectors, widths and graphs."""

    _plain: ClassVar[type[EmbeddedEstimator]]
    _n_stages = 6
    _weights = ("lam", "mu", "C")
    _has_virtual_labels = True
    _tried = frozenset({"n_eigenvectors"})
    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_eigenvectors": grid(is_word_or("auto", is_count), "whole numbers >= 1 or 'auto'")
    }

    def _prepare(
        self, targets: Targets, problem: Problem, progress: Stages
    ) -> EmbeddedPathPrepared:
        self._estimator()._forecast(problem)
        with progress.stage("graph"):
            graphs = self._laplacians(problem)
        with progress.stage("eigenpairs", None) as tick:
            spectra: list[Spectrum] = []
            for recipe, laplacian in graphs:
                known = (s.pairs for s in spectra if s.laplacian.affinity is laplacian.affinity)
                pairs = next(known, None) or self._eigenpairs(laplacian, problem, tick)
                spectra.append(Spectrum(recipe, laplacian, pairs))
        with progress.stage("landmarks"):
            widths = self._widths(self._kernels(problem), problem)
        self._forecast(widths, tuple(spectra))
        return Prepared(targets, problem, tuple(spectra), widths)

    def _eigenpairs(self, laplacian: Laplacian, problem: Problem, tick: Tick) -> Eigenpairs:
        most = max(self._numbers(problem.targets.shape[1], laplacian.n_points))
        pairs: Eigenpairs = self._estimator()._smallest(laplacian, most, tick)
        return pairs

    def _numbers(self, n_columns: int, most: int) -> list[int]:
        """Return the distinct numbers of eigenvectors."""
        usual = eigenvectors_wanted(n_columns)
        numbers = (usual if isinstance(r, str) else int(r) for r in self.n_eigenvectors)
        return list(dict.fromkeys(min(r, most) for r in numbers))

    def _forecast(self, widths: tuple[KernelWidth, ...], spectra: tuple[Spectrum, ...]) -> None:
        """Warn before a long path, with its time and a faster alternative."""
        n, m = widths[0].space.n_points, widths[0].space.n_coef
        n_factors = len(widths) * len(self.Cs)
        seconds = n_factors * (float(n) * min(n, m) ** 2 / 3) / SPEED
        self._warn_long(seconds, n_factors, min(n, m))

    def _along(self, prepared: EmbeddedPathPrepared, wanted: Array) -> Iterator[list[Scored]]:
        for width, C in product(prepared.space, map(float, self.Cs)):
            # With several widths only one kernel matrix is in memory at a time.
            space = width.space if len(prepared.space) == 1 else _again(width.space)
            found: list[Scored] = []
            for spectrum, path in self._paths(prepared, space, C, wanted):
                params = {"C": C, **width.params, "graph": spectrum.recipe}
                found += self._scores(path, spectrum, params)
            yield found

    def _paths(
        self, prepared: EmbeddedPathPrepared, space: Space, C: float, wanted: Array
    ) -> Iterator[tuple[Spectrum, SpectralPath]]:
        """Make the path of every graph, by one elimination on the eigenvectors of all graphs."""
        problem = prepared.problem
        distinct = list({id(s.pairs): s.pairs for s in prepared.laplacian}.values())
        every = replace(
            distinct[0],
            values=np.concatenate([pairs.values for pairs in distinct]),
            vectors=np.hstack([pairs.vectors for pairs in distinct]),
        )
        laplacian = prepared.laplacian[0].laplacian
        one = prepared.on(laplacian, space, every)
        plain = self._estimator(C=C)
        curvature = plain._form(plain._objective(one)).system.curvature
        start, place = 0, {}
        for pairs in distinct:
            place[id(pairs)] = slice(start, start := start + len(pairs.values))
        observations = Observations(problem.index, problem.targets, problem.weights, wanted)
        for spectrum in prepared.laplacian:
            pairs, at = spectrum.pairs, place[id(spectrum.pairs)]
            yield (
                spectrum,
                SpectralPath(
                    curvature[at, at],
                    pairs.values,
                    pairs.vectors[problem.index].astype(np.float64),
                    pairs.vectors.sum(axis=0, dtype=np.float64),
                    C,
                    observations,
                ),
            )

    def _scores(
        self, path: SpectralPath, spectrum: Spectrum, shared: Mapping[str, Any]
    ) -> list[Scored]:
        lams = np.asarray(self.lams, dtype=np.float64)
        n_columns, most = path.observations.targets.shape[1], len(spectrum.pairs.values)
        found: list[Scored] = []
        for r, mu in product(self._numbers(n_columns, most), map(float, self.mus)):
            left_out = path.left_out(r, spectrum.laplacian.power, mu, lams)
            for lam, values in zip(lams.tolist(), left_out, strict=True):
                params = {"lam": lam, "mu": mu, "n_eigenvectors": r, **shared}
                found.append(Scored(params, values))
        return found

    def _usual(self, prepared: EmbeddedPathPrepared) -> dict[str, Any]:
        n_columns, most = prepared.problem.targets.shape[1], len(prepared.laplacian[0].pairs.values)
        number = nearest(self._numbers(n_columns, most), eigenvectors_wanted(n_columns))
        return super()._usual(prepared) | {"n_eigenvectors": int(number)}

    def _of_setting(
        self, prepared: EmbeddedPathPrepared, params: Mapping[str, Any]
    ) -> EmbeddedPrepared:
        spectrum = graph_of(prepared, params)
        r = params["n_eigenvectors"]
        pairs = spectrum.pairs
        fewer = replace(pairs, values=pairs.values[:r], vectors=pairs.vectors[:, :r])
        return prepared.on(spectrum.laplacian, width_of(prepared, params).space, fewer)

    def _diagnose(self, prepared: EmbeddedPathPrepared, solution: PathSolution) -> None:
        pairs = solution.prepared.eigenpairs
        assert pairs is not None
        diagnostics.warn_few_eigenvectors(pairs, prepared.problem.targets.shape[1])
        super()._diagnose(prepared, solution)


def _again(space: Space) -> Space:
    """Copy a space without the kernel matrix that it may cache."""
    if isinstance(space, FullKernelSpace) and isinstance(space.K, ComputedKernel):
        return replace(space, K=ComputedKernel(space.K.kernel, space.K.X))
    return space


# On ten sets (g50c, uspst, pcmac, COIL-20, six of the SSL book; 1500 points at most), 5 draws of
# 3 / 10 labels per class: mean error of g 27.8 / 21.5 %, LapERLSClassifier() 31.0 / 23.3; by grids
# chosen on the other nine sets 27.3 / 21.9. A second width changes nothing (27.9 / 21.5), 200
# eigenvectors gain 0.0 / 0.2 for twice the time, and k = 5, p = 2 alone has 31.1 / 23.4.
_LAMS = (1e2, 1e4)
_MUS = (1e3, 1e4)
_N_EIGENVECTORS = (25, "auto", 100)


@parameters
@document(LapERLSClassifier, LapRLSClassifierCV)
class LapERLSClassifierCV(WeightedClassifier[EmbeddedPathPrepared, PathSolution], EmbeddedPath):
    r"""Laplacian embedded regularised least squares classifier with built-in parameter selection.

    Evaluates every setting of a grid by the leave-one-out squared error of the virtual labels, and
    fits `LapERLSClassifier` with the selected one. The setting nearest to the defaults of
    `LapERLSClassifier` is preferred: another one must be better by more than 1.6 standard errors of
    the difference, which are large with few labels. The leave-one-out errors are exact: each is
    that of the fit to all other points, unlabelled ones included. They are computed from one
    elimination of the function for each width and C, and from systems of the size of the
    eigenvectors and of the labels.

    Parameters
    ----------
    {embedded_kernel}
    gammas : array-like of float or 'scale', or None, default=('scale',)
        Widths of the kernel to try; 'scale' is 1 / sum_j Var(x_j). None tries 'scale' and four
        times it. They hardly affect the virtual labels, by which settings are compared, and each
        takes as long as a fit.
    {degree}
    {coef0}
    Cs : array-like of float, default=(10.0,)
        Weights > 0 of the loss between f and g at every point to try.
    lams : array-like of float, default=(1e2, 1e4)
        Weights lambda > 0 of the squared error of g on labelled points to try, multiplied by the
        sample weights.
    mus : array-like of float, default=(1e3, 1e4)
        Weights >= 0 of the smoothness of g on the graph to try.
    n_eigenvectors : array-like of int or 'auto', default=(25, 'auto', 100)
        Numbers of eigenvectors to try, in whose span g is sought; each at most n. 'auto' is 50, or
        two per class if that is more.
    {graphs}
    {space}
    fit_intercept : bool, default=False
        Whether f has an unregularised bias.
    {class_weight}
    {class_prior}
    {unlabeled}
    {memory}
    {LapRLSClassifierCV.updatable}

    Attributes
    ----------
    {best_params_}
    {best_score_}
    {cv_results_}
    {classes_}
    {unlabeled_}
    {transduction_}
    {transduction_proba_ to left_out_proba_}
    {virtual_labels_}
    {alpha_}
    {coef_}
    {intercept_}
    {X_fit_}
    {basis_}
    {kernel_}
    eigenvalues_ : ndarray of shape (n_eigenvectors,)
        Eigenvalues of L, ascending.
    {objective_}
    optimality_ : ndarray of shape (n_columns,)
        Relative residual of the linear system of each column.
    n_iter_ : int
        Always 1, as the solvers are direct.
    solver_ : str
        'cholesky' (kernel matrix) or 'normal equations' (features).
    {status_}
    {affinity_}
    {labeled_}
    {class_prior_}
    {class_offsets_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LapERLSClassifier : Plain estimator with fixed parameters.
    LapRLSClassifierCV : Manifold regularisation, without virtual labels.

    Notes
    -----
    With few labels, most settings predict all left-out labels correctly and differ in the squared
    error only. If a class has only one label, nothing can be left out; the setting nearest to the
    defaults of `LapERLSClassifier` is used, with a warning.

    Sample and class weights are those of the complete fit, also in the errors. The offsets of a
    class prior are not included in the errors.

    Time is that of one fit for each width and C, one neighbour search and set of eigenpairs for
    each graph (shared between powers), and O(r^3) for each combination of mu, number of
    eigenvectors r, power and graph.

    Examples
    --------
    >>> from lapwing import LapERLSClassifierCV
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", "low", "?", "high", "?", "high"]
    >>> model = LapERLSClassifierCV(unlabeled="?").fit(X, y)
    >>> model.transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    >>> sorted(model.best_params_)
    ['C', 'gamma', 'graph', 'lam', 'mu', 'n_eigenvectors']
    """

    _plain = LapERLSClassifier

    _: KW_ONLY
    gammas: Any = ("scale",)
    Cs: Any = (10.0,)
    lams: Any = _LAMS
    mus: Any = _MUS
    n_eigenvectors: Any = _N_EIGENVECTORS
    space: SpaceRecipe | str | None = "auto"
    memory: Memory | str | None = None
