"""Labelling page and its data over HTTP: a Starlette application around a session.

Slow tasks run in a few threads, so that many requests are queued and events are not delayed. Errors
are JSON messages with a status of 4xx; 5xx is a defect.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from lapwing._host.modules import require
from lapwing._label.finding import Wish
from lapwing._label.journal import JournalError
from lapwing._label.model import QUEUED
from lapwing._label.session import CLOSED, Event, Session
from lapwing._label.words import RequestError

if TYPE_CHECKING:
    from starlette.requests import Request

_LOG = logging.getLogger("lapwing")
_BODY = 8 * 2**20  # 200,000 rows are 1.4 MB
_BODY_SECONDS = 30.0
_THREADS = 6
_STREAMS = 24
_WAITING_EVENTS = 256
_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[a-z]+)")
_HEARTBEAT = 15.0  # seconds; detects closed connections
# deck.gl as a whole, served from where its wheel was installed: docs/notes/label.md says why.
_MAP_NAME = "map.js"
_MAP_FILE = ("nbextension", "static", "index.js")
_STATIC = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
}

_LIST = re.compile(r"\d{1,9}(?:,\d{1,9})*")
_MOST_NAMED = 200
_MOST_LETTERS = 200  # of search words


class Export(NamedTuple):
    """File for download.

    Attributes
    ----------
    name : str
        File name.
    kind : str
        Media type.
    content : bytes
    """

    name: str
    kind: str
    content: bytes


def application(
    session: Session, token: str, exports: Mapping[str, Callable[[Session], Export]]
) -> Any:
    """Create the ASGI application of a session.

    Parameters
    ----------
    session : Session
    token : str
        First part of every path.
    exports : mapping of str to callable
        Files for download, by the last part of their address.

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
            routing.Route("/api/find", handlers.find),
            routing.Route("/api/image/{row}", handlers.image),
            routing.Route("/api/suggest", handlers.suggest),
            routing.Route("/api/events", handlers.events),
            routing.Route("/api/export/{name}", handlers.export),
            routing.Route("/api/batch", handlers.batch, methods=["POST"]),
            routing.Route("/api/undo", handlers.undo, methods=["POST"]),
            routing.Route("/api/classes", handlers.classes, methods=["POST"]),
            routing.Route("/api/drop", handlers.drop, methods=["POST"]),
            routing.Route("/api/mark", handlers.mark, methods=["POST"]),
            routing.Route("/api/target", handlers.target, methods=["POST"]),
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
    """Handlers of the routes."""

    def __init__(
        self, session: Session, exports: Mapping[str, Callable[[Session], Export]]
    ) -> None:
        self._session = session
        self._exports = exports
        self._responses = require("starlette.responses", extra="label", purpose="The page")
        self._anyio = require("anyio", extra="label", purpose="The page to label on")
        self._drawing = require("pydeck", extra="label", purpose="The page to label on")
        # A fit for an export takes as long as the start of the page, and must not delay others.
        self._answering = self._anyio.CapacityLimiter(_THREADS)
        self._exporting = self._anyio.CapacityLimiter(1)
        self._n_streams = 0

    async def page(self, request: Request) -> Any:
        return await self._file("index.html")

    async def static(self, request: Request) -> Any:
        return await self._file(request.path_params["name"])

    async def state(self, request: Request) -> Any:
        return self._json(await self._call(self._session.state))

    async def map(self, request: Request) -> Any:
        return self._binary(await self._call(self._session.map, request.path_params["key"]))

    async def colours(self, request: Request) -> Any:
        version, learnt, content = await self._call(self._session.colours)
        return self._binary(content, {"x-version": str(version), "x-model-version": str(learnt)})

    async def rows(self, request: Request) -> Any:
        rows = whole_text(request.query_params.get("ids", ""), "ids")
        return self._json(await self._call(self._session.rows, rows))

    async def find(self, request: Request) -> Any:
        asked = request.query_params
        words = asked.get("words", "")[:_MOST_LETTERS]
        wish = Wish(words, asked.get("class"), asked.get("by", "either"), asked.get("state", ""))
        return self._json(await self._call(self._session.find, wish))

    async def image(self, request: Request) -> Any:
        row = whole(request.path_params["row"], "The row")
        kind, content = await self._call(self._session.image, row)
        return self._responses.Response(content, media_type=kind)

    async def suggest(self, request: Request) -> Any:
        k = whole(request.query_params.get("k", str(QUEUED)), "k")
        skipped = whole_text(request.query_params.get("skip", ""), "skip")
        return self._json(await self._call(self._session.suggest, k, skipped))

    async def export(self, request: Request) -> Any:
        make = self._exports.get(request.path_params["name"])
        if make is None:
            raise RequestError(f"There is no such file. There are {', '.join(self._exports)}.", 404)
        try:
            found = await self._call(make, self._session, limiter=self._exporting)
        except (ValueError, MemoryError, ImportError) as error:
            raise RequestError(str(error) or "There is not enough memory.", 409) from None
        named = {"content-disposition": f'attachment; filename="{found.name}"'}
        return self._responses.Response(found.content, headers=named, media_type=found.kind)

    async def batch(self, request: Request) -> Any:
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

    async def undo(self, request: Request) -> Any:
        message = read_json(await _body(request), {"batch": int})
        receipt = await self._call(self._session.undo, message.get("batch"))
        return self._json(receipt._asdict())

    async def classes(self, request: Request) -> Any:
        message = read_json(await _body(request), {"name": str})
        version = await self._call(self._session.add_class, message.get("name"))
        return self._json({"version": version})

    async def drop(self, request: Request) -> Any:
        message = read_json(await _body(request), {"class": str, "into": str})
        name = message.get("class")
        if name is None:
            raise RequestError('The message must say which "class" to delete.')
        receipt = await self._call(self._session.drop_class, name, message.get("into"))
        return self._json(receipt._asdict())

    async def mark(self, request: Request) -> Any:
        message = read_json(await _body(request), {"rows": list, "mark": str, "on": bool})
        rows, kind = read_rows(message.get("rows")), message.get("mark") or ""
        on = bool(message.get("on", True))
        return self._json({"version": await self._call(self._session.mark, rows, kind, on)})

    async def target(self, request: Request) -> Any:
        message = read_json(await _body(request), {"percent": str})
        target = read_target(message.get("percent"))
        return self._json({"version": await self._call(self._session.aim, target)})

    async def rename(self, request: Request) -> Any:
        message = read_json(await _body(request), {"from": str, "to": str})
        before = message.get("from")
        if before is None:
            raise RequestError('The message must say which class ("from") gets which name ("to").')
        receipt = await self._call(self._session.rename_class, before, message.get("to"))
        return self._json(receipt._asdict())

    async def events(self, request: Request) -> Any:
        if self._n_streams >= _STREAMS:
            raise RequestError("The page is open too often. Close some of its tabs.", 429)
        return self._responses.StreamingResponse(
            self._stream(), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )

    async def refused(self, request: Request, error: RequestError) -> Any:
        return self._error(str(error), error.status)

    async def not_written(self, request: Request, error: JournalError) -> Any:
        return self._error(str(error), 507)

    async def nothing_here(self, request: Request, error: Exception) -> Any:
        return self._error("There is nothing at this address.", 404)

    async def wrong_method(self, request: Request, error: Exception) -> Any:
        return self._error("This address is not asked in this way.", 405)

    async def defect(self, request: Request, error: Exception) -> Any:
        _LOG.error("the page to label on: %s", error, exc_info=error)
        return self._error(
            f"Unexpected {type(error).__name__}. This is a defect of lapwing: please report it. "
            "Labels that were saved are safe.",
            500,
        )

    async def _call(
        self, function: Callable[..., Any], *arguments: object, limiter: Any = None
    ) -> Any:
        """Call a function in one of a few threads; further requests are queued."""
        lane = self._answering if limiter is None else limiter
        return await self._anyio.to_thread.run_sync(function, *arguments, limiter=lane)

    async def _file(self, name: str) -> Any:
        """Return a file of the page; routes do not match names with a slash."""
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
        """Generate events, the newest state first, so that no change is missed."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Event] = asyncio.Queue(_WAITING_EVENTS)

        def put(event: Event) -> None:
            if queue.full():  # a slow reader needs only the newest event
                queue.get_nowait()
            queue.put_nowait(event)

        def hear(event: Event) -> None:
            with suppress(RuntimeError):  # if the event loop has ended
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

    def _json(self, value: object, status: int = 200) -> Any:
        text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        kind = "application/json; charset=utf-8"
        return self._responses.Response(text, status, headers={"content-type": kind})

    def _error(self, words: str, status: int) -> Any:
        return self._json({"error": words}, status)

    def _binary(self, content: bytes, headers: Mapping[str, str] | None = None) -> Any:
        return self._responses.Response(
            content, headers=headers, media_type="application/octet-stream"
        )


async def _body(request: Request) -> bytes:
    """Read the body of a request.

    Raises
    ------
    RequestError
        If it is too long or does not arrive in time.
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


