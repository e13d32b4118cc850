"""Comparison of lapwing with scikit-learn and GraphLearning, in one run."""
