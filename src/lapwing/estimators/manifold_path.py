"""Paths of manifold regularisation: gamma_A, gamma_I, kernel widths and graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing.estimators import diagnostics
from lapwing.estimators.choice import LONG, SPEED
from lapwing.estimators.path import PathEstimator, Scored
from lapwing.estimators.path_parts import Graphed, Width, nearest, width_of
from lapwing.estimators.prepared import Prepared, Targets, WantedGraph
from lapwing.estimators.progress import Stages
from lapwing.kernels import Kernel
from lapwing.problem import Problem
from lapwing.solvers.manifold.path import (
    DeformedPath,
    design_of,
    n_ratios,
    sees_constants,
)
from lapwing.solvers.ridge import Observations
from lapwing.spaces import FullKernelSpace, LinearSpace


class ManifoldPath(PathEstimator):
    """A grid over gamma_A, gamma_I, widths and graphs."""

    _n_stages = 3

    def _wants_graph(self) -> bool:
        return bool(np.max(self.gamma_Is) > 0)

    def _check_wishes(self) -> None:
        self._estimator()._check_wishes()

    def _prepare(
        self, targets: Targets, problem: Problem, graph: WantedGraph, progress: Stages
    ) -> Prepared:
        kernels = self._kernels(problem)
        if kernels[0] is not None:
            kernels[0].forecast(problem.X)
        with progress.stage("graph"):
            graphs = self._laplacians(problem) if graph.wanted else None
        widths = self._with_usual(self._widths(kernels, problem), problem)
        self._forecast(widths, graphs)
        return Prepared(targets, problem, graphs, widths)

    def _forecast(self, widths: tuple[Width, ...], graphs: tuple[Graphed, ...] | None) -> None:
        """Say before a long path begins how long it will be, and what is faster."""
        smoothing = np.array([gamma_I for gamma_I in self.gamma_Is if gamma_I > 0])
        ratios = n_ratios(np.asarray(self.gamma_As, dtype=np.float64), smoothing)
        n_factors = len(widths) * (1 + len(graphs or ()) * ratios)
        size = min(widths[0].space.n_points, widths[0].space.n_coef)
        seconds = n_factors * float(size) ** 3 / 3 / SPEED
        if seconds > LONG:
            diagnostics.warn_long_path(type(self).__name__, size, n_factors, seconds)

    def _widths(self, kernels: list[Kernel | None], problem: Problem) -> tuple[Width, ...]:
        """The spaces; matrices are held only where there is one."""
        widths = []
        for kernel in kernels:
            if kernel is None:
                diagnostics.check_linear_scale(problem.X)
                widths.append(Width({}, None, LinearSpace(problem.X)))
                continue
            params = {"gamma": kernel.gamma} if kernel.has_width else {}
            space = FullKernelSpace.computed(kernel, problem.X, problem.rows)
            width = Width(params, kernel, space)
            widths.append(width if len(kernels) > 1 else self._held(width))
        return tuple(widths)

    def _held(self, width: Width) -> Width:
        """With its matrix in memory, checked if it may be none of a kernel."""
        space = width.space.stored()
        if space is width.space:
            return width
        assert width.kernel is not None
        assert isinstance(space, FullKernelSpace)
        if not width.kernel.surely_positive_definite:
            diagnostics.check_kernel_matrix(space.K, f"The matrix of kernel={self.kernel!r}")
        return width._replace(space=space)

    def _along(self, prepared: Prepared, wanted: Array) -> Iterator[Scored]:
        for width in prepared.space:
            begun = perf_counter()
            width = self._held(width)
            F = design_of(width.space)
            found: list[tuple[Mapping[str, Any], Array]] = []
            if 0 in self.gamma_Is:
                path = DeformedPath.without_graph(F, fit_intercept=bool(self.fit_intercept))
                params = {**width.params, **_first(prepared)}
                found += self._scores(path, prepared, wanted, [0.0], params)
            smoothing = [gamma_I for gamma_I in self.gamma_Is if gamma_I > 0]
            for graph, path in self._paths(F, prepared, width):
                params = {**width.params, "graph": graph.recipe}
                found += self._scores(path, prepared, wanted, smoothing, params)
            seconds = (perf_counter() - begun) / len(found)
            yield from (Scored(params, left_out, seconds) for params, left_out in found)

    def _paths(
        self, F: Array, prepared: Prepared, width: Width
    ) -> Iterator[tuple[Graphed, DeformedPath]]:
        """The path of every graph; powers of one Laplacian go on from each other."""
        graphs: dict[int, list[Graphed]] = {}
        for graph in prepared.laplacian or ():
            graphs.setdefault(id(graph.laplacian.affinity), []).append(graph)
        plain = self._estimator(gamma_I=1.0)
        for of_one in graphs.values():
            seen = {}
            for graph in of_one:
                one = replace(prepared, laplacian=graph.laplacian, space=width.space)
                seen[graph.laplacian.power] = sees_constants(plain._objective(one))
            laplacian = replace(of_one[0].laplacian, power=1)
            paths = DeformedPath.of_powers(
                F, laplacian.apply, seen, fit_intercept=bool(self.fit_intercept)
            )
            for graph in of_one:
                yield graph, paths[graph.laplacian.power]

    def _scores(
        self,
        path: DeformedPath,
        prepared: Prepared,
        wanted: Array,
        gamma_Is: list[float],
        params: Mapping[str, Any],
    ) -> list[tuple[Mapping[str, Any], Array]]:
        problem = prepared.problem
        gamma_As = np.asarray(self.gamma_As, dtype=np.float64)
        left_out = path.left_out(
            gamma_As,
            np.asarray(gamma_Is, dtype=np.float64),
            Observations(problem.index, problem.targets, problem.weights, wanted),
            self._estimator()._loss(),
            max_iter=self.max_iter,
            tol=self.tol,
        )
        return [
            (
                {
                    "gamma_A": float(gamma_A),
                    "gamma_I": float(gamma_Is[j]),
                    **params,
                },
                left_out[i, j],
            )
            for (i, gamma_A), j in product(enumerate(gamma_As), range(len(gamma_Is)))
        ]

    def _usual(self, prepared: Prepared) -> Mapping[str, Any]:
        plain = self._plain().get_params(deep=False)
        return {
            "gamma_A": nearest(self.gamma_As, plain["gamma_A"]),
            "gamma_I": nearest(self.gamma_Is, plain["gamma_I"]),
            **self._usual_width(prepared).params,
            **_first(prepared),
        }

    def _of_setting(self, prepared: Prepared, params: Mapping[str, Any]) -> Prepared:
        width = width_of(prepared, params)
        laplacian = None
        if params["gamma_I"] > 0:
            laplacian = next(
                graph.laplacian for graph in prepared.laplacian if graph.recipe is params["graph"]
            )
        space = self._held(width).space
        return replace(prepared, laplacian=laplacian, space=space)


def _first(prepared: Prepared) -> dict[str, Any]:
    """The first graph, if there is any."""
    return {"graph": prepared.laplacian[0].recipe} if prepared.laplacian else {}
