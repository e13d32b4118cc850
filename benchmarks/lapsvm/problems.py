"""Learning problems of the LapSVM paper, eight in number (Tables 1, 2 and 8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.lapsvm.protocol import Split, cross_validation_splits, official_splits
from benchmarks.shared.data import SETS, Data
from benchmarks.shared.kernels import gaussian


@dataclass(frozen=True)
class Problem:
    """Learning problem with the paper's kernel and graph.

    Attributes
    ----------
    name, title : str
        Name on the command line, and name in the paper.
    load : callable
        Returns the `Data`; raises `MissingArchiveError` if the archive is missing.
    kernel : mapping
        Arguments of `lapwing.kernels.make_kernel`.
    n_neighbors, power : int
        nn and p of Table 8.
    sizes : (int, int)
        Number of points in L and in V (Table 2).
    n_positive_from : int or None
        For the two-class version of a set with more classes: first class of the second group.
    dtype : str
        Precision of data and kernel.
    horizon : int
        Number of PCG iterations that Figures 5 to 14 show.
    macro : bool
        Report macro error rates (FACEMIT is one tenth faces).
    """

    name: str
    title: str
    load: Callable[[], Data]
    kernel: Mapping[str, Any]
    n_neighbors: int
    power: int
    sizes: tuple[int, int]
    n_positive_from: int | None = None
    dtype: str = "float64"
    horizon: int = 100
    macro: bool = False

    def targets(self, data: Data) -> NDArray[np.int64]:
        """Return the class codes of the learning problem."""
        if self.n_positive_from is None:
            return data.y
        return (data.y >= self.n_positive_from).astype(np.int64)

    def splits(self, data: Data, seed: int = 0, n_official: int = 3) -> Sequence[Split]:
        """Return the paper's subdivisions, 12 for sets without an official test part.

        With an official test part there are `n_official`, 3 in the paper; the first do not depend
        on this number.

        A two-class version has the subdivisions of its original classes: \\|T\\| of USPST(B) in
        Table 2 is only possible with folds stratified by digit, and the standard deviations of
        COIL20(B) only with every object among the labelled points (draws stratified by the two
        groups leave objects without a label, and double the deviations).
        """
        if data.is_test is None:
            return cross_validation_splits(data.y, self.sizes, seed=seed)
        return official_splits(data.y, data.is_test, self.sizes, n_repeats=n_official, seed=seed)


# Table 8 gives only the degree. Offset and scale are those of DeCoste and Schölkopf (2002), to
# which Section 6.3 refers: images of unit length and ((x'z + 1) / 2)^9, which is 1 on the diagonal.
DEGREE_NINE = {"kernel": "poly", "degree": 9, "gamma": 0.5, "coef0": 0.5}


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        Problem("g50c", "G50C", SETS["g50c"], gaussian(17.5), 50, 5, (50, 50), horizon=80),
        Problem(
            "coil20b", "COIL20(B)", SETS["coil20"], gaussian(0.6), 2, 1, (40, 40), 10, horizon=160
        ),
        Problem("pcmac", "PCMAC", SETS["pcmac"], gaussian(2.7), 50, 5, (50, 50), horizon=160),
        Problem(
            "uspstb", "USPST(B)", SETS["uspst"], gaussian(9.4), 10, 2, (50, 50), 5, horizon=160
        ),
        Problem("coil20", "COIL20", SETS["coil20"], gaussian(0.6), 2, 1, (40, 40), horizon=160),
        Problem("uspst", "USPST", SETS["uspst"], gaussian(9.4), 10, 2, (50, 50), horizon=160),
        Problem(
            "mnist3vs8", "MNIST3VS8", SETS["mnist3vs8"], DEGREE_NINE, 20, 3, (80, 80),
            dtype="float32", horizon=300,
        ),
        Problem(
            "facemit", "FACEMIT", SETS["faces"], gaussian(4.3), 6, 1, (2, 50),
            dtype="float32", horizon=100, macro=True,
        ),
    )
}  # fmt: skip
