"""Deterministic generation of pages from their templates and results.

The templates are the Markdown files in this folder. In place of a paragraph
``<!-- results: PIECE ... -->`` a page has the tables of these pieces; ``*`` stands for any
characters, and ``; tables: TEXT`` before the end selects tables whose titles begin with a text.
``<!-- summary of the papers -->`` stands for short versions of the papers' tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import filter as matching
from pathlib import Path

from benchmarks.pages.short import in_short
from benchmarks.shared.measured import Merged, StoredResult
from benchmarks.shared.pieces import PIECES
from benchmarks.shared.tables import Table

TEMPLATES = Path(__file__).parent
MADE = (
    "<!-- Made by `python -m benchmarks pages` from the files in results. Texts are in\n"
    "benchmarks/pages and in the benchmarks; do not edit this page. -->"
)
_SUMMARY = "<!-- summary of the papers -->"
_RESULTS = re.compile(r"<!-- results: (?P<pieces>.*?)(?:; tables: (?P<tables>.*))? -->")


def read_templates() -> dict[str, str]:
    """Return the template of each page, by file name."""
    return {path.name: path.read_text(encoding="utf-8") for path in TEMPLATES.glob("*.md")}


def all_pages(results: Mapping[str, StoredResult]) -> dict[str, str]:
    """Return the text of each page, by file name."""
    return {name: page_text(template, results) for name, template in read_templates().items()}


def page_text(template: str, results: Mapping[str, StoredResult]) -> str:
    """Return the text of a page."""
    parts = [MADE]
    for paragraph in template.strip().split("\n\n"):
        asked = _RESULTS.fullmatch(paragraph)
        if asked is not None:
            parts += result_parts(_pieces(asked), asked["tables"] or "", results)
        elif paragraph == _SUMMARY:
            parts += _with_runs(in_short(results))
        else:
            parts.append(paragraph)
    return "\n\n".join(parts) + "\n"


def pieces_of(template: str) -> list[str]:
    """Return the names of the pieces whose tables a page shows."""
    return [name for asked in _RESULTS.finditer(template) for name in _pieces(asked)]


def _pieces(asked: re.Match[str]) -> list[str]:
    found = []
    for pattern in asked["pieces"].split():
        names = matching([piece.name for piece in PIECES], pattern)
        if not names:
            raise ValueError(f"No piece is called {pattern!r}.")
        found += names
    return found


def result_parts(
    pieces: Sequence[str], title: str, results: Mapping[str, StoredResult]
) -> list[str]:
    """Return tables with their runs, and a list of missing pieces."""
    parts = _with_runs(merge([results[name] for name in pieces if name in results], title))
    missing = [piece for piece in PIECES if piece.name in set(pieces) - set(results)]
    if missing:
        lines = [
            f"- `python -m benchmarks {piece.command}`, about {piece.minutes:.0f} minutes"
            for piece in missing
        ]
        parts.append("\n".join(["Not measured yet:", "", *lines]))
    return parts


def merge(found: Sequence[StoredResult], title: str = "") -> list[Merged]:
    """Merge tables with the same title and columns, without duplicate notes.

    Tables whose titles begin with `title` are selected.
    """
    groups: dict[tuple[str, ...], list[tuple[Table, StoredResult]]] = {}
    for measured in found:
        for table in measured.tables:
            if table.title.startswith(title):
                groups.setdefault((table.title, *table.header), []).append((table, measured))
    return [
        Merged(
            Table(
                title,
                header,
                [row for table, _ in group for row in table.rows],
                list(dict.fromkeys(note for table, _ in group for note in table.notes)),
            ),
            tuple(measured for _, measured in group),
        )
        for (title, *header), group in groups.items()
    ]


def _with_runs(tables: Sequence[Merged]) -> list[str]:
    """Return each table and the runs that measured it."""
    parts = []
    for merged in tables:
        runs = dict.fromkeys(
            f"*{source.run.describe()}:* `{source.run.command}`" for source in merged.sources
        )
        parts += [merged.table.render(), "\\\n".join(runs)]
    return parts
