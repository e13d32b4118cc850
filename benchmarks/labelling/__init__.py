"""Labels that come later: which rows to ask for, and what an update costs."""
