"""Learning from few labels and many unlabelled points.

Semi-supervised support vector machines for classification and regression, inside scikit-learn's
conventions: `LapSVC`, `LapRLSClassifier`, `LapRLSRegressor` and `LapSVR` by manifold
regularisation, `S3VC` by low-density separation, `LapERLSClassifier`, `LapERLSRegressor`, `LapESVC`
and `LapESVR` by embedded regression for many points, `BalancedGraphClassifier` by class volumes on
a graph, `AnchorGraphClassifier` and `EigenfunctionClassifier` beside them. `FewLabelClassifier`
tries the families and chooses. `report` shows what a fit has found.
"""

import logging as _logging
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from lapwing import estimators as _estimators
from lapwing._host.publish import publish as _publish
from lapwing._version import __version__
from lapwing.estimators import *  # noqa: F403 - a new estimator is named there only
from lapwing.graphs import AffinityGraph, AnchorGraph, KNNGraph, TransformerGraph
from lapwing.kernels import Kernel
from lapwing.model_selection.few_label import FewLabelClassifier
from lapwing.spaces import Landmarks, Linear

if _TYPE_CHECKING:
    from lapwing._app.reporting import report

__all__ = [
    "AffinityGraph",
    "AnchorGraph",
    "FewLabelClassifier",
    "KNNGraph",
    "Kernel",
    "Landmarks",
    "Linear",
    "TransformerGraph",
    "__version__",
    "report",
]
__all__ += _estimators.__all__

_logging.getLogger("lapwing").addHandler(_logging.NullHandler())
_publish(__name__, globals(), [n for n in __all__ if n not in ("__version__", "report")])


def __getattr__(name: str) -> _Any:
    """`report`, when it is first asked for: readers and pages are a seventh of the import."""
    if name != "report":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lapwing._app.reporting import report

    _publish(__name__, {"report": report}, ["report"])
    globals()["report"] = report
    return report


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
