"""Deterministic generation of pages from results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.pages.layout import PAGES, Page, Section
from benchmarks.shared.measured import Merged, StoredResult
from benchmarks.shared.pieces import PIECES
from benchmarks.shared.tables import Table

MADE = (
    "<!-- Made by `python -m benchmarks pages` from the files in results. Texts are in\n"
    "benchmarks/pages/layout.py and in the benchmarks; do not edit this page. -->"
)


def all_pages(results: Mapping[str, StoredResult]) -> dict[str, str]:
    """Return the text of each page, by file name."""
    return {f"{page.name}.md": page_text(page, results) for page in PAGES}


def page_text(page: Page, results: Mapping[str, StoredResult]) -> str:
    """Return the text of a page."""
    parts = [MADE, f"# {page.title}", page.text]
    for section in page.sections:
        parts += section_parts(section, results)
    return "\n\n".join(part for part in parts if part) + "\n"


def section_parts(section: Section, results: Mapping[str, StoredResult]) -> list[str]:
    """Return heading, text, tables with their runs, and a list of missing pieces."""
    found = [results[name] for name in section.pieces if name in results]
    parts = [f"## {section.title}", section.text]
    made = [] if section.make is None else section.make(results)
    for merged in [*merge(found, section.tables), *made]:
        runs = dict.fromkeys(_run(source) for source in merged.sources)
        parts += [merged.table.render(), "\\\n".join(runs)]
    missing = [name for name in section.pieces if name not in results]
    if missing:
        parts.append(_missing_pieces(missing))
    return parts


def merge(found: Sequence[StoredResult], wanted: Sequence[str]) -> list[Merged]:
    """Merge tables with the same title and columns, without duplicate notes.

    Tables whose titles begin with one of `wanted` are selected; all if it is empty.
    """
    groups: dict[tuple[str, ...], list[tuple[Table, StoredResult]]] = {}
    for measured in found:
        for table in measured.tables:
            if not wanted or table.title.startswith(tuple(wanted)):
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


def _run(measured: StoredResult) -> str:
    return f"*{measured.run.describe()}:* `{measured.run.command}`"


def _missing_pieces(names: Sequence[str]) -> str:
    commands = {piece.name: piece for piece in PIECES}
    lines = [
        f"- `python -m benchmarks {piece.command}`, about {piece.minutes:.0f} minutes"
        for name in names
        for piece in [commands[name]]
    ]
    return "\n".join(["Not measured yet:", "", *lines])
