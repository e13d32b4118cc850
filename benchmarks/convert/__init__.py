"""Conversion of the papers' public files to the archives of the benchmarks."""
