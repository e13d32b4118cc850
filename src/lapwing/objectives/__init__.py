"""Objectives: a loss, norms and a graph term, for values of functions on points."""
