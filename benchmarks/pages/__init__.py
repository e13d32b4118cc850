"""Pages of figures, made from results that are kept."""
