"""Labels added after a fit: selection of rows, and time of updates."""
