"""Words of messages: names, commands for a shell, long texts, and several errors in one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

# Characters that `str.strip` removes, and invisible ones that web pages and converters insert.
BLANKS = "".join(c for c in map(chr, range(0x3001)) if c.isspace()) + (
    "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
)


def listed(words: Sequence[str], most: int, *, between: str = ", ") -> str:
    """Join the first words, with the number of the others: "a, b and 3 more"."""
    shown = between.join(words[:most])
    return shown if len(words) <= most else f"{shown} and {len(words) - most} more"


def quoted(names: Iterable[object], most: int = 8) -> str:
    """Join the `repr` of the first names, with the number of the others."""
    return listed([repr(name) for name in names], most)


_CONTROL = "\x00-\x1f\x7f-\x9f\udc80-\udcff"


def shell_word(text: str) -> str:
    """Quote a word of a command; control characters are escaped, as messages cannot show them."""
    if not re.search(f"[{_CONTROL}]", text):
        return shlex.quote(text)
    return "$'" + re.sub(rf"[{_CONTROL}\\']", _escape, text) + "'"


def _escape(found: re.Match[str]) -> str:
    # Lone surrogates are bytes of a file name that are not UTF-8.
    code = found[0].encode("utf-8", "surrogateescape")
    return r"\n" if found[0] == "\n" else "".join(rf"\{byte:03o}" for byte in code)


def shell_command(words: Iterable[str]) -> str:
    """Join the words of a command, quoted for a shell."""
    return " ".join(map(shell_word, words))


def guess(name: str, names: Iterable[str], n: int = 3, words: str = "Did you mean {}?") -> str:
    """Ask for the names most similar to `name`, best first, ignoring case; empty if none is."""
    folded = {other.casefold(): other for other in names}
    close = get_close_matches(name.casefold(), folded, n=n, cutoff=0.5)
    return words.format(" or ".join(repr(folded[other]) for other in close)) if close else ""


def visible(text: str) -> str:
    """Strip blanks from both ends, zero-width ones included."""
    return text.strip() if text.isascii() else text.strip(BLANKS)


def shorten(text: str) -> str:
    """Shorten a long text for a message."""
    return text if len(text) <= 30 else f"{text[:27]}..."


class InputErrors:
    """Collected error messages, to be raised as one error.

    Parameters
    ----------
    where : str
        Names of the files, with which each message begins.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.messages: list[str] = []

    @contextmanager
    def gather(self) -> Iterator[None]:
        """Collect the message of a `ValueError` in the block."""
        try:
            yield
        except ValueError as error:
            self.messages.append(str(error))

    def raise_all(self) -> None:
        """Raise the collected messages, if there are any."""
        if self.messages:
            raise ValueError(join_messages(self.where, self.messages))


def join_messages(where: str, messages: Sequence[str]) -> str:
    """Join several messages; a single one is returned unchanged."""
    messages = list(dict.fromkeys(messages))
    if len(messages) == 1:
        return messages[0]
    each = [message.removeprefix(where).lstrip(": ") for message in messages]
    numbered = " ".join(f"({number}) {message}" for number, message in enumerate(each, start=1))
    return f"{where}: {len(messages)} errors. {numbered}"
