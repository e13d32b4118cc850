"""Choosing a method with few labels: figures of `compare`, and where its constants come from."""
