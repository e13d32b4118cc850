"""Estimators: parameters, attributes and documentation in scikit-learn's conventions."""

from lapwing.estimators.balanced import BalancedGraphClassifier
from lapwing.estimators.baselines import AnchorGraphClassifier, EigenfunctionClassifier
from lapwing.estimators.laperls import LapERLSClassifier, LapERLSRegressor, LapESVC, LapESVR
from lapwing.estimators.laperls_cv import LapERLSClassifierCV
from lapwing.estimators.lapsvm import LapRLSClassifier, LapRLSRegressor, LapSVC, LapSVR
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
