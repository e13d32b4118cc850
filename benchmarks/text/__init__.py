"""Texts with few labels: linear, graph and self-training methods on words and pairs of words."""
