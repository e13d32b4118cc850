"""The page and its data over HTTP: a Starlette application around a session.

Everything that takes time runs in a few threads, so that a flood of requests waits in line and the
events go on. Errors are JSON with plain words and a status of 4xx; 5xx is a defect.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from importlib import resources
from typing import Any, NamedTuple

from lapwing._host.optional import require
from lapwing._label.guard import Guard
from lapwing._label.journal import JournalError
from lapwing._label.messages import read_json, read_rows, whole, whole_text
from lapwing._label.model import SUGGESTED
from lapwing._label.session import CLOSED, Event, Session
from lapwing._label.words import RequestError

_LOG = logging.getLogger("lapwing")
_BODY = 8 * 2**20  # 200,000 rows are 1.4 MB
_BODY_SECONDS = 30.0
_THREADS = 6
_STREAMS = 24
_WAITING_EVENTS = 256
_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[a-z]+)")
_HEARTBEAT = 15.0  # seconds; tells both sides that the other is there
# deck.gl as a whole, served from where its wheel was installed: docs/guide/label.md says why.
_MAP_NAME = "map.js"
_MAP_FILE = ("nbextension", "static", "index.js")
_STATIC = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Export(NamedTuple):
    """A file to be taken along.

    Attributes
    ----------
    name : str
        What the browser calls it.
    kind : str
        Its media type.
    content : bytes
    """

    name: str
    kind: str
    content: bytes


def application(
    session: Session, token: str, exports: Mapping[str, Callable[[Session], Export]]
) -> Any:
    """The ASGI application of a session.

    Parameters
    ----------
    session : Session
    token : str
        The first part of every path.
    exports : mapping of str to callable
        Files that can be taken along, by the last part of their address.

    Returns
    -------
    ASGI application

    Raises
    ------
    ImportError
        If Starlette is not installed.
    """
    starlette = require("starlette.applications", extra="label", purpose="The page to label on")
    routing = require("starlette.routing", extra="label", purpose="The page to label on")
    handlers = _Handlers(session, exports)
    found = starlette.Starlette(
        routes=[
            routing.Route("/", handlers.page),
            routing.Route("/static/{name}", handlers.static),
            routing.Route("/api/state", handlers.state),
            routing.Route("/api/map/{key}", handlers.map),
            routing.Route("/api/colours", handlers.colours),
            routing.Route("/api/rows", handlers.rows),
            routing.Route("/api/image/{row}", handlers.image),
            routing.Route("/api/suggest", handlers.suggest),
            routing.Route("/api/events", handlers.events),
            routing.Route("/api/export/{name}", handlers.export),
            routing.Route("/api/batch", handlers.batch, methods=["POST"]),
            routing.Route("/api/undo", handlers.undo, methods=["POST"]),
            routing.Route("/api/classes", handlers.classes, methods=["POST"]),
            routing.Route("/api/rename", handlers.rename, methods=["POST"]),
        ],
        exception_handlers={
            RequestError: handlers.refused,
            JournalError: handlers.not_written,
            404: handlers.nothing_here,
            405: handlers.wrong_method,
            Exception: handlers.defect,
        },
    )
    return Guard(found, token)


class _Handlers:
    """What is answered; the methods of the routes."""

    def __init__(
        self, session: Session, exports: Mapping[str, Callable[[Session], Export]]
    ) -> None:
        self._session = session
        self._exports = exports
        self._responses = require("starlette.responses", extra="label", purpose="The page")
        self._anyio = require("anyio", extra="label", purpose="The page to label on")
        self._drawing = require("pydeck", extra="label", purpose="The page to label on")
        # A fit for a file takes as long as the page to open, and must not hold up the others.
        self._answering = self._anyio.CapacityLimiter(_THREADS)
        self._exporting = self._anyio.CapacityLimiter(1)
        self._n_streams = 0

    async def page(self, request: Any) -> Any:
        return await self._file("index.html")

    async def static(self, request: Any) -> Any:
        return await self._file(request.path_params["name"])

    async def state(self, request: Any) -> Any:
        return self._json(await self._call(self._session.state))

    async def map(self, request: Any) -> Any:
        return self._binary(await self._call(self._session.map, request.path_params["key"]))

    async def colours(self, request: Any) -> Any:
        version, learnt, content = await self._call(self._session.colours)
        return self._binary(content, {"x-version": str(version), "x-model-version": str(learnt)})

    async def rows(self, request: Any) -> Any:
        rows = whole_text(request.query_params.get("ids", ""), "ids")
        return self._json(await self._call(self._session.rows, rows))

    async def image(self, request: Any) -> Any:
        row = whole(request.path_params["row"], "The row")
        kind, content = await self._call(self._session.image, row)
        return self._responses.Response(content, media_type=kind)

    async def suggest(self, request: Any) -> Any:
        k = whole(request.query_params.get("k", str(SUGGESTED)), "k")
        skipped = whole_text(request.query_params.get("skip", ""), "skip")
        return self._json(await self._call(self._session.suggest, k, skipped))

    async def export(self, request: Any) -> Any:
        make = self._exports.get(request.path_params["name"])
        if make is None:
            raise RequestError(f"There is no such file. There are {', '.join(self._exports)}.", 404)
        try:
            found = await self._call(make, self._session, limiter=self._exporting)
        except (ValueError, MemoryError, ImportError) as error:
            raise RequestError(str(error) or "There is not enough memory.", 409) from None
        named = {"content-disposition": f'attachment; filename="{found.name}"'}
        return self._responses.Response(found.content, headers=named, media_type=found.kind)

    async def batch(self, request: Any) -> Any:
        kinds: dict[str, type] = {"rows": list, "label": str, "take": str, "model": int}
        message = read_json(await _body(request), kinds)
        rows = read_rows(message.get("rows"))
        if "take" in message:
            if message["take"] != "model" or "label" in message:
                raise RequestError('The message has either a "label", or "take": "model".')
            receipt = await self._call(self._session.take, rows, message.get("model"))
        elif "label" in message and "model" not in message:
            receipt = await self._call(self._session.give, rows, message["label"])
        else:
            raise RequestError('The message has either a "label", or "take": "model".')
        return self._json(receipt._asdict())

    async def undo(self, request: Any) -> Any:
        message = read_json(await _body(request), {"batch": int})
        receipt = await self._call(self._session.undo, message.get("batch"))
        return self._json(receipt._asdict())

    async def classes(self, request: Any) -> Any:
        message = read_json(await _body(request), {"name": str})
        version = await self._call(self._session.add_class, message.get("name"))
        return self._json({"version": version})

    async def rename(self, request: Any) -> Any:
        message = read_json(await _body(request), {"from": str, "to": str})
        before = message.get("from")
        if before is None:
            raise RequestError('The message must say which class ("from") gets which name ("to").')
        receipt = await self._call(self._session.rename_class, before, message.get("to"))
        return self._json(receipt._asdict())

    async def events(self, request: Any) -> Any:
        if self._n_streams >= _STREAMS:
            raise RequestError("The page is open too often. Close some of its tabs.", 429)
        return self._responses.StreamingResponse(
            self._stream(), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )

    async def refused(self, request: Any, error: RequestError) -> Any:
        return self._error(str(error), error.status)

    async def not_written(self, request: Any, error: JournalError) -> Any:
        return self._error(str(error), 507)

    async def nothing_here(self, request: Any, error: Exception) -> Any:
        return self._error("There is nothing at this address.", 404)

    async def wrong_method(self, request: Any, error: Exception) -> Any:
        return self._error("This address is not asked in this way.", 405)

    async def defect(self, request: Any, error: Exception) -> Any:
        _LOG.error("the page to label on: %s", error, exc_info=error)
        return self._error(
            f"Unexpected {type(error).__name__}. This is a defect of lapwing: please report it. "
            "Labels that were saved are safe.",
            500,
        )

    async def _call(
        self, function: Callable[..., Any], *arguments: Any, limiter: Any = None
    ) -> Any:
        """Call in one of a few threads; requests beyond these wait in line."""
        lane = self._answering if limiter is None else limiter
        return await self._anyio.to_thread.run_sync(function, *arguments, limiter=lane)

    async def _file(self, name: str) -> Any:
        """A file of the page; names with a slash never come here."""
        named = _NAME.fullmatch(name)
        kind = _STATIC.get(named[1]) if named else None
        if name == _MAP_NAME:
            file = resources.files(self._drawing).joinpath(*_MAP_FILE)
        else:
            file = resources.files("lapwing._label").joinpath("page", name)
        if kind is None or not file.is_file():
            raise RequestError("There is nothing at this address.", 404)
        return self._responses.Response(file.read_bytes(), headers={"content-type": kind})

    async def _stream(self) -> AsyncIterator[str]:
        """Events as they come; the newest state first, so that nothing is missed on the way in."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Event] = asyncio.Queue(_WAITING_EVENTS)

        def put(event: Event) -> None:
            if queue.full():  # nobody reads; whoever does later needs only the newest
                queue.get_nowait()
            queue.put_nowait(event)

        def hear(event: Event) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(put, event)

        self._n_streams += 1
        end = self._session.listen(hear)
        try:
            yield _event(Event(self._session.version, "labels"))
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), _HEARTBEAT)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                yield _event(event)
                if event.part == CLOSED:
                    return
        finally:
            self._n_streams -= 1
            end()

    def _json(self, value: Any, status: int = 200) -> Any:
        text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        kind = "application/json; charset=utf-8"
        return self._responses.Response(text, status, headers={"content-type": kind})

    def _error(self, words: str, status: int) -> Any:
        return self._json({"error": words}, status)

    def _binary(self, content: bytes, headers: Mapping[str, str] | None = None) -> Any:
        return self._responses.Response(
            content, headers=headers, media_type="application/octet-stream"
        )


async def _body(request: Any) -> bytes:
    """The body of a request, as long as it is not too long.

    Raises
    ------
    RequestError
        If it is, or does not come.
    """
    content = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for part in request.stream():
                content += part
                if len(content) > _BODY:
                    raise RequestError("The message is too long. Select fewer rows at once.", 413)
    except TimeoutError:
        raise RequestError("The message did not come in time.", 408) from None
    return bytes(content)


def _event(event: Event) -> str:
    return f"data: {json.dumps(event._asdict())}\n\n"
