"""Tables in files: reading, checking, writing."""
