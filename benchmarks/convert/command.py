"""Convert the papers' public files to the archives of the benchmarks.

Files are identified by name, and folders are searched. Each archive with all files present is
checked and written to the output folder.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from benchmarks.convert.builders import BUILDERS
from benchmarks.convert.formats import COMPRESSED
from benchmarks.shared.archives import (
    HOME_VARIABLE,
    DataError,
    check_archive,
)
from benchmarks.shared.catalogue import ARCHIVES, Archive, Download
from benchmarks.shared.guide import how_to_get_all
from benchmarks.shared.output import say

PACKED = (".tar", ".tgz", ".tar.gz", ".tar.bz2", ".zip")


@dataclass(frozen=True)
class Match:
    """Files found for a download.

    Attributes
    ----------
    archive : Archive
    download : Download
    files : sequence of sequences of Path
        Files for each name of the download; empty if there are none.
    """

    archive: Archive
    download: Download
    files: Sequence[Sequence[Path]]

    @property
    def missing(self) -> list[str]:
        """Names without a file."""
        pairs = zip(self.download.files, self.files, strict=True)
        return [name for name, paths in pairs if not paths]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks convert``."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = how_to_get_all()
    parser.add_argument(
        "sources",
        nargs="+",
        type=Path,
        metavar="SOURCE",
        help="downloaded files, or folders with them",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=None,
        metavar="FOLDER",
        help=f"folder of the archives (default: the folder in {HOME_VARIABLE})",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write all possible archives; return the exit status, 1 if there were none or errors."""
    folder = output_folder(arguments.output)
    paths = list_files(arguments.sources)
    matches = [match for archive in ARCHIVES if (match := best_match(archive, paths))]
    if not matches:
        packed = [path.name for path in paths if path.name.lower().endswith(PACKED)]
        hint = f" Unpack {', '.join(packed)} first." if packed else ""
        raise DataError(
            f"None of the {len(paths)} files has a name that is known.{hint} If a file of the list "
            f"below is called otherwise, give it that name.\n\n{how_to_get_all()}"
        )
    done = [convert(match, folder) for match in matches]
    if any(done) and os.environ.get(HOME_VARIABLE) != str(folder):
        say(f"Now name the folder: export {HOME_VARIABLE}={folder}")
    return 0 if all(done) else 1


def output_folder(chosen: Path | None) -> Path:
    """Return the output folder, and create it if necessary."""
    named = os.environ.get(HOME_VARIABLE)
    if chosen is None and not named:
        raise DataError(
            f"Name the folder for the archives: --output FOLDER, or {HOME_VARIABLE} in the "
            "environment."
        )
    folder = (Path(str(named)) if chosen is None else chosen).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be made a folder for the archives: {error}.") from error
    return folder


def list_files(sources: Sequence[Path]) -> list[Path]:
    """List the files, and those in folders, without duplicates."""
    found: dict[Path, None] = {}
    for source in sources:
        if not source.exists():
            raise DataError(f"{source} does not exist; name files or folders that you downloaded.")
        inside = sorted(source.rglob("*")) if source.is_dir() else [source]
        found |= dict.fromkeys(path.absolute() for path in inside if path.is_file())
    return list(found)


def best_match(archive: Archive, paths: Sequence[Path]) -> Match | None:
    """Return the first download with all files present, or else one with some; None without."""
    matches = [match_files(archive, download, paths) for download in archive.downloads]
    some = [match for match in matches if any(match.files)]
    return next((match for match in some if not match.missing), some[0] if some else None)


def match_files(archive: Archive, download: Download, paths: Sequence[Path]) -> Match:
    """Match files by name, ignoring case and endings of compression."""
    plain = {path: _plain_name(path) for path in paths}
    files = [
        [path for path, name in plain.items() if name.match(pattern.lower())]
        for pattern in download.files
    ]
    return Match(archive, download, files)


def _plain_name(path: Path) -> PurePosixPath:
    name = PurePosixPath(path.as_posix().lower())
    return name.with_suffix("") if name.suffix in COMPRESSED else name


def convert(match: Match, folder: Path) -> bool:
    """Write an archive, or print the reason if this fails."""
    file = match.archive.file
    try:
        arrays = build(match)
        write_archive(folder / file, arrays)
    except DataError as error:
        say(f"{file}: not written. {error}")
        return False
    say(f"{file}: written to {folder}")
    return True


def build(match: Match) -> Mapping[str, Any]:
    """Build and check the arrays of an archive."""
    if match.missing:
        there = next(paths[0].name for paths in match.files if paths)
        raise DataError(f"{there} is there, but not {', '.join(match.missing)}.")
    for name, paths in zip(match.download.files, match.files, strict=True):
        if "*" not in name and len(paths) > 1:
            both = " and ".join(map(str, paths))
            raise DataError(f"More than one file is called {name}: {both}. Name one of them.")
    source, archive = match.files[0][0], match.archive
    try:
        arrays = BUILDERS[match.download.format](archive, match.files)
    # Files that can be read but do not match, such as rows of different lengths.
    except (ValueError, TypeError) as error:
        raise DataError(f"{source} is not {archive.file}: {error}.") from error
    check_archive({key: np.asarray(value) for key, value in arrays.items()}, archive, str(source))
    return arrays


def write_archive(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write an archive atomically: an existing one is kept until the new one is complete."""
    try:
        # In the same folder, as renaming is atomic only within a file system.
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            partial = Path(folder) / path.name
            np.savez_compressed(partial, **arrays)
            partial.replace(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error}.") from error
