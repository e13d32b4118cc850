"""Without data: what is missing, and how to get it, in plain words and never as a traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.shared.archives import HOME_VARIABLE, MissingArchiveError
from benchmarks.shared.catalogue import LABEL_SETS, RECORDS
from benchmarks.shared.guide import Datasets, how_to_get, how_to_get_all

ALL = [*(record.archive for record in RECORDS.values()), LABEL_SETS]
STEPS = ("python -m benchmarks convert", "--output FOLDER", f"export {HOME_VARIABLE}=FOLDER")

# What each benchmark needs, in the parts that are nothing without it.
NEEDED = {
    "lapsvm": (
        [],
        ("g50c", "uspst", "pcmac", "coil20", "mnist", "cbcl_face"),
    ),
    "s3vm": (
        ["--sets", "uspst", "coil20", "text", "usps", "mnist"],
        ("uspst", "coil20", "pcmac", "usps", "mnist"),
    ),
    "embedded": (
        ["--tables", "small", "large", "digits", "scaling", "--points", "pixels:70000"],
        ("usps", "mnist", "cbcl_face", *(name for name in RECORDS if name.startswith("ssl_"))),
    ),
}


@pytest.mark.parametrize(
    ("benchmark", "home"), [("lapsvm", None), ("s3vm", "empty"), ("embedded", "empty")]
)
def test_benchmark_without_data(
    benchmark: str,
    home: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if home is None:
        monkeypatch.delenv(HOME_VARIABLE, raising=False)
        where = f"{HOME_VARIABLE} is not set"
    else:
        monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
        where = f"it is not in {tmp_path}, the folder that {HOME_VARIABLE} names"
    options, needed = NEEDED[benchmark]
    assert main([benchmark, *options, "--output", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    for name in needed:
        archive = RECORDS[name].archive
        assert f"{archive.file} is missing: {where}." in printed.err
        assert printed.err.count(f"{archive.file} from ") == 1
        for part in (archive.title, archive.reference, archive.downloads[0].page):
            assert part in printed.err
        for file in archive.downloads[0].files:
            assert file in printed.err
    for name in set(RECORDS) - set(needed):
        assert f"{RECORDS[name].archive.file} from" not in printed.err
    for part in STEPS:
        assert printed.err.count(part) == 1


@pytest.mark.parametrize("benchmark", NEEDED)
def test_data_that_cannot_be_used(
    benchmark: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options, needed = NEEDED[benchmark]
    run = [benchmark, *options, "--output", str(tmp_path / "out")]
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "nowhere"))
    assert main(run) == 1
    told = capsys.readouterr().err
    assert told.count("nowhere is not a folder. Set it to the folder that holds") == 1
    for name in needed:
        (tmp_path / RECORDS[name].archive.file).write_bytes(b"damaged")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    assert main(run) == 1
    told = capsys.readouterr().err
    for name in needed:
        assert f"{RECORDS[name].archive.file} cannot be read" in told
    assert "skipped: " in told
    assert "make it anew with `python -m benchmarks convert`" in told


def test_without_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    printed = capsys.readouterr().err
    for part in (*BENCHMARKS, *STEPS, *(archive.file for archive in ALL)):
        assert part in printed


@pytest.mark.parametrize("arguments", [["--help"], ["convert", "--help"]])
def test_help_says_how_to_get_the_data(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as info:
        main(arguments)
    assert info.value.code == 0
    assert how_to_get_all() in capsys.readouterr().out


def test_guide_names_every_download() -> None:
    text = how_to_get_all()
    for archive in ALL:
        for download in archive.downloads:
            assert "  ".join(download.files) in text
            assert download.page in text
        assert archive.terms in text
    # What is published together stands together.
    assert text.count(RECORDS["g50c"].archive.reference) == 1


def test_guide_names_only_what_is_asked_for() -> None:
    text = how_to_get([RECORDS["g50c"].archive])
    assert "g50c.mat" in text
    assert "uspst" not in text


def missing(name: str) -> Callable[[], None]:
    def load() -> None:
        raise MissingArchiveError(RECORDS[name].archive, None)

    return load


def test_shelf_tells_each_thing_once(capsys: pytest.CaptureFixture[str]) -> None:
    datasets = Datasets()
    assert datasets.load("points", lambda: 3) == 3
    datasets.report_missing()
    assert capsys.readouterr().err == ""
    for title in ("ten", "ten", "two"):
        assert datasets.load(title, missing("uspst")) is None
    assert capsys.readouterr().err.count("skipped: uspst.npz is missing") == 2
    datasets.report_missing()
    assert capsys.readouterr().err.count("uspst.npz from uspst.mat") == 1
