"""Small sessions and servers, and how to ask them."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from sklearn.datasets import make_blobs

from lapwing import LapERLSClassifier
from lapwing._app.reporting import table_of
from lapwing._label.journal import Journal
from lapwing._label.material import Material
from lapwing._label.model import BackgroundModel, ModelSnapshot
from lapwing._label.session import Receipt, Session

CLASSES = ("u", "v", "w")
# Groups far apart, and the name of each row's group.
X, _group = make_blobs(60, centers=[[0, 0], [6, 0], [0, 6]], cluster_std=0.8, random_state=0)
TRUTH = [CLASSES[g] for g in _group]


def first(name: str, k: int = 0) -> int:
    """The k-th row of a class."""
    return [row for row, one in enumerate(TRUTH) if one == name][k]


def learn(found: Session, rows: list[int], label: str | None) -> Receipt:
    """Label rows, and wait for the model."""
    receipt = found.give(rows, label)
    assert found.wait()
    return receipt


def one_of_each(found: Session) -> None:
    """Label a row of each class, and wait for the model."""
    for name in CLASSES:
        found.give([first(name)], name)
    assert found.wait()


def material(X: Any, **options: Any) -> Material:
    y = np.full(X.shape[0], "", dtype=object)
    for row, label in options.pop("labels", {}).items():
        y[row] = label
    table = table_of(X, X, y, y != "", "", None, "t.csv")
    return Material(table, X, options.pop("estimator", LapERLSClassifier()), **options)


class NoModel:
    """A model that learns nothing, for tests of labels alone."""

    name, learnt = "none", ModelSnapshot()

    def __init__(self, *_: Any) -> None: ...

    def learn(self, state: Any) -> None: ...

    def close(self) -> None: ...

    def wait(self, *_: Any) -> bool:
        return True

    rest = wait


@contextmanager
def session(
    X: Any,
    folder: Path | None = None,
    *,
    neighbor_map: bool = False,
    model: type[Any] = BackgroundModel,
    **options: Any,
) -> Iterator[Session]:
    """A session that has learnt its labels; its journal is in a folder."""
    rows = material(X, **options)
    journal = None if folder is None else Journal(folder / "labels.jsonl", rows.subject(), "t.csv")
    with mock.patch("lapwing._label.session.BackgroundModel", model):
        found = Session(rows, journal, neighbor_map=neighbor_map)
    try:
        assert found.wait()
        yield found
    finally:
        found.close()


labels_only = partial(session, model=NoModel)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def error(self) -> str:
        (words,) = self.json.values()
        return str(words)


class Browser:
    """Asks a server as the page does, unless told otherwise."""

    def __init__(self, url: str) -> None:
        found = urllib.parse.urlsplit(url)
        assert found.hostname is not None
        self.host, self.port, self.path = found.hostname, found.port, found.path
        self.origin = f"http://{found.netloc}"

    def ask(
        self,
        method: str,
        address: str,
        body: bytes | None = None,
        *,
        path: str | None = None,
        **headers: str | None,
    ) -> Answer:
        """A request; a header that is None is left out."""
        known = {"Host": self.origin.removeprefix("http://"), "Origin": self.origin}
        if body is not None:
            known["Content-Type"] = "application/json"
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in (known | given).items() if value is not None}
        with closing(http.client.HTTPConnection(self.host, self.port, timeout=60)) as connection:
            connection.request(method, (self.path if path is None else path) + address, body, sent)
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, names, answer.read())

    def get(self, address: str) -> Any:
        found = self.ask("GET", address)
        assert found.status == 200, found.content
        return found.json

    def refused(self, status: int, method: str, address: str, *rest: Any, **headers: Any) -> str:
        """Send a request that is refused with a status, and return the message."""
        found = self.ask(method, address, *rest, **headers)
        assert found.status == status, found.content
        return found.error

    def post(self, address: str, message: Any) -> Answer:
        return self.ask("POST", address, json.dumps(message).encode())
