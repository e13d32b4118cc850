"""Fits to points on disk."""
