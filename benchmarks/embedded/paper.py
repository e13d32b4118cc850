"""Results in the embedded-regression paper: Tables I to IV."""

from __future__ import annotations

from benchmarks.shared.stats import Stat

# Table II: errors (%) on the unlabelled points of twelve splits with 10 labels.
SMALL_NAMES = ("g241c", "g241d", "digit1", "usps", "coil2", "text")
SMALL: dict[str, dict[str, Stat]] = {
    method: {name: Stat(*row) for name, row in zip(SMALL_NAMES, rows, strict=True)}
    for method, rows in {
        "svm_linear": [
            (45.41, 4.37), (43.55, 5.17), (22.98, 5.16), (20.09, 0.24), (43.57, 5.38), (44.90, 6.16)
        ],
        "svm": [
            (47.02, 4.53), (45.55, 5.21), (25.01, 7.87), (19.26, 1.82), (43.03, 3.79), (45.37, 6.32)
        ],
        "laprls": [
            (42.29, 2.89), (41.95, 3.25), (5.64, 2.49), (14.75, 2.52), (31.20, 2.98), (35.10, 8.40)
        ],
        "lapsvr": [
            (47.02, 4.53), (45.55, 5.21), (21.00, 10.55), (16.10, 2.52), (41.23, 5.21),
            (35.56, 8.23),
        ],
        "plapsvm": [
            (47.13, 4.55), (45.77, 5.23), (21.21, 13.33), (18.47, 1.59), (40.25, 5.26),
            (39.28, 10.06),
        ],
        "eigenfunction": [
            (40.88, 3.02), (38.79, 3.95), (26.64, 3.83), (19.59, 2.66), (42.18, 4.27), (46.31, 2.19)
        ],
        "laperls": [
            (39.49, 8.58), (41.57, 3.23), (6.45, 4.60), (15.87, 3.89), (30.93, 8.04), (32.88, 5.74)
        ],
        "lapesvr": [
            (33.86, 12.69), (41.26, 3.40), (7.19, 3.59), (18.31, 4.58), (35.10, 5.91), (32.81, 7.09)
        ],
    }.items()
}  # fmt: skip

# Table III: errors (%) on the unlabelled points, ten draws.
TASKS = ("facemit", "mnist1", "mnist2", "usps")
LARGE: dict[str, dict[str, Stat]] = {
    method: {name: Stat(*row) for name, row in zip(TASKS, rows, strict=False)}
    for method, rows in {
        "svm_linear": [(16.26, 7.39), (25.71, 1.60), (18.56, 0.94), (27.98, 4.89)],
        "svm": [(15.35, 4.47), (19.08, 1.70), (14.13, 1.13), (17.56, 3.04)],
        "laprls_linear": [(17.72, 5.86), (26.45, 1.74), (19.12, 1.37), (41.13, 3.64)],
        "eigenfunction": [(17.31, 5.63), (25.53, 1.46), (22.90, 1.15), (26.44, 3.03)],
        "anchor500": [(13.24, 4.19), (12.11, 0.52), (11.52, 1.00), (5.77, 5.77)],
        "anchor1000": [(10.66, 4.33), (11.49, 0.93), (10.70, 1.04), (4.54, 5.20)],
        "anchor2000": [(9.10, 3.48), (11.23, 0.58), (9.76, 1.03), (4.07, 5.28)],
        "anchor5000": [(10.35, 4.53), (9.37, 1.15), (7.50, 1.10), (3.77, 4.72)],
        "plapsvm": [(3.63, 0.85)],
        "lapesvr": [(2.22, 0.18), (5.43, 0.83), (6.00, 1.44), (0.41, 0.61)],
    }.items()
}

# Table IV: errors (%) on 266,079 points of extended USPS, and seconds a point.
OUTSIDE: dict[str, Stat] = {
    "svm_linear": Stat(28.40, 4.70),
    "svm": Stat(18.67, 3.12),
    "anchor500": Stat(6.86, 6.63),
    "anchor1000": Stat(5.26, 5.98),
    "anchor2000": Stat(4.53, 6.24),
    "anchor5000": Stat(4.45, 5.89),
    "lapesvr": Stat(0.31, 0.64),
}
OUTSIDE_SECONDS: dict[str, float] = {
    "svm_linear": 1.45e-5,
    "svm": 1.50e-5,
    "anchor500": 1.16e-2,
    "anchor1000": 1.69e-2,
    "anchor2000": 2.62e-2,
    "anchor5000": 5.92e-2,
    "lapesvr": 2.45e-2,
}

TITLES: dict[str, str] = {
    "svm_linear": "SVM, linear",
    "svm": "SVM, rbf",
    "laprls": "LapRLS",
    "laprls_linear": "LapRLS, linear",
    "lapsvr": "LapSVR",
    "plapsvm": "PLapSVM",
    "eigenfunction": "Eigenfunction",
    "anchor500": "AnchorGraph, 500",
    "anchor1000": "AnchorGraph, 1000",
    "anchor2000": "AnchorGraph, 2000",
    "anchor5000": "AnchorGraph, 5000",
    "laperls": "LapERLS",
    "lapesvr": "LapESVR",
}
