"""The page to label on: how soon new colours are there, and how few labels do."""
