"""All benchmarks, piece by piece."""
