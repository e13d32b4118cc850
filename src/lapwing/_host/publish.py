"""Public classes go by their public names, in files and messages too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def publish(module: str, namespace: Mapping[str, Any], names: Sequence[str]) -> None:
    """Let what a public module exports say that it is of that module.

    Pickles and model files name a class by its ``__module__``. With the file that it happens to be
    written in, no file of lapwing could be moved without making them unreadable.

    Parameters
    ----------
    module : str
        Name of the public module.
    namespace : mapping
        Its globals.
    names : sequence of str
        Its ``__all__``.
    """
    for name in names:
        thing = namespace[name]
        if getattr(thing, "__module__", "").startswith("lapwing"):
            thing.__module__ = module
