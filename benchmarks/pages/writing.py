"""Pages from results: the same results give the same pages, to the letter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.pages.layout import PAGES, Page, Section
from benchmarks.shared.measured import Measured, Merged
from benchmarks.shared.pieces import PIECES
from benchmarks.shared.tables import Table

MADE = (
    "<!-- Made by `python -m benchmarks pages` from the results beside it. Words are in\n"
    "benchmarks/pages/layout.py and in the benchmarks; nothing is written here by hand. -->"
)


def all_pages(results: Mapping[str, Measured]) -> dict[str, str]:
    """The text of every page, by file name."""
    return {f"{page.name}.md": page_text(page, results) for page in PAGES}


def page_text(page: Page, results: Mapping[str, Measured]) -> str:
    """One page."""
    parts = [MADE, f"# {page.title}", page.text]
    for section in page.sections:
        parts += section_parts(section, results)
    return "\n\n".join(part for part in parts if part) + "\n"


def section_parts(section: Section, results: Mapping[str, Measured]) -> list[str]:
    """Heading, words, tables with their runs, and what was not measured yet."""
    found = [results[name] for name in section.pieces if name in results]
    parts = [f"## {section.title}", section.text]
    made = [] if section.make is None else section.make(results)
    for merged in [*merge(found, section.tables), *made]:
        runs = dict.fromkeys(_run(source) for source in merged.sources)
        parts += [merged.table.render(), "\\\n".join(runs)]
    missing = [name for name in section.pieces if name not in results]
    if missing:
        parts.append(_not_yet(missing))
    return parts


def merge(found: Sequence[Measured], wanted: Sequence[str]) -> list[Merged]:
    """Tables of the same title and columns as one: rows one below the other, every note once.

    Wanted are tables whose titles begin so; without any, all.
    """
    groups: dict[tuple[str, ...], list[tuple[Table, Measured]]] = {}
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


def _run(measured: Measured) -> str:
    return f"*{measured.run.in_words()}:* `{measured.run.command}`"


def _not_yet(names: Sequence[str]) -> str:
    commands = {piece.name: piece for piece in PIECES}
    lines = [
        f"- `python -m benchmarks {piece.command}`, about {piece.minutes:.0f} minutes"
        for name in names
        for piece in [commands[name]]
    ]
    return "\n".join(["Not measured yet:", "", *lines])
