"""Settings of all tests: determinism, and the papers' archives if there are any."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# Before anything imports pyplot: tests draw to files and never open a window.
os.environ["MPLBACKEND"] = "Agg"

# A run that fails must fail again: the same examples everywhere, no clock, no memory of old runs.
# `make test-all` takes the thorough profile (--hypothesis-profile).
QUICK = {"derandomize": True, "deadline": None, "database": None}
settings.register_profile("lapwing", max_examples=20, **QUICK)
settings.register_profile("thorough", max_examples=100, **QUICK)
settings.load_profile("lapwing")

DATA_HOME_VARIABLE = "LAPWING_DATA_HOME"


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder of the papers' archives; the test skips when there is none."""
    value = os.environ.get(DATA_HOME_VARIABLE)
    if not value:
        pytest.skip(f"{DATA_HOME_VARIABLE} is not set: the papers' data archives are not at hand")
    folder = Path(value)
    # Set but wrong is a mistake of the caller, which a skip would hide.
    assert folder.is_dir(), f"{DATA_HOME_VARIABLE}={value} is not a folder"
    return folder


@pytest.fixture(scope="session")
def archive(data_home: Path) -> Callable[[str], Path]:
    """A function from an archive's name ("g50c") to its path; the test skips when it is missing."""

    def find(name: str) -> Path:
        path = data_home / f"{name}.npz"
        if not path.is_file():
            pytest.skip(f"{DATA_HOME_VARIABLE} holds no {path.name}")
        return path

    return find
