"""Classification of texts with few labels by linear, graph and self-training methods."""
