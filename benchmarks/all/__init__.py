"""All benchmarks, in pieces."""
