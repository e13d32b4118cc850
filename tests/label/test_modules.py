"""Rules of all JavaScript modules of the page."""

from __future__ import annotations

import re
from importlib import resources

import pytest

PAGE = resources.files("lapwing._label") / "page"
MODULES = {file.name: file.read_text("utf-8") for file in PAGE.iterdir() if file.suffix == ".js"}
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser"
    r"|srcdoc|\beval\b|new Function|https?://(?!www\.w3\.org/2000/svg)"
)
IMPORT = re.compile(r"^import .*? from '(?:\./)?(.*?)';$", re.MULTILINE)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_modules_are_typed_and_write_text_only(name: str) -> None:
    """A value of the table as markup, or code made of text, is impossible without one of these."""
    assert MODULES[name].startswith("// @ts-check\n")
    assert MARKUP.findall(MODULES[name]) == []


def test_every_module_is_used_and_there() -> None:
    imported = {path for text in MODULES.values() for path in IMPORT.findall(text)}
    assert imported | {"label.js"} == set(MODULES)
    page = (PAGE / "index.html").read_text("utf-8")
    named = {"label.css", "label.js", "map.js"}
    assert set(re.findall(r'(?:src|href)="static/(.*?)"', page)) == named
    assert re.findall(r"<script(?! src=)|<style| style=| on\w+=", page) == []
