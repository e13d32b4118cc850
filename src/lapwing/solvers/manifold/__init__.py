"""Solvers of manifold regularisation."""
