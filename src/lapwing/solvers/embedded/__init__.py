"""Solvers of Laplacian embedded regression."""
