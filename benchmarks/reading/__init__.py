"""Reading large tables."""
