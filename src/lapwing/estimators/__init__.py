"""Estimators: thin scikit-learn faces of the numerics."""

from lapwing.estimators.laprls import LapRLSClassifier, LapRLSRegressor
from lapwing.estimators.lapsvm import LapSVC, LapSVR
from lapwing.estimators.s3vm import S3VC

__all__ = ["S3VC", "LapRLSClassifier", "LapRLSRegressor", "LapSVC", "LapSVR"]
