"""The command, called in this process as the installed one is: a new interpreter takes seconds."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from typing import Any, NamedTuple
from unittest.mock import patch

from lapwing._app import cli


class Answer(NamedTuple):
    """Exit code, standard output and standard error of a command."""

    code: int
    out: str
    err: str


def run(*words: object, **environment: str) -> Answer:
    """Run the command, with these variables added to the environment.

    The first of the words may be several, quoted as in a shell: a whole command as it is shown.
    """
    first = shlex.split(str(words[0])) if words else []
    arguments = [*first[first[:1] == ["lapwing"] :], *map(str, words[1:])]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with patch.multiple(sys, stdout=out, stderr=err), patch.dict(os.environ, environment):
        try:
            code = cli.main(arguments)
        except SystemExit as end:  # as shell completion ends
            code = int(end.code or 0)
    return Answer(code, *map(_written, (out, err)))


def done(answer: Answer) -> str:
    """Check that a command succeeded without messages on stderr, and return its output."""
    assert (answer.code, answer.err) == (0, "")
    return answer.out


def warned(answer: Answer, *parts: str) -> str:
    """Check that a command succeeded with warnings that have all of `parts`, return its output."""
    lines = answer.err.splitlines()
    assert answer.code == 0, answer.err
    assert lines, "no warning"
    assert all(line.startswith("warning: ") for line in lines), answer.err
    assert [part for part in parts if part not in answer.err] == [], answer.err
    return answer.out


def refused(answer: Answer, *parts: str) -> None:
    """Check for exit code 2, one line on stderr that has all of `parts`, and nothing on stdout."""
    assert (answer.code, answer.out) == (2, ""), answer.err
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1, answer.err
    assert [part for part in parts if part not in answer.err] == [], answer.err


def found(answer: Answer) -> dict[str, Any]:
    """Return the JSON that a command printed."""
    assert answer.code == 0, answer.err
    values: dict[str, Any] = json.loads(answer.out)
    return values


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined,no-any-return]
