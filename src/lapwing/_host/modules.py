"""Late import of optional dependencies, and publication of public names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional dependency; the error names its extra.

    Parameters
    ----------
    module : str
        Name of the module to import.
    extra : str
        The extra of lapwing that installs it.
    purpose : str
        Feature that needs it, the subject of the message.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    ImportError
        If the module is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs {module.split('.')[0]!r}, which is not installed. Run "
            f"pip install 'lapwing-learn[{extra}]', or pip install '.[{extra}]' in the folder of "
            "the repository."
        ) from error


def publish(module: str, namespace: Mapping[str, Any], names: Sequence[str]) -> None:
    """Set ``__module__`` of exported names to the public module.

    Pickles and model files identify classes by ``__module__``, so that private modules can move
    without making them unreadable.

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
