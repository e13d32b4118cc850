"""The command, called in this process as the installed one is: a new interpreter takes seconds."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import Any, NamedTuple
from unittest.mock import patch

from lapwing._app import cli


class Answer(NamedTuple):
    """The exit code of a command, and what it wrote on both streams."""

    code: int
    out: str
    err: str


def command(*args: object, **environment: str) -> Answer:
    """Run the command, with these variables added to the environment."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with patch.multiple(sys, stdout=out, stderr=err), patch.dict(os.environ, environment):
        try:
            code = cli.main([str(arg) for arg in args])
        except SystemExit as end:  # as shell completion ends
            code = int(end.code or 0)
    return Answer(code, *map(_written, (out, err)))


def refused(done: tuple[int, str, str], *parts: str) -> None:
    """Check for exit code 2, one line on stderr that has all of `parts`, and nothing on stdout."""
    code, out, err = done
    assert (code, out) == (2, ""), err
    assert err.startswith("error: ")
    assert err.count("\n") == 1, err
    for part in parts:
        assert part in err


def asked(done: tuple[int, str, str]) -> dict[str, Any]:
    """Return the JSON that a command printed."""
    code, out, err = done
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined,no-any-return]


def with_method(arguments: tuple[object, ...]) -> list[str]:
    """Arguments of a fit that name its method: the choice takes seconds, and has its own tests."""
    words = list(map(str, arguments))
    named = "--method" in words or any(word.startswith("--method=") for word in words)
    return [*words, "--method", "lapsvc"] if words[:1] == ["fit"] and not named else words
