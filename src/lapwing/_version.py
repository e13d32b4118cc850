"""The version, where the parts that write it into files may know it."""

__all__ = ["__version__"]

__version__ = "0.1.0"
