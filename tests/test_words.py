"""How messages name several things, and quote words of commands."""

from __future__ import annotations

import subprocess

from lapwing._words import listed, quoted, shell_command


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


def test_a_shell_reads_the_words_of_a_command() -> None:
    words = ["", "a  b", "it's", "two\nlines", "\x1b[1m\\'", "é\x85\t1", "\udce9"]
    command = shell_command(["printf", r"%s\0", *words])
    assert command.isprintable()
    said = subprocess.run(["bash", "-c", command], capture_output=True, check=True).stdout
    assert said.decode("utf-8", "surrogateescape").split("\0") == [*words, ""]
