"""The experiments of the embedded-regression paper."""
