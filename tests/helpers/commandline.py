"""The command in a process of its own."""

from __future__ import annotations


def with_method(arguments: tuple[object, ...]) -> list[str]:
    """Arguments of a fit that name its method: the choice takes seconds, and has its own tests."""
    words = list(map(str, arguments))
    named = "--method" in words or any(word.startswith("--method=") for word in words)
    return [*words, "--method", "lapsvc"] if words[:1] == ["fit"] and not named else words