def read_json(body: bytes, allowed: Mapping[str, type]) -> dict[str, Any]:
    """Read a JSON object with optional members of these names and types.

    Raises
    ------
    RequestError
        If the body is anything else.
    """
    try:
        message = json.loads(body.decode("utf-8") or "null", parse_constant=_no_number)
    except (ValueError, RecursionError):  # numbers of thousands of digits are ValueErrors too
        raise RequestError("The message is no JSON.") from None
    if not isinstance(message, dict):
        raise RequestError("The message must be a JSON object.")
    for name, value in message.items():
        if name not in allowed:
            known = ", ".join(allowed)
            raise RequestError(f"The message has {name[:40]!r}; it can have {known}.")
        # Not isinstance, as true is not a number here.
        if type(value) is not allowed[name] and not (value is None and allowed[name] is str):
            raise RequestError(f"{name!r} must be {_NAMES[allowed[name]]}.")
    return message


def read_rows(value: object) -> list[int]:
    """Return the rows of a message.

    Raises
    ------
    RequestError
        If a row is not a whole number.
    """
    if not isinstance(value, list):
        raise RequestError("The message must say which rows: a list of whole numbers.")
    if any(type(row) is not int for row in value):
        raise RequestError("Rows must be whole numbers.")
    return value


def read_target(percent: str | None) -> float | None:
    """Convert a target error rate from percent; None for an empty text.

    Raises
    ------
    RequestError
        If it is not a number from 0.1 to 50.
    """
    text = (percent or "").strip().removesuffix("%").strip()
    if not text:
        return None
    if not re.fullmatch(r"\d{1,2}(\.\d{1,3})?", text) or not 0.1 <= float(text) <= 50:
        raise RequestError("The error to reach is a number of percent from 0.1 to 50, such as 5.")
    return float(text) / 100


