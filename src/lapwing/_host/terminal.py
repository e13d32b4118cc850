"""Text without control characters, for terminals and pages."""

from __future__ import annotations


def harmless(text: str) -> str:
    """Replace control characters by their pictures, and lone surrogates by a question mark.

    A terminal would act on them and HTML may not hold them. Dropped in silence they would make two
    ids look the same.
    """
    if text.isprintable():  # which nearly all texts are, of which there may be many
        return text
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(
        chr(0x2400 + ord(c)) if ord(c) < 32 else "␡" if 127 <= ord(c) < 160 else c for c in text
    )
