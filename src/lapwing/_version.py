"""Version of the package, importable by modules that write it into files."""

__version__ = "0.1.0"
