"""Tables as aligned Markdown, for terminals and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Table:
    """Table with a title.

    Attributes
    ----------
    title : str
    header : sequence of str
    rows : sequence of sequences of str
        Cells; each row has the length of the header.
    notes : sequence of str
        Sentences below the table.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        title: str,
        items: Iterable[T],
        columns: Mapping[str, Callable[[T], str]],
        notes: Sequence[str] = (),
    ) -> Self:
        """Make a table with a row for each item, from the functions that format its columns."""
        rows = [[show(item) for show in columns.values()] for item in items]
        return cls(title, list(columns), rows, notes)

    def render(self) -> str:
        """Format the table as aligned Markdown, without a trailing newline."""
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(
                    f"A row of {self.title!r} has {len(row)} cells for {len(self.header)} columns."
                )
        lines = [list(map(_escape, self.header)), *(list(map(_escape, row)) for row in self.rows)]
        widths = [max(len(line[j]) for line in lines) for j in range(len(self.header))]
        head, *body = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
        rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
        parts = [f"### {self.title}", "", head, rule, *body]
        if self.notes:
            parts += ["", *self.notes]
        return "\n".join(parts)


def _escape(cell: str) -> str:
    return cell.replace("|", "\\|")
