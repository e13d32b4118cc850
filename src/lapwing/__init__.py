"""Learning from few labels and many unlabelled points.

Semi-supervised support vector machines for classification and regression, inside scikit-learn's
conventions: `LapSVC`, `LapRLSClassifier`, `LapRLSRegressor` and `LapSVR` by manifold
regularisation, `S3VC` by low-density separation, `LapERLSClassifier`, `LapERLSRegressor`, `LapESVC`
and `LapESVR` by embedded regression for many points, `AnchorGraphClassifier` and
`EigenfunctionClassifier` beside them. `FewLabelClassifier` tries the families and chooses. `report`
shows what a fit has found.
"""

import logging as _logging

from lapwing import estimators as _estimators
from lapwing._app.reporting import report
from lapwing._host.publish import publish as _publish
from lapwing._version import __version__
from lapwing.estimators import *  # noqa: F403 - a new estimator is named there only
from lapwing.graphs import AffinityGraph, AnchorGraph, KNNGraph, TransformerGraph
from lapwing.kernels import Kernel
from lapwing.model_selection.few_label import FewLabelClassifier
from lapwing.spaces import Landmarks, Linear

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
_publish(__name__, globals(), [name for name in __all__ if name != "__version__"])
