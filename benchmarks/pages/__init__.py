"""Pages with results, generated from stored results."""
