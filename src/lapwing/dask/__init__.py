"""Estimators for points on a Dask cluster.

Dask arrays or frames in, lazy arrays out; `to_local` gives the estimator without Dask. Needs the
extra ``dask``.
"""

from lapwing._host.modules import publish as _publish
from lapwing.dask._estimators import (
    DaskAnchorGraphClassifier,
    DaskEigenfunctionClassifier,
    DaskLapERLSClassifier,
    DaskLapERLSRegressor,
    DaskS3VC,
)

__all__ = [
    "DaskAnchorGraphClassifier",
    "DaskEigenfunctionClassifier",
    "DaskLapERLSClassifier",
    "DaskLapERLSRegressor",
    "DaskS3VC",
]

_publish(__name__, globals(), __all__)
