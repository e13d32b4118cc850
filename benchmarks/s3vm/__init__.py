"""Experiments of the continuation and QN-S3VM papers: ``python -m benchmarks s3vm``."""
