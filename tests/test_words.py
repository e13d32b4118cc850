"""How messages name several things."""

from __future__ import annotations

from lapwing._words import listed, quoted


def test_listed_names_the_first_and_counts_the_others() -> None:
    words = ["a", "b", "c"]
    assert listed(words, 3) == "a, b, c"
    assert listed(words, 2) == "a, b and 1 more"
    assert listed(words, 1, between="; ") == "a and 2 more"
    assert listed(words, 2, between="; ") == "a; b and 1 more"
    assert listed([], 2) == ""


def test_quoted_names_the_first_eight() -> None:
    assert quoted(["a", 1, "it's"]) == "'a', 1, \"it's\""
    assert quoted(list(range(10))) == "0, 1, 2, 3, 4, 5, 6, 7 and 2 more"
