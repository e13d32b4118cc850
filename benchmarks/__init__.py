"""Benchmarks that repeat the experiments of the source papers: ``python -m benchmarks NAME``."""
