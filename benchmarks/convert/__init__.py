"""From the papers' public files to the archives that the benchmarks read."""
