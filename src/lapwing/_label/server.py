"""Labelling page and its data over HTTP: a Starlette application around a session.

Slow tasks run in a few threads, so that many requests are queued and events are not delayed. Errors
are JSON messages with a status of 4xx; 5xx is a defect.

Only `lapwing._label.serving` imports this module, because it needs Starlette.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple, NoReturn, TypeAlias

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lapwing._host.modules import require
from lapwing._label.errors import RequestError
from lapwing._label.finding import Query
from lapwing._label.journal import JournalError
from lapwing._label.model import QUEUED
from lapwing._label.session import CLOSED, Event, Receipt, Session

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
Question: TypeAlias = Callable[[Session, Mapping[str, str]], Any]
Download: TypeAlias = Callable[[Session], bytes]

_LOG = logging.getLogger("lapwing")
_BODY = 8 * 2**20  # 200,000 rows are 1.4 MB
_BODY_SECONDS = 30.0
_THREADS = 6
_STREAMS = 24
_WAITING_EVENTS = 256
_HEARTBEAT = 15.0  # seconds; detects closed connections
_MEDIA_TYPES = {
    "js": "text/javascript",
    "css": "text/css",
    "html": "text/html",
    "csv": "text/csv",
    "txt": "text/plain",
}
_BINARY = "application/octet-stream"

_LIST = re.compile(r"\d{1,9}(?:,\d{1,9})*")
_MOST_NAMED = 200
_MOST_LETTERS = 200  # of search words

_UNMATCHED = {
    404: "There is nothing at this address.",
    405: "This address does not take this method.",
}


def application(session: Session, token: str, downloads: Mapping[str, Download]) -> ASGIApp:
    """Create the ASGI application of a session.

    Parameters
    ----------
    session : Session
    token : str
        First part of every path.
    downloads : mapping of str to callable
        Functions from the session to the content of a file, by file name.

    Returns
    -------
    ASGI application

    Raises
    ------
    ImportError
        If pydeck is not installed.
    """
    handlers = _Handlers(session, downloads)
    found = Starlette(
        routes=[
            Route("/", handlers.file),
            Route("/static/{name}", handlers.file),
            *(Route(f"/api/{name}", handlers.answer(ask)) for name, ask in QUESTIONS.items()),
            Route("/api/events", handlers.events),
            Route("/api/export/{name}", handlers.export),
            *(
                Route(f"/api/{name}", handlers.act(action), methods=["POST"])
                for name, action in ACTIONS.items()
            ),
        ],
        exception_handlers={
            RequestError: lambda _, error: _refusal(str(error), error.status),
            JournalError: lambda _, error: _refusal(str(error), 507),
            404: lambda *_: _refusal(_UNMATCHED[404], 404),
            405: lambda *_: _refusal(_UNMATCHED[405], 405),
            Exception: _defect,
        },
    )
    return guarded(found, token)


class _Handlers:
    """Handlers of the routes."""

    def __init__(self, session: Session, downloads: Mapping[str, Download]) -> None:
        self._session = session
        self._downloads = downloads
        self._files = _page_files()
        # Further requests are queued. A fit for a download takes as long as the start of the page,
        # and must not delay others.
        self._answering, self._exporting = CapacityLimiter(_THREADS), CapacityLimiter(1)
        self._n_streams = 0

    async def file(self, request: Request) -> Response:
        """Return a file of the page."""
        name = request.path_params.get("name", "index.html")
        if name not in self._files:
            raise RequestError(_UNMATCHED[404], 404)
        return Response(self._files[name].read_bytes(), media_type=_media_type(name))

    def answer(self, ask: Question) -> Handler:
        """Return the handler of a question."""

        async def handle(request: Request) -> Response:
            asked = {**request.query_params, **request.path_params}
            found = await to_thread.run_sync(ask, self._session, asked, limiter=self._answering)
            return found if isinstance(found, Response) else _json(found)

        return handle

    def act(self, action: Action) -> Handler:
        """Return the handler of an action."""

        async def handle(request: Request) -> Response:
            message = read_json(await _body(request), action.members)
            done = await to_thread.run_sync(
                action.call, self._session, message, limiter=self._answering
            )
            return _json({"version": done} if isinstance(done, int) else done._asdict())

        return handle

    async def export(self, request: Request) -> Response:
        """Return a file to download, made from the current labels."""
        name = request.path_params["name"]
        if name not in self._downloads:
            known = ", ".join(self._downloads)
            raise RequestError(f"There is no such file. There are {known}.", 404)
        try:
            write = self._downloads[name]
            content = await to_thread.run_sync(write, self._session, limiter=self._exporting)
        except (ValueError, MemoryError, ImportError) as error:
            raise RequestError(str(error) or "There is not enough memory.", 409) from None
        named = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, headers=named, media_type=_media_type(name))

    async def events(self, request: Request) -> Response:
        """Return a stream of events of the session."""
        if self._n_streams >= _STREAMS:
            raise RequestError("The page is open too often. Close some of its tabs.", 429)
        return StreamingResponse(
            self._stream(), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )

    async def _stream(self) -> AsyncIterator[str]:
        """Generate events, beginning with the present state, so that no change is missed."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Event] = asyncio.Queue(_WAITING_EVENTS)

        def put(event: Event) -> None:
            if queue.full():  # a slow reader needs only the newest event
                queue.get_nowait()
            queue.put_nowait(event)

        def forward(event: Event) -> None:
            with suppress(RuntimeError):  # if the event loop has ended
                loop.call_soon_threadsafe(put, event)

        self._n_streams += 1
        end = self._session.listen(forward)
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


