"""The version, where the parts that write it into files may know it."""

__version__ = "0.1.0"
