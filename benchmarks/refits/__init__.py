"""Fits to the same points again: their time, and that of what rests on them."""
