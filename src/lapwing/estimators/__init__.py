"""Estimators: thin scikit-learn faces of the numerics."""

from lapwing.estimators.laprls import LapRLSClassifier, LapRLSRegressor
from lapwing.estimators.lapsvm import LapSVC, LapSVR

__all__ = ["LapRLSClassifier", "LapRLSRegressor", "LapSVC", "LapSVR"]
