"""Instructions to get the data, for users who run a benchmark without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from benchmarks.shared.archives import (
    HOME_VARIABLE,
    DataError,
    MissingArchiveError,
    data_folder,
)
from benchmarks.shared.catalogue import ARCHIVES, Archive
from benchmarks.shared.output import say

T = TypeVar("T")

STEPS = f"""\
The papers' data are not part of lapwing. To get them:
  1. Download the files that are named below.
  2. Convert them:      python -m benchmarks convert FILES --output FOLDER
                        (FILES may be folders; unpack .tar.gz and .zip files first)
  3. Name the folder:   export {HOME_VARIABLE}=FOLDER
"""


def how_to_get(archives: Iterable[Archive]) -> str:
    """Return the steps, and the files of each archive by publication and page."""
    places: dict[tuple[str, str], list[Archive]] = {}
    for archive in archives:
        places.setdefault((archive.reference, archive.downloads[0].page), []).append(archive)
    entries = (_entry(*place, members) for place, members in places.items())
    return "\n".join([STEPS, *entries])


def how_to_get_all() -> str:
    """Return the instructions for all archives."""
    return how_to_get(ARCHIVES)


def _entry(reference: str, page: str, archives: Iterable[Archive]) -> str:
    lines = [reference, f"  {page}"]
    for archive in archives:
        first, *others = archive.downloads
        # Separated by blanks, as names of the book contain commas.
        lines += [f"    {archive.title}", f"      {archive.file} from {'  '.join(first.files)}"]
        lines += [f"      or from {'  '.join(other.files)} ({other.page})" for other in others]
        lines += [f"      Terms: {archive.terms}"] if archive.terms else []
    return "\n".join(lines) + "\n"


class Datasets:
    """Data of a run, loaded on demand, with a record of missing archives."""

    def __init__(self) -> None:
        data_folder()  # an invalid folder is reported once, not for each set
        self._reported: set[str] = set()
        self._missing: dict[str, Archive] = {}

    def load(self, title: str, load: Callable[[], T]) -> T | None:
        """Return the result of `load`; None if it fails, which is reported once."""
        try:
            return load()
        except DataError as error:
            # A run of hours must not fail because of one file.
            message = f"{title}: skipped: {error}"
            if message not in self._reported:
                say(message)
            self._reported.add(message)
            if isinstance(error, MissingArchiveError):
                # Several problems may use the same archive.
                self._missing[error.archive.file] = error.archive
            return None

    def available(self, sets: Mapping[str, Callable[[], T]]) -> Iterator[tuple[str, T]]:
        """Iterate over the sets that can be loaded, with their data."""
        for name, load in sets.items():
            data = self.load(name, load)
            if data is not None:
                yield name, data

    def report_missing(self) -> None:
        """Print how to get the missing archives."""
        if self._missing:
            say("\n" + how_to_get(self._missing.values()))