def whole_text(text: str, name: str) -> list[int]:
    """Read whole numbers separated by commas from an address.

    Raises
    ------
    RequestError
        If there is anything else, or too many numbers.
    """
    if not text:
        return []
    if not _LIST.fullmatch(text):
        raise RequestError(f"{name} must be whole numbers with commas between them.")
    found = [int(part) for part in text.split(",")]
    if len(found) > _MOST_NAMED:
        raise RequestError(f"{name} can be at most {_MOST_NAMED} rows.")
    return found


def whole(text: str, name: str) -> int:
    """Read a whole number from an address.

    Raises
    ------
    RequestError
        If it is anything else.
    """
    if not re.fullmatch(r"\d{1,9}", text):
        raise RequestError(f"{name} must be a whole number.")
    return int(text)


_NAMES = {list: "a list", str: "a text", int: "a whole number", bool: "true or false"}


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",  # the address includes the token
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
# Any port, as users of other machines connect through a tunnel with another port.
_HOST = re.compile(r"(?:127\.0\.0\.1|localhost)(?::\d{1,5})?", re.IGNORECASE)
_METHODS = ("GET", "HEAD", "POST")


class Guard:
    """ASGI middleware that passes on only valid requests under ``/token``, without this prefix.

    Parameters
    ----------
    application : ASGI application
    token : str
    """

    def __init__(self, application: Application, token: str) -> None:
        self._application = application
        self._token = token.encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject a request, or pass it to the application."""
        if scope["type"] != "http":
            return  # other protocols are not supported; uvicorn closes the connection

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message.get("headers", ())}
                more = [
                    (name.encode("ascii"), value.encode("ascii"))
                    for name, value in HEADERS.items()
                    if name.encode("ascii") not in own
                ]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        objection = self._objection(scope)
        if objection is not None:
            await _refuse(guarded, *objection)
            return
        inner = {**scope, "path": "/" + scope["path"].lstrip("/").partition("/")[2]}
        inner["raw_path"] = inner["path"].encode("utf-8", "surrogateescape")
        await self._application(inner, receive, guarded)

    def _objection(self, scope: Scope) -> tuple[int, str] | None:
        headers = _headers(scope)
        if headers is None:
            return 400, "A header is given twice."
        host = headers.get("host", "")
        if not _HOST.fullmatch(host):
            return 403, "Open the page at the address that lapwing label shows."
        if scope["method"] not in _METHODS:
            return 405, "Only GET and POST are answered."
        given = scope["path"].lstrip("/").partition("/")
        # Checked before anything that would give information to outsiders.
        if not secrets.compare_digest(given[0].encode("utf-8", "replace"), self._token) or (
            not given[1]
        ):
            return 404, "There is nothing here. Open the address that lapwing label shows."
        return _strange_origin(scope["method"], host, headers)


def _strange_origin(method: str, host: str, headers: dict[str, str]) -> tuple[int, str] | None:
    elsewhere = 403, "Another page has sent this request. Only the page itself may."
    origin = headers.get("origin")
    if origin is not None and origin.lower() != f"http://{host}".lower():
        return elsewhere
    # A link to the page may be on any site, such as a notebook, but not requests for its data.
    walked = headers.get("sec-fetch-mode") == "navigate" and method == "GET"
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none") and not walked:
        return elsewhere
    if method == "POST" and headers.get("content-type", "").partition(";")[0].strip().lower() != (
        "application/json"
    ):
        # For JSON from other sites browsers send a preflight request, which is not answered.
        return 415, "The message must be JSON, with the Content-Type application/json."
    return None


def _headers(scope: Scope) -> dict[str, str] | None:
    """Return the relevant headers; None if one of them is duplicated."""
    looked_at = ("host", "origin", "content-type", "sec-fetch-site", "sec-fetch-mode")
    found: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        if name not in looked_at:
            continue
        if name in found:
            return None
        found[name] = value.decode("latin-1")
    return found


async def _refuse(send: Send, status: int, words: str) -> None:
    body = json.dumps({"error": words}).encode("utf-8")
    headers = [
        (b"content-type", b"application/json; charset=utf-8"),
        (b"content-length", str(len(body)).encode("ascii")),
        # The body is not read, so the connection cannot be used again.
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
