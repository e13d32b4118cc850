"""Calibration of probabilities with few labels."""
