"""Regression with few targets: supervised and semi-supervised methods."""
