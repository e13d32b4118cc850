"""Solvers of graph methods without a kernel."""
