"""Checks of the built site by `make docs`."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
faults = runpy.run_path(str(ROOT / "docs" / "check_site.py"))["faults"]

GOOD = '<h1 id="top">A</h1><a href="b.html#end">b</a><a href="https://elsewhere.org">c</a>'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text(GOOD, encoding="utf-8")
    (tmp_path / "b.html").write_text('<p id="end"><img src="p.png">', encoding="utf-8")
    (tmp_path / "p.png").write_bytes(b"")
    return tmp_path


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ('<a href="c.html">', "index.html: c.html is not there"),
        ('<a href="b.html#start">', "index.html: b.html#start names no place of that page"),
        ('<a href="#start">', "index.html: #start names no place of that page"),
        ('<img src="q.png">', "index.html: q.png is not there"),
        ('<script src="//cdn.org/a.js">', "index.html: fetches //cdn.org/a.js"),
        ('<link rel="stylesheet" href="https://x.org/a.css">', "index.html: fetches https://x.org/a.css"),
    ],
)  # fmt: skip
def test_faults_are_reported_by_page_and_target(site: Path, added: str, expected: str) -> None:
    assert faults(site) == []
    (site / "index.html").write_text(GOOD + added, encoding="utf-8")
    assert faults(site) == [expected]


def test_style_sheets_must_not_fetch(site: Path) -> None:
    (site / "a.css").write_text("@font-face{src:url('https://f.org/x.woff2')}", encoding="utf-8")
    assert faults(site) == ["a.css: fetches https://f.org/x.woff2"]


def test_empty_folder_is_reported(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path)
    assert fault.endswith("no pages; run make docs first")
