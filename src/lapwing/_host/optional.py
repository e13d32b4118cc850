"""Late import of optional dependencies."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional dependency, or say which extra brings it.

    Parameters
    ----------
    module : str
        Name of the module to import.
    extra : str
        The extra of lapwing that installs it.
    purpose : str
        What needs it, as the user wrote it; opens the error message.

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
