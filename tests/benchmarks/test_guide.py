"""Messages about missing data: the name of the set and how to get it, without a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.shared.archives import HOME_VARIABLE
from benchmarks.shared.catalogue import RECORDS

STEPS = ("python -m benchmarks convert", "--output FOLDER", f"export {HOME_VARIABLE}=FOLDER")

SSL = tuple(name for name in RECORDS if name.startswith("ssl_"))


# A benchmark, options for the parts that are nothing without data, and the sets that it needs.
@pytest.mark.parametrize("home", [None, "empty"])
@pytest.mark.parametrize(
    ("command", "needed"),
    [
        ("lapsvm", ("g50c", "uspst", "pcmac", "coil20", "mnist", "cbcl_face")),
        (
            "s3vm --sets uspst coil20 text usps mnist",
            ("uspst", "coil20", "pcmac", "usps", "mnist"),
        ),
        (
            "embedded --tables small large digits scaling --points pixels:70000",
            ("usps", "mnist", "cbcl_face", *SSL),
        ),
    ],
)
def test_benchmark_without_data(
    command: str,
    needed: tuple[str, ...],
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
    assert main([*command.split(), "--output", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    for name in needed:
        archive = RECORDS[name]
        assert f"{archive.file} is missing: {where}." in printed.err
        assert printed.err.count(f"{archive.file} from ") == 1
        download = archive.downloads[0]
        for part in (archive.title, archive.reference, download.page, *download.files):
            assert part in printed.err
    for name in set(RECORDS) - set(needed):
        assert f"{RECORDS[name].file} from" not in printed.err
    for part in STEPS:
        assert printed.err.count(part) == 1
