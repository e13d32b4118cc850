"""Pointwise losses on labelled and unlabelled scores."""
