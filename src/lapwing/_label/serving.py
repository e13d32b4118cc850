"""Server thread of the labelling page."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from numpy.typing import NDArray

from lapwing._host.modules import require
from lapwing._label.journal import Journal
from lapwing._label.session import Session
from lapwing.classes.markers import objects

_HOST = "127.0.0.1"
_CONNECTIONS = 200
_WAITING = 100  # connections without a complete request; beyond it the oldest are closed
_IDLE = 10  # seconds that a connection may be idle between two requests
_HEADERS = 5.0  # seconds that the headers of a request may take
_TOKEN = re.compile(r"http://127\.0\.0\.1:(\d{1,5})/([A-Za-z0-9_-]{32})/")
_STARTED = 10.0
# Without a handler Python would print messages of uvicorn, for example about closed tabs.
logging.getLogger("uvicorn.error").addHandler(logging.NullHandler())


class LabelServer:
    """Server of a labelling page, running until it is closed.

    Parameters
    ----------
    session : Session
        Labelling session; closed with the server.
    downloads : mapping of str to callable
        Functions from the session to the content of a file, by file name.
    journal : Journal or None
        Journal of the session. It stores the address: the next server has the same token, and an
        open page reconnects if the port is the same.
    port : int, default=0
        Port on the loopback; 0 is that of the last server of the journal, or any free port.

    Attributes
    ----------
    url : str
        Address of the page. It includes the access token, so keep it secret.

    Raises
    ------
    ImportError
        If Starlette or uvicorn is not installed.
    OSError
        If the port is in use.
    """

    def __init__(
        self,
        session: Session,
        downloads: Mapping[str, Callable[[Session], bytes]],
        journal: Journal | None = None,
        port: int = 0,
    ) -> None:
        uvicorn = require("uvicorn", extra="label", purpose="The page to label on")
        require("starlette", extra="label", purpose="The page to label on")
        from lapwing._label.server import application  # which imports Starlette

        self.session = session
        last = _TOKEN.fullmatch("" if journal is None else journal.address)
        token = secrets.token_urlsafe(24) if last is None else last[2]
        listener = _listen(port) if port or last is None else _listen(int(last[1]), 0)
        self.url = f"http://{_HOST}:{listener.getsockname()[1]}/{token}/"
        config = uvicorn.Config(
            application(session, token, downloads),
            http=_connection_class(),
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=_CONNECTIONS,
            backlog=_CONNECTIONS,
            timeout_keep_alive=_IDLE,
            # Event streams do not end by themselves.
            timeout_graceful_shutdown=1,
        )
        self._server: Any = uvicorn.Server(config)
        self._listener = listener
        self._thread = threading.Thread(
            target=self._server.run,
            kwargs={"sockets": [listener]},
            name="lapwing label: server",
            daemon=True,
        )
        self._thread.start()
        deadline = time.monotonic() + _STARTED
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise RuntimeError("The page to label on did not start.")
            time.sleep(0.005)
        if journal is not None:
            journal.keep_address(self.url)

    def labels(self) -> NDArray[Any]:
        """Return the current labels.

        Returns
        -------
        ndarray of object of shape (n_samples,)
            Label of each row, None for unlabelled rows; can be used as y of any estimator of
            lapwing. Labels are strings, unless all of them were given from Python with another
            type.
        """
        names = self.session.labels().tolist()
        known = self.session.material.values
        # All of one type, as estimators do not accept a mixture of numbers and strings.
        values = known if set(names) <= {"", *known} else {}
        return objects(values.get(name, name) if name else None for name in names)

    def _repr_html_(self) -> str:
        """Return a link, for notebooks."""
        return f'<a href="{self.url}" target="_blank" rel="noopener">Label on this page</a>'

    def wait(self) -> None:
        """Block until the server is closed; Ctrl-C closes it."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop the server and keep the labels; further calls have no effect."""
        if self._thread.is_alive():
            self.session.notify_of_end()
            self._server.should_exit = True
            self._thread.join()
        self._listener.close()
        self.session.close()

    def __enter__(self) -> LabelServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        n = self.session.history.n_labeled
        return f"<LabelServer at {self.url}: {n} of {self.session.material.n} rows have a label>"


def _connection_class() -> type[Any]:
    """Protocol of a connection, with a time limit for its headers.

    Otherwise clients that open connections without sending complete requests could exhaust them.
    As all clients have the loopback address, a limit per address is not possible: the oldest
    waiting connections are closed.
    """
    h11_impl = require("uvicorn.protocols.http.h11_impl", extra="label", purpose="The page")
    idle = require("h11", extra="label", purpose="The page").IDLE
    waiting: dict[Any, asyncio.TimerHandle] = {}

    class Connection(h11_impl.H11Protocol):  # type: ignore[name-defined]
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._await_headers()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is idle:
                self._await_headers()
            else:
                self._stop_waiting()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _await_headers(self) -> None:
            if self in waiting:
                return
            waiting[self] = self.loop.call_later(_HEADERS, self.transport.close)
            if len(waiting) > _WAITING:
                oldest = next(iter(waiting))
                oldest._stop_waiting()
                oldest.transport.close()

        def _stop_waiting(self) -> None:
            timer = waiting.pop(self, None)
            if timer is not None:
                timer.cancel()

    return Connection


def _listen(*ports: int) -> socket.socket:
    """Return a listening socket on the loopback, of the first port that is available.

    Raises
    ------
    OSError
        If none is.
    """
    for port in ports:
        with suppress(OSError, OverflowError):
            return socket.create_server((_HOST, port))
    raise OSError(
        f"Port {ports[0]} of {_HOST} is not available: another program uses it, or you have no "
        "permission. Leave out --port, or choose another one."
    )
