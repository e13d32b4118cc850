"""Estimators: thin scikit-learn faces of the numerics."""

from lapwing.estimators.lapsvm import LapRLSClassifier, LapRLSRegressor, LapSVC, LapSVR

__all__ = ["LapRLSClassifier", "LapRLSRegressor", "LapSVC", "LapSVR"]
