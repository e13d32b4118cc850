"""Solvers of semi-supervised SVMs."""
