"""Labelling page: time to new colours, and number of labels needed."""
