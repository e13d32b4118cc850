"""The experiments of the LapSVM paper."""
