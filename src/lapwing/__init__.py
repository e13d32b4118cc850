"""Learning from few labels and many unlabelled points.

Semi-supervised support vector machines for classification and regression, inside scikit-learn's
conventions: `LapSVC`, `LapRLSClassifier`, `LapRLSRegressor` and `LapSVR` by manifold
regularisation, `S3VC` by low-density separation, `LapERLSClassifier`, `LapERLSRegressor`, `LapESVC`
and `LapESVR` by embedded regression for many points, `BalancedGraphClassifier` by class volumes on
a graph, `AnchorGraphClassifier` and `EigenfunctionClassifier` beside them. `FewLabelClassifier`
and `FewLabelRegressor` try the families and choose. `TableEncoder` makes points of data frames.
`report` shows what a fit has found, and `label` opens a page to label on.
"""

import logging as _logging
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from lapwing import estimators as _estimators
from lapwing._host.modules import publish as _publish
from lapwing._version import __version__
from lapwing.estimators import *  # noqa: F403 - a new estimator is named there only
from lapwing.graphs import AffinityGraph, AnchorGraph, KNNGraph, TransformerGraph
from lapwing.kernels import Kernel
from lapwing.model_selection.few_label import FewLabelClassifier, FewLabelRegressor
from lapwing.model_selection.relevance_scaler import RelevanceScaler
from lapwing.spaces.recipes import Landmarks, Linear

if _TYPE_CHECKING:
    from lapwing._app.labelling import label
    from lapwing._app.reporting import report
    from lapwing.table_encoder import TableEncoder

__all__ = [
    "AffinityGraph",
    "AnchorGraph",
    "FewLabelClassifier",
    "FewLabelRegressor",
    "KNNGraph",
    "Kernel",
    "Landmarks",
    "Linear",
    "RelevanceScaler",
    "TableEncoder",
    "TransformerGraph",
    "__version__",
    "label",
    "report",
]
__all__ += _estimators.__all__

# Modules of names that are imported late: readers, pages and servers take a seventh of the import.
_LATE = {
    "TableEncoder": "lapwing.table_encoder",
    "label": "lapwing._app.labelling",
    "report": "lapwing._app.reporting",
}

_MODULES = ("dask", "datasets", "model_selection", "models", "onnx_export", "plotting")

_logging.getLogger("lapwing").addHandler(_logging.NullHandler())
_publish(__name__, globals(), [n for n in __all__ if n not in ("__version__", *_LATE)])


def __getattr__(name: str) -> _Any:
    """Import a submodule or a name in `_LATE` at its first use."""
    if name in _MODULES:
        return _import_module(f"{__name__}.{name}")
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(_import_module(_LATE[name]), name)
    _publish(__name__, {name: found}, [name])
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
