"""How messages name several things, of which there may be many."""

from __future__ import annotations

from collections.abc import Sequence


def listed(words: Sequence[str], most: int, *, between: str = ", ") -> str:
    """Write the first words, and how many there are beside them: "a, b and 3 more"."""
    shown = between.join(words[:most])
    return shown if len(words) <= most else f"{shown} and {len(words) - most} more"


def quoted(names: Sequence[object], most: int = 8) -> str:
    """Write the first names as Python does, and how many there are beside them."""
    return listed([repr(name) for name in names], most)
