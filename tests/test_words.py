"""How messages name several things."""

from __future__ import annotations

from lapwing._words import listed, quoted


def test_the_first_are_named_and_the_others_counted() -> None:
    words = ["a", "b", "c"]
    assert listed(words, 3) == "a, b, c"
    assert listed(words, 2) == "a, b and 1 more"
    assert listed(words, 1, between="; ") == "a and 2 more"
    assert listed(words, 2, between="; ") == "a; b and 1 more"
    assert listed([], 2) == ""


def test_names_are_quoted_as_python_does() -> None:
    assert quoted(["a", 1, "it's"]) == "'a', 1, \"it's\""
    assert quoted(list(range(10))) == "0, 1, 2, 3, 4, 5, 6, 7 and 2 more"
