"""Classes: labels in, scores to classes, class sizes."""
