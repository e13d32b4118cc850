"""Points larger than memory, read in blocks of rows."""
