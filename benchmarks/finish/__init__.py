"""Stopping rule of the labelling page, and whether it is correct."""
