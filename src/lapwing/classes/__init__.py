"""Class labels, decoding of scores, and class sizes."""
