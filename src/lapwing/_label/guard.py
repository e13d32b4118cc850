"""Who may ask: the right token, this host, this origin; and what every answer carries.

The server is bound to the loopback, so that only programs of this machine reach it. Other users and
other pages of the same browser are such programs: the token keeps both out, and `Host` and `Origin`
a page elsewhere whose name was made to lead here (DNS rebinding). Nothing here needs Starlette: it
is plain ASGI around the application.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

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
    "referrer-policy": "no-referrer",  # the address has the token
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
# Any port: whoever sits at another machine comes through a tunnel, from a port of their own.
_HOST = re.compile(r"(?:127\.0\.0\.1|localhost)(?::\d{1,5})?", re.IGNORECASE)
_METHODS = ("GET", "HEAD", "POST")


class Guard:
    """ASGI around an application, which sees what is behind ``/token`` of proper requests only.

    Parameters
    ----------
    application : ASGI application
    token : str
    """

    def __init__(self, application: Application, token: str) -> None:
        self._application = application
        self._token = token.encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the application answer."""
        if scope["type"] != "http":
            return  # nothing else is offered; uvicorn closes the connection

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
        # Before all that an outsider could learn from.
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
    # A link to the page may be anywhere, in a notebook above all; what the page loads may not.
    walked = headers.get("sec-fetch-mode") == "navigate" and method == "GET"
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none") and not walked:
        return elsewhere
    if method == "POST" and headers.get("content-type", "").partition(";")[0].strip().lower() != (
        "application/json"
    ):
        # Browsers ask before they send JSON elsewhere, and nobody answers them.
        return 415, "The message must be JSON, with the Content-Type application/json."
    return None


def _headers(scope: Scope) -> dict[str, str] | None:
    """The headers that are looked at; None if one of them is there twice."""
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
        # What was sent along is not read: the connection is of no more use.
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
