"""lapwing beside scikit-learn and GraphLearning, in one run."""
