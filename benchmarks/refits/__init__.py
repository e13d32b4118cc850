"""Repeated fits to the same points: their time, and that of functions that use them."""
