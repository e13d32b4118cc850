"""Paths of LapERLS: C, lambda, mu, eigenvectors, kernel widths and graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lapwing._arrays import Array
from lapwing.estimators import diagnostics
from lapwing.estimators.choice import LONG, SPEED, eigenpair_slack, eigenvectors_wanted
from lapwing.estimators.embedded import EmbeddedEstimator
from lapwing.estimators.path import PathEstimator, PathSolution, Scored
from lapwing.estimators.path_parts import Width, nearest, width_of
from lapwing.estimators.prepared import Prepared, Solution, Targets, WantedGraph
from lapwing.estimators.progress import Stages, Tick
from lapwing.graphs import Eigenpairs, GraphRecipe, Laplacian, smallest_eigenpairs
from lapwing.problem import Problem
from lapwing.solvers.embedded.path import SpectralPath
from lapwing.solvers.ridge import Observations
from lapwing.spaces import FullKernelSpace, Space
from lapwing.spaces.full import ComputedKernel


class Spectrum(NamedTuple):
    """A recipe with what it makes of the points."""

    recipe: GraphRecipe
    laplacian: Laplacian
    pairs: Eigenpairs  # those of powers of one Laplacian are the same object


class EmbeddedPath(PathEstimator):
    """A grid over C, lambda, mu, numbers of eigenvectors, widths and graphs."""

    _plain: ClassVar[type[EmbeddedEstimator]]
    _n_stages = 6
    _kept_values = "virtual_labels_"
    _tried = frozenset({"n_eigenvectors"})

    def _check_wishes(self) -> None:
        self._estimator()._check_wishes()

    def _prepare(
        self, targets: Targets, problem: Problem, graph: WantedGraph, progress: Stages
    ) -> Prepared:
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
            widths = self._with_usual(self._widths(problem), problem)
        self._forecast(widths, tuple(spectra))
        return Prepared(targets, problem, tuple(spectra), widths)

    def _eigenpairs(self, laplacian: Laplacian, problem: Problem, tick: Tick) -> Eigenpairs:
        most = max(self._numbers(problem.targets.shape[1], laplacian.n_points))
        return smallest_eigenpairs(
            laplacian,
            most,
            slack=eigenpair_slack(laplacian.n_points),
            memory=self.memory,
            callback=lambda: tick(lambda: {}),
        )

    def _numbers(self, n_columns: int, most: int) -> list[int]:
        """Numbers of eigenvectors, each once."""
        usual = eigenvectors_wanted(n_columns)
        numbers = (usual if isinstance(r, str) else int(r) for r in self.n_eigenvectors)
        return list(dict.fromkeys(min(r, most) for r in numbers))

    def _widths(self, problem: Problem) -> tuple[Width, ...]:
        """The spaces."""
        if self._estimator()._linear():
            return (Width({}, None, self._estimator()._make_space(problem)),)
        found = []
        for kernel in self._kernels(problem):
            assert kernel is not None
            params = {"gamma": kernel.gamma} if kernel.has_width else {}
            space = self._estimator(**params)._make_space(problem)
            found.append(Width(params, kernel, space))
        return tuple(found)

    def _forecast(self, widths: tuple[Width, ...], spectra: tuple[Spectrum, ...]) -> None:
        """Say before a long path begins how long it will be, and what is faster."""
        n, m = widths[0].space.n_points, widths[0].space.n_coef
        n_factors = len(widths) * len(self.Cs)
        seconds = n_factors * (float(n) * min(n, m) ** 2 / 3) / SPEED
        if seconds > LONG:
            diagnostics.warn_long_path(type(self).__name__, min(n, m), n_factors, seconds)

    def _along(self, prepared: Prepared, wanted: Array) -> Iterator[Scored]:
        for width, C in product(prepared.space, map(float, self.Cs)):
            begun = perf_counter()
            found: list[tuple[Mapping[str, Any], Array]] = []
            # With several widths only one matrix is held at a time.
            space = width.space if len(prepared.space) == 1 else _again(width.space)
            for spectrum, path in self._paths(prepared, space, C, wanted):
                params = {"C": C, **width.params, "graph": spectrum.recipe}
                found += self._scores(path, spectrum, params)
            seconds = (perf_counter() - begun) / len(found)
            yield from (Scored(params, left_out, seconds) for params, left_out in found)

    def _paths(
        self, prepared: Prepared, space: Space, C: float, wanted: Array
    ) -> Iterator[tuple[Spectrum, SpectralPath]]:
        """The path of every graph, by one elimination on the eigenvectors of all graphs."""
        problem = prepared.problem
        distinct = list({id(s.pairs): s.pairs for s in prepared.laplacian}.values())
        every = replace(
            distinct[0],
            values=np.concatenate([pairs.values for pairs in distinct]),
            vectors=np.hstack([pairs.vectors for pairs in distinct]),
        )
        laplacian = prepared.laplacian[0].laplacian
        one = replace(prepared, laplacian=laplacian, space=space, eigenpairs=every)
        plain = self._estimator(C=C)
        curvature = plain._form(plain._posed(one))[1].system.eliminated.curvature
        ends = np.cumsum([len(pairs.values) for pairs in distinct])
        place = {
            id(pairs): slice(end - len(pairs.values), end)
            for pairs, end in zip(distinct, ends.tolist(), strict=True)
        }
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
    ) -> list[tuple[Mapping[str, Any], Array]]:
        lams = np.asarray(self.lams, dtype=np.float64)
        n_columns, most = path.observations.targets.shape[1], len(spectrum.pairs.values)
        found: list[tuple[Mapping[str, Any], Array]] = []
        for r, mu in product(self._numbers(n_columns, most), map(float, self.mus)):
            left_out = path.left_out(r, spectrum.laplacian.power, mu, lams)
            for lam, values in zip(lams.tolist(), left_out, strict=True):
                found.append(({"lam": lam, "mu": mu, "n_eigenvectors": r, **shared}, values))
        return found

    def _usual(self, prepared: Prepared) -> Mapping[str, Any]:
        plain = self._plain().get_params(deep=False)
        spectrum = prepared.laplacian[0]
        n_columns, most = prepared.problem.targets.shape[1], len(spectrum.pairs.values)
        numbers = self._numbers(n_columns, most)
        return {
            "lam": nearest(self.lams, plain["lam"]),
            "mu": nearest(self.mus, plain["mu"]),
            "n_eigenvectors": int(nearest(numbers, eigenvectors_wanted(n_columns))),
            "C": nearest(self.Cs, plain["C"]),
            **self._usual_width(prepared).params,
            "graph": spectrum.recipe,
        }

    def _of_setting(self, prepared: Prepared, params: Mapping[str, Any]) -> Prepared:
        spectrum = next(s for s in prepared.laplacian if s.recipe is params["graph"])
        r = params["n_eigenvectors"]
        pairs = spectrum.pairs
        fewer = replace(pairs, values=pairs.values[:r], vectors=pairs.vectors[:, :r])
        return replace(
            prepared,
            laplacian=spectrum.laplacian,
            space=width_of(prepared, params).space,
            eigenpairs=fewer,
        )

    def _diagnose(self, prepared: Prepared, solution: Solution) -> None:
        assert isinstance(solution, PathSolution)
        pairs = solution.prepared.eigenpairs
        assert pairs is not None
        (n, k), n_columns = pairs.vectors.shape, prepared.problem.targets.shape[1]
        if k < min(n_columns, n):
            diagnostics.warn_fewer_eigenvectors_than_classes(k, n_columns)
        if k < pairs.n_components:
            diagnostics.warn_few_eigenvectors(pairs.n_components, k)
        super()._diagnose(prepared, solution)


def _again(space: Space) -> Space:
    """The same space without the kernel matrix that it may come to hold."""
    if isinstance(space, FullKernelSpace) and isinstance(space.K, ComputedKernel):
        return replace(space, K=ComputedKernel(space.K.kernel, space.K.X))
    return space
