"""Estimators: thin scikit-learn faces of the numerics."""

from lapwing.estimators.anchor import AnchorGraphClassifier
from lapwing.estimators.balanced import BalancedGraphClassifier
from lapwing.estimators.eigenfunction import EigenfunctionClassifier
from lapwing.estimators.laperls import LapERLSClassifier, LapERLSRegressor
from lapwing.estimators.laperls_cv import LapERLSClassifierCV
from lapwing.estimators.lapesvr import LapESVC, LapESVR
from lapwing.estimators.laprls import LapRLSClassifier, LapRLSRegressor
from lapwing.estimators.lapsvm import LapSVC, LapSVR
from lapwing.estimators.manifold_cv import LapRLSClassifierCV, LapRLSRegressorCV, LapSVCCV
from lapwing.estimators.s3vm import S3VC

__all__ = [
    "S3VC",
    "AnchorGraphClassifier",
    "BalancedGraphClassifier",
    "EigenfunctionClassifier",
    "LapERLSClassifier",
    "LapERLSClassifierCV",
    "LapERLSRegressor",
    "LapESVC",
    "LapESVR",
    "LapRLSClassifier",
    "LapRLSClassifierCV",
    "LapRLSRegressor",
    "LapRLSRegressorCV",
    "LapSVC",
    "LapSVCCV",
    "LapSVR",
]
