"""Output files, which are whole or unchanged, and imports of optional packages."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lapwing._host.files import atomic_write, atomic_writes, check_writable, why_unreadable
from lapwing._host.modules import publish, require

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs links and permissions of POSIX")


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    """Two files of a folder, which holds nothing else."""
    found = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path in found:
        path.write_text("old")
    return found


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_files_are_replaced_together(paths: list[Path], tmp_path: Path) -> None:
    with atomic_writes(paths) as temporaries:
        for temporary in temporaries:
            assert temporary.parent == tmp_path
            temporary.write_text("new")
        assert [path.read_text() for path in paths] == ["old", "old"]
    assert contents(tmp_path) == {"a.txt": "new", "b.txt": "new"}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "damaged")], ids=repr)
def test_an_error_leaves_all_files_unchanged(error: Any, paths: Any, tmp_path: Path) -> None:
    def stop_half_way() -> None:
        with atomic_writes(paths) as temporaries:
            temporaries[0].write_text("half")
            raise error

    with pytest.raises(type(error)) as found:
        stop_half_way()
    assert found.value is error
    assert contents(tmp_path) == {"a.txt": "old", "b.txt": "old"}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_reported_before_a_file_is_replaced(
    number: int, paths: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def synchronise(_: int) -> None:
        raise OSError(number, "no room")

    (tmp_path / "full").mkdir()
    places = [str(paths[0]), str(tmp_path / "full" / "c.txt")]
    free = {tmp_path: 9, tmp_path / "full": 1}
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free[folder]))
    monkeypatch.setattr(os, "fsync", synchronise)
    message = "the disk is full; free some space there, or write to another place"
    with pytest.raises(OSError, match=message) as error, atomic_writes(places):
        pass
    assert (error.value.errno, error.value.filename) == (number, places[1])
    (tmp_path / "full").rmdir()  # it is empty
    assert contents(tmp_path) == {"a.txt": "old", "b.txt": "old"}


@POSIX
def test_links_and_the_usual_permissions_are_kept(tmp_path: Path) -> None:
    link, real = tmp_path / "link.txt", tmp_path / "real.txt"
    link.symlink_to("real.txt")
    before = os.umask(0o027)
    try:
        with atomic_write(link) as temporary:
            temporary.write_text("x")
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert real.read_text() == "x"
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (".", "it is a folder; name a file in it"),
        ("no/a.txt", r"there is no folder .*no; make it first"),
        pytest.param("/dev/null", "it is not a regular file", marks=POSIX),
    ],
)
def test_rejects_places_that_hold_no_file(place: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"cannot write .*: {message}\."):
        check_writable(tmp_path / place)


@pytest.mark.parametrize("locked", [".", "a.txt"])
def test_rejects_locked_places(locked: str, paths: Any, tmp_path: Path, monkeypatch: Any) -> None:
    assert check_writable(paths[0]) == paths[0]
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path / locked)
    with pytest.raises(ValueError, match="no permission; choose another place"):
        check_writable(paths[0])


def test_reasons_of_unreadable_files_are_one_line() -> None:
    reasons = {
        "Object arrays cannot be loaded": "it holds Python objects, and not numbers or texts"
    }
    reasons |= {"Cannot load pickled data": "it does not begin as NumPy's files do"}
    reasons |= {"wrong\n  header.": "wrong header", "x" * 500: "x" * 160}
    assert {text: why_unreadable(ValueError(text)) for text in reasons} == reasons


def test_missing_packages_are_named_with_their_extra() -> None:
    message = r"^Drawing needs 'no_package', .* pip install 'lapwing-learn\[draw\]'"
    with pytest.raises(ImportError, match=message):
        require("no_package.part", extra="draw", purpose="Drawing")
    assert require("os.path", extra="draw", purpose="Drawing") is os.path


def test_only_names_of_the_library_are_published_as_public() -> None:
    own = type("Own", (), {"__module__": "lapwing._host.files"})
    publish("lapwing.public", {"Own": own, "array": np.ndarray, "n": 3}, ["Own", "array", "n"])
    assert (own.__module__, np.ndarray.__module__) == ("lapwing.public", "numpy")
