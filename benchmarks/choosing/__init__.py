"""Choice of a method with few labels: results of `compare`, and the source of its constants."""