def _page_files() -> dict[str, Traversable]:
    """Return the files of the page by name."""
    page = resources.files("lapwing._label") / "page"
    # deck.gl as a whole, served from where its wheel was installed: docs/notes/label.md says why.
    drawing = resources.files(require("pydeck", extra="label", purpose="The page to label on"))
    library = drawing.joinpath("nbextension", "static", "index.js")
    return {file.name: file for file in page.iterdir()} | {"map.js": library}


def _media_type(name: str) -> str:
    return _MEDIA_TYPES.get(name.rpartition(".")[2], _BINARY)


def _json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    # In ASCII, as texts of a table can have lone surrogates, which UTF-8 cannot encode.
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Response(text, status, headers, "application/json")


def _refusal(message: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    return _json({"error": message}, status, headers)


def _defect(request: Request, error: Exception) -> Response:
    _LOG.error("the page to label on: %s", error, exc_info=error)
    return _refusal(
        f"Unexpected {type(error).__name__}. This is a defect of lapwing: please report it. "
        "Labels that were saved are safe.",
        500,
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
        raise RequestError("The message is not JSON.") from None
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
    text = (percent or "").strip().removesuffix("%").strip().replace(",", ".")
    if not text:
        return None
    if not re.fullmatch(r"\d{1,2}(\.\d{1,3})?", text) or not 0.1 <= float(text) <= 50:
        raise RequestError("The error to reach is a number of percent from 0.1 to 50, such as 5.")
    return float(text) / 100


def whole_numbers(text: str, name: str) -> list[int]:
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


def _suggest(session: Session, asked: Mapping[str, str]) -> list[int]:
    k = whole(asked.get("k", str(QUEUED)), "k")
    return session.suggest(k, whole_numbers(asked.get("skip", ""), "skip"))


def _find(session: Session, asked: Mapping[str, str]) -> list[int]:
    words = asked.get("words", "")[:_MOST_LETTERS]
    query = Query(words, asked.get("class"), asked.get("by", "either"), asked.get("state", ""))
    return session.find(query)


def _colours(session: Session, asked: Mapping[str, str]) -> Response:
    version, learnt, content = session.colours()
    versions = {"x-version": str(version), "x-model-version": str(learnt)}
    return Response(content, headers=versions, media_type=_BINARY)


def _image(session: Session, asked: Mapping[str, str]) -> Response:
    kind, content = session.image(whole(asked["row"], "The row"))
    return Response(content, media_type=kind)


# By the last part of their address: questions that are answered as JSON, if not by a Response.
QUESTIONS: Mapping[str, Question] = {
    "state": lambda session, asked: session.state(),
    "rows": lambda session, asked: session.rows(whole_numbers(asked.get("ids", ""), "ids")),
    "find": _find,
    "suggest": _suggest,
    "map/{key}": lambda session, asked: Response(session.map(asked["key"]), media_type=_BINARY),
    "colours": _colours,
    "image/{row}": _image,
}


class Action(NamedTuple):
    """Action of the page.

    Attributes
    ----------
    members : mapping of str to type
        Members that its message can have.
    call : callable
        From the session and the message to a receipt, or to the version.
    """

    members: Mapping[str, type]
    call: Callable[[Session, Any], Receipt | int]


def _label(session: Session, message: Mapping[str, Any]) -> Receipt:
    rows = read_rows(message.get("rows"))
    if message.get("take") == "model" and "label" not in message:
        return session.take(rows, message.get("model"))
    if "label" in message and message.keys().isdisjoint(("take", "model")):
        return session.give(rows, message["label"])
    raise RequestError('The message has either a "label", or "take": "model".')


def _mark(session: Session, message: Mapping[str, Any]) -> int:
    rows, kind = read_rows(message.get("rows")), message.get("mark") or ""
    return session.mark(rows, kind, bool(message.get("on", True)))


def _class_of(message: Mapping[str, Any], member: str) -> str:
    name: str | None = message.get(member)
    if name is None:
        raise RequestError(f'The message must say which class: "{member}".')
    return name


ACTIONS: Mapping[str, Action] = {
    "batch": Action({"rows": list, "label": str, "take": str, "model": int}, _label),
    "undo": Action({"batch": int}, lambda session, m: session.undo(m.get("batch"))),
    "classes": Action({"name": str}, lambda session, m: session.add_class(m.get("name"))),
    "drop": Action(
        {"class": str, "into": str},
        lambda session, m: session.drop_class(_class_of(m, "class"), m.get("into")),
    ),
    "mark": Action({"rows": list, "mark": str, "on": bool}, _mark),
    "target": Action(
        {"percent": str}, lambda session, m: session.set_target(read_target(m.get("percent")))
    ),
    "rename": Action(
        {"from": str, "to": str},
        lambda session, m: session.rename_class(_class_of(m, "from"), m.get("to")),
    ),
}

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
# Any port, as users of other machines connect through a tunnel with another port. Starlette's
# TrustedHostMiddleware would refuse in plain text that does not say which address to open.
_HOST = re.compile(r"(?:127\.0\.0\.1|localhost)(?::\d{1,5})?", re.IGNORECASE)
_METHODS = ("GET", "HEAD", "POST")
_CHECKED_HEADERS = ("host", "origin", "content-type", "sec-fetch-site", "sec-fetch-mode")


def guarded(application: ASGIApp, token: str) -> ASGIApp:
    """Wrap an ASGI application, which gets only valid requests under ``/token``."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # other protocols are not supported; uvicorn closes the connection

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            _check_request(scope, token)
        except RequestError as error:
            # The body is not read, so the connection cannot be used again.
            refusal = _refusal(str(error), error.status, {"connection": "close"})
            await refusal(scope, receive, answer)
        else:
            await application({**scope, "root_path": f"/{token}"}, receive, answer)

    return guard


def _check_request(scope: Scope, token: str) -> None:
    """Raise a RequestError unless a request is from the page, or opens it."""
    headers, method = Headers(scope=scope), scope["method"]
    if any(len(headers.getlist(name)) > 1 for name in _CHECKED_HEADERS):
        raise RequestError("A header is given twice.")
    host = headers.get("host", "")
    if not _HOST.fullmatch(host):
        raise RequestError("Open the page at the address that lapwing label shows.", 403)
    if method not in _METHODS:
        raise RequestError("Only GET and POST are answered.", 405)
    # Checked before anything that would give information to outsiders.
    start = scope["path"][: len(token) + 2].encode("utf-8", "replace")
    if not secrets.compare_digest(start, f"/{token}/".encode("ascii")):
        raise RequestError("There is nothing here. Open the address that lapwing label shows.", 404)
    # A link to the page may be on any site, such as a notebook, but not requests for its data.
    navigation = headers.get("sec-fetch-mode") == "navigate" and method == "GET"
    same_site = headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    same_origin = headers.get("origin", f"http://{host}").lower() == f"http://{host}".lower()
    if not same_origin or not (same_site or navigation):
        raise RequestError("Another page has sent this request. Only the page itself may.", 403)
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if method == "POST" and kind != "application/json":
        # For JSON from other sites browsers send a preflight request, which is not answered.
        raise RequestError("The message must be JSON, with the Content-Type application/json.", 415)
