"""Server of the page: allowed requests, refused ones, overload."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import lapwing
from lapwing._label import server as application
from lapwing._label import serving
from lapwing._label.server import CONTENT_SECURITY_POLICY, HEADERS
from lapwing._label.serving import LabelServer
from tests.label.pages import CLASSES, TRUTH, Browser, X

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

IMAGES = np.arange(60 * 2 * 3, dtype=np.uint8).reshape(60, 2, 3)


def serve() -> LabelServer:
    texts = [f"text <b>{row}</b>" for row in range(60)]
    found = lapwing.label(X, images=IMAGES, texts=texts, embedding=X, journal=None, browser=False)
    assert found.session.wait()
    return found


@pytest.fixture
def server() -> Iterator[LabelServer]:
    """A server to label on."""
    with serve() as found:
        yield found


@pytest.fixture
def browser(server: LabelServer) -> Browser:
    return Browser(server.url)


@pytest.fixture(scope="module")
def refusing() -> Iterator[Browser]:
    """A server that no test changes."""
    with serve() as found:
        yield Browser(found.url)


def test_labels_are_given_undone_and_read(browser: Browser, server: LabelServer) -> None:
    for name in CLASSES:
        assert browser.post("api/batch", {"rows": [TRUTH.index(name)], "label": name}).status == 200
    assert server.session.wait()
    answer = browser.post("api/batch", {"rows": [30, 31], "take": "model"})
    assert answer.json == {"version": 4, "batch": 4, "n_rows": 2}
    state = browser.get("api/state")
    assert state["given"] == server.session.history.counts()
    assert state["n_labeled"] == 5
    assert [kind["key"] for kind in state["maps"]] == ["own", "components", "graph"]
    assert (state["has_text"], state["has_image"], state["journal"]) == (True, True, None)
    assert browser.post("api/undo", {"batch": 2}).json == {"version": 5, "batch": 2, "n_rows": 1}
    assert browser.post("api/undo", {}).json["batch"] == 4
    assert browser.post("api/classes", {"name": " x "}).json == {"version": 7}
    assert browser.get("api/state")["classes"] == [*CLASSES, "x"]
    assert browser.post("api/batch", {"rows": [0], "label": None}).json["version"] == 8
    assert server.session.wait()
    answer = browser.ask("GET", "api/colours")
    assert len(answer.content) == 4 + 60 * 5
    with mock.patch.object(type(server.session), "colours", return_value=(8, 7, b"")):
        headers = browser.ask("GET", "api/colours").headers
    assert (headers["x-version"], headers["x-model-version"]) == ("8", "7")
    places = np.frombuffer(browser.ask("GET", "api/map/own").content, "<f4", 120, offset=244)
    np.testing.assert_allclose(places.reshape(2, 60).T, X, rtol=1e-6)
    rows = browser.get("api/rows?ids=3,1")
    assert [row["row"] for row in rows] == [3, 1]
    assert rows[1]["text"] == "text <b>1</b>"
    assert len(browser.get("api/suggest?k=7&skip=1,2")) == 7


def test_rows_can_be_found_and_marked_and_a_target_set(
    browser: Browser, server: LabelServer
) -> None:
    server.session.give([7, 8], "u")
    assert browser.get("api/find?class=u&by=given") == [7, 8]
    for on, found in ({}, [8]), ({"on": False}, []):
        assert browser.post("api/mark", {"rows": [8], "mark": "flagged", **on}).status == 200
        assert browser.get("api/find?class=u&by=given&state=flagged") == found
    assert "true or false" in browser.post("api/mark", {"rows": [8], "on": 1}).error
    for percent, target in (("2.5", 0.025), ("2,5", 0.025), (" 0.5 %", 0.005), ("", None)):
        assert browser.post("api/target", {"percent": percent}).status == 200
        assert browser.get("api/state")["target"] == target
    for wrong in ("0", "51", "five", "-1"):
        assert "from 0.1 to 50" in browser.post("api/target", {"percent": wrong}).error


def test_images_are_served_as_png(refusing: Browser) -> None:
    answer = refusing.ask("GET", "api/image/5")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/png")
    np.testing.assert_array_equal(Image.open(BytesIO(answer.content)), IMAGES[5])


def test_labels_are_downloaded(browser: Browser, server: LabelServer) -> None:
    browser.post("api/batch", {"rows": [4, 5], "label": "7"})
    assert server.labels()[:6].tolist() == [None, None, None, None, "7", "7"]
    csv = browser.ask("GET", "api/export/labels.csv")
    assert csv.content == b"index,label,chosen\n4,7,\n5,7,\n"
    assert csv.headers["content-disposition"] == 'attachment; filename="labels.csv"'
    assert browser.ask("GET", "api/export/labels.txt").content == b"\n" * 4 + b"7\n7\n" + b"\n" * 54
    message = browser.refused(409, "GET", "api/export/predictions.csv")
    assert message.startswith("the page holds only one class, '7'; two are needed.")


@pytest.mark.parametrize("path", ["/", "/x/", "/{wrong}/", "/{short}/", "/{token}", "/{token}x/"])
@pytest.mark.parametrize("address", ["", "api/state", "static/label.js"])
def test_rejects_requests_without_the_token(refusing: Browser, path: str, address: str) -> None:
    token = refusing.path.strip("/")
    path = path.format(token=token, wrong="A" * len(token), short=token[:-1])
    if path == f"/{token}" and address:
        path += "%00/"
    answer = refusing.ask("GET", address, path=path)
    assert (answer.status, answer.headers.get("connection")) == (404, "close")
    assert answer.error == "There is nothing here. Open the address that lapwing label shows."


# DNS rebinding: pages of other names with the same address.
OTHER_HOSTS = (
    *("evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "", "127.0.0.2"),
    *("localhost:1@evil.example", "[::1]:{port}"),
)
# Another port is that of a tunnel.
OWN_HOSTS = ("127.0.0.1:{port}", "localhost:{port}", "LocalHost:1", "127.0.0.1")
OTHER_ORIGINS = (
    *("http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"),
    *("http://localhost:{port}", ""),
)
OTHER_SITE = {"Origin": "http://evil.example"}
CROSS_SITE = {"Origin": None, "Sec_Fetch_Site": "cross-site"}
FORM_TYPES = ("text/plain", "application/x-www-form-urlencoded", None)


@pytest.mark.parametrize(
    ("headers", "get", "post", "message"),
    [
        *(({"Host": host, "Origin": None}, 403, 403, "Open the page at") for host in OTHER_HOSTS),
        *(({"Host": host, "Origin": f"http://{host}"}, 200, 400, "") for host in OWN_HOSTS),
        *(({"Origin": origin}, 403, 403, "Another page has sent") for origin in OTHER_ORIGINS),
        (CROSS_SITE, 403, 403, "Another page has sent"),
        ({**CROSS_SITE, "Sec_Fetch_Mode": "no-cors"}, 403, 403, "Another page has sent"),
        # A notebook's link to the page.
        ({**CROSS_SITE, "Sec_Fetch_Mode": "navigate"}, 200, 403, "Another page has sent"),
        *(({"Content_Type": kind}, 200, 415, "The message must be JSON") for kind in FORM_TYPES),
    ],
)
def test_only_requests_of_the_page_are_answered(
    refusing: Browser, headers: dict[str, str | None], get: int, post: int, message: str
) -> None:
    given = {name: value and value.format(port=refusing.port) for name, value in headers.items()}
    read = refusing.ask("GET", "api/state", **given)
    written = refusing.ask("POST", "api/batch", b"{}", **given)
    assert (read.status, written.status) == (get, post)
    assert written.error.startswith(message)
    assert get == 200 or read.error == written.error


@pytest.mark.parametrize(
    ("status", "method", "address", "options"),
    [
        *((200, "GET", address, {}) for address in ("api/state", "api/image/1")),
        (200, "GET", "api/export/labels.csv", {}),
        *((404, "GET", address, {}) for address in ("nowhere", "static/nowhere.js", "api/map/no")),
        (404, "GET", "", {"path": "/"}),
        *((405, method, "api/batch", {}) for method in ("GET", "PUT")),
        (405, "OPTIONS", "api/batch", {**OTHER_SITE, "Access_Control_Request_Method": "POST"}),
        (403, "GET", "api/state", OTHER_SITE),
        (400, "POST", "api/batch", {"body": b"x"}),
    ],
)
def test_all_answers_have_the_security_headers(
    refusing: Browser, status: int, method: str, address: str, options: dict[str, Any]
) -> None:
    answer = refusing.ask(method, address, **options)
    assert answer.status == status
    assert answer.headers.items() >= HEADERS.items()
    assert not [name for name in answer.headers if name.startswith(("access-control", "server"))]


def test_page_runs_its_own_code_only(refusing: Browser) -> None:
    assert refusing.ask("GET", "").content.startswith(b"<!doctype html>")
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert "default-src 'none'" in CONTENT_SECURITY_POLICY


@pytest.mark.parametrize(
    ("address", "body", "message"),
    [
        ("api/batch", b"", "The message must be a JSON object."),
        ("api/batch", b"{", "The message is not JSON."),
        ("api/batch", b"\xff\xfe", "The message is not JSON."),
        ("api/batch", b"[" * 100_000, "The message is not JSON."),
        ("api/batch", b'{"rows":' + b"9" * 10_000 + b"}", "The message is not JSON."),
        ("api/batch", b'{"rows":[NaN],"label":"u"}', "The message is not JSON."),
        ("api/batch", b"[]", "The message must be a JSON object."),
        ("api/batch", b"{}", "The message must say which rows"),
        ("api/batch", b'{"rows":"1","label":"u"}', "'rows' must be a list."),
        ("api/batch", b'{"rows":[true],"label":"u"}', "Rows must be whole numbers."),
        ("api/batch", b'{"rows":[1.0],"label":"u"}', "Rows must be whole numbers."),
        ("api/batch", b'{"rows":[null],"label":"u"}', "Rows must be whole numbers."),
        ("api/batch", b'{"rows":[1e400],"label":"u"}', "Rows must be whole numbers."),
        ("api/batch", b'{"rows":[' + b"9" * 4000 + b'],"label":"u"}', "There is no row of that"),
        # 200,000 rows are not too long a message; here there are only too many.
        ("api/batch", b'{"rows":[1' + b",1" * 200_000 + b'],"label":"u"}', "There are more rows"),
        ("api/batch", b'{"rows":[1],"label":7}', "'label' must be a text."),
        ("api/batch", b'{"rows":[1],"label":"u","take":"model"}', 'either a "label", or "take"'),
        ("api/batch", b'{"rows":[1],"take":"all"}', 'either a "label", or "take"'),
        ("api/batch", b'{"rows":[1]}', 'either a "label", or "take"'),
        ("api/batch", b'{"rows":[1],"take":"model","model":0.5}', "'model' must be a whole number"),
        ("api/batch", b'{"rows":[1],"lable":"u"}', "has 'lable'; it can have rows, label, take"),
        ("api/undo", b'{"batch":"1"}', "'batch' must be a whole number."),
        ("api/undo", b'{"batch":true}', "'batch' must be a whole number."),
        ("api/classes", b"{}", "The name of a class must be a text."),
        ("api/rename", b'{"from":"u"}', "The name of a class must be a text."),
        ("api/rename", b'{"to":"u"}', "The message must say which class"),
        ("api/rename", b'{"from":1,"to":"u"}', "'from' must be a text."),
    ],
)  # fmt: skip
def test_rejects_malformed_messages(
    refusing: Browser, address: str, body: bytes, message: str
) -> None:
    assert message in refusing.refused(400, "POST", address, body)
    assert refusing.get("api/state")["version"] == 0


INVALID = {
    400: """
        rows?ids=x rows?ids=1, rows?ids=99999999999 rows?ids={many} rows?ids=60 find?words=+
        image/x image/-1 image/60 suggest?k=0 suggest?k=101 suggest?k=1e3 suggest?skip=77
    """,
    404: """
        map/../state ../static/..%2fserver.py ../static/..%5cserver.py ../static/__init__.py
        ../static/.js export/passwd %ff%fe
    """,
}


@pytest.mark.parametrize(
    ("address", "status"),
    [(address, status) for status, text in INVALID.items() for address in text.split()],
)
def test_rejects_invalid_addresses(refusing: Browser, address: str, status: int) -> None:
    address = f"api/{address}".removeprefix("api/../").format(many=",".join(["1"] * 201))
    assert refusing.refused(status, "GET", address).endswith(".")


def test_rejects_too_long_messages(refusing: Browser) -> None:
    message = refusing.refused(413, "POST", "api/batch", b" " * (9 * 2**20))
    assert message == "The message is too long. Select fewer rows at once."


def raw(browser: Browser, content: bytes) -> bytes:
    """Whatever the server answers to these bytes."""
    with socket.create_connection((browser.host, browser.port), timeout=60) as connection:
        try:
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(65536)
        except OSError:
            return b""


def test_rejects_repeated_headers(refusing: Browser) -> None:
    host = f"127.0.0.1:{refusing.port}"
    origins = f"Origin: http://{host}\r\nOrigin: http://evil.example\r\n"
    request = f"GET {refusing.path}api/state HTTP/1.1\r\nHost: {host}\r\n{origins}\r\n"
    assert raw(refusing, request.encode()).startswith(b"HTTP/1.1 400")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.booleans())
def test_survives_garbage(refusing: Browser, garbage: bytes, begun: bool) -> None:
    start = f"POST {refusing.path}api/batch HTTP/1.1\r\nHost: {refusing.host}\r\n".encode()
    answer = raw(refusing, start * begun + garbage)
    assert not answer.startswith(b"HTTP/1.1 5")
    assert refusing.get("api/state")["version"] == 0


def test_slow_headers_and_messages_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_HEADERS", 0.2)
    monkeypatch.setattr(application, "_BODY_SECONDS", 0.2)
    with serve() as found:
        browser = Browser(found.url)
        begin = f"POST {browser.path}api/batch HTTP/1.1\r\nHost: {browser.host}\r\n"
        more = "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        for sent, expected in (("", b""), (begin, b""), (begin + more, b"HTTP/1.1 408")):
            with socket.create_connection((browser.host, browser.port), timeout=60) as connection:
                connection.sendall(sent.encode())
                assert connection.recv(100).startswith(expected)
                assert expected or connection.recv(1) == b""
        # One that goes on after a request has the time for the next one.
        with socket.create_connection((browser.host, browser.port), timeout=60) as connection:
            for _ in range(2):
                ask = f"GET {browser.path}api/state HTTP/1.1\r\nHost: {browser.host}\r\n\r\n"
                connection.sendall(ask.encode())
                # To its end: head and body can come apart, and the rest would be the next answer.
                answer = http.client.HTTPResponse(connection)
                answer.begin()
                assert (answer.status, bool(answer.read())) == (200, True)
                time.sleep(0.4)
            connection.sendall(b"GET ")
            while connection.recv(2**20):
                pass


def test_many_and_incomplete_requests_do_not_block_others(
    server: LabelServer, browser: Browser
) -> None:
    """More connections without a complete request than the server has room for."""
    silent = []
    for k in range(230):
        silent.append(socket.create_connection((browser.host, browser.port)))
        if k % 2:
            silent[-1].sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")

    def ask(k: int) -> int:
        if k % 4 == 0:
            return browser.post("api/batch", {"rows": [k % 60], "label": CLASSES[k % 3]}).status
        if k % 4 == 1:
            return browser.post("api/batch", {"rows": [k], "label": "u"}).status
        path = "/" if k % 4 == 2 else None
        return browser.ask("GET", "api/colours", path=path).status

    with ThreadPoolExecutor(16) as pool:
        assert [*pool.map(ask, range(60, 200))] == 35 * [200, 400, 404, 200]
    state = browser.get("api/state")
    assert (state["version"], state["n_labeled"]) == (35, len({k % 60 for k in range(60, 200, 4)}))
    assert [step["batch"] for step in state["history"]] == list(range(1, 36))
    silent[0].settimeout(60)
    assert silent[0].recv(1) == b"", "the oldest was closed"
    for connection in silent:
        connection.close()
    assert server.session.wait()


def test_address_is_kept_in_the_journal(tmp_path: Path) -> None:
    def opened(**options: Any) -> LabelServer:
        return lapwing.label(X, journal=tmp_path / "j", browser=False, **options)

    with opened() as first:
        pass
    with opened() as second:
        assert second.url == first.url
        assert second._listener.getsockname()[0] == "127.0.0.1"
    known = Browser(first.url)
    with socket.create_server(("127.0.0.1", known.port)):
        with opened() as third:  # another port, as this one is taken
            assert Browser(third.url).path == known.path
            assert Browser(third.url).port != known.port
        with pytest.raises(OSError, match=f"Port {known.port} of 127.0.0.1 is not available: an"):
            opened(port=known.port)
    (tmp_path / "j.address").write_text("http://127.0.0.1:99999/short/")
    with opened() as fourth:
        assert len(Browser(fourth.url).path.strip("/")) == 32
        assert Browser(fourth.url).path != known.path


def test_number_of_event_streams_is_limited(refusing: Browser) -> None:
    streams = [Stream(refusing) for _ in range(24)]
    message = refusing.refused(429, "GET", "api/events")
    assert message == "The page is open too often. Close some of its tabs."
    for stream in streams:
        stream.close()
    assert refusing.get("api/state")["version"] == 0


class Stream:
    """Events of a server."""

    def __init__(self, browser: Browser) -> None:
        self._connection = http.client.HTTPConnection(browser.host, browser.port, timeout=60)
        self._connection.request("GET", f"{browser.path}api/events")
        self._answer = self._connection.getresponse()
        assert self._answer.getheader("content-type", "").startswith("text/event-stream")
        self.next()

    def next(self) -> dict[str, Any]:
        line = self._answer.readline()
        while not line.startswith(b"data: "):
            assert line[:1] not in (b"", b":"), "the end, or no event for as long as a heartbeat"
            line = self._answer.readline()
        found: dict[str, Any] = json.loads(line[6:])
        return found

    def until(self, part: str, version: int) -> None:
        while self.next() != {"version": version, "part": part}:
            pass

    def close(self) -> None:
        # A tab that is closed says no goodbye either.
        self._answer.close()
        self._connection.close()


def test_all_streams_get_the_events(browser: Browser, server: LabelServer) -> None:
    one, other, heard = Stream(browser), Stream(browser), list[Any]()
    browser.post("api/batch", {"rows": [TRUTH.index("u")], "label": "u"})
    browser.post("api/batch", {"rows": [TRUTH.index("v")], "label": "v"})
    states = []
    for stream in (one, other):
        for version in (1, 2):
            stream.until("labels", version)
        stream.until("model", 2)
        stream.until("advice", 2)
        states.append(browser.get("api/state"))
        stream.close()
    assert states[0] == states[1]
    assert states[0]["model"]["version"] == 2
    end = server.session.listen(heard.append)
    server.session.undo(2)
    assert heard[0] == (3, "labels")
    for _ in range(2):
        end()
    server.session.undo(1)
    assert (4, "labels") not in heard


def test_streams_end_with_the_server(capfd: pytest.CaptureFixture[str]) -> None:
    found = lapwing.label(X, journal=None, browser=False)
    stream = Stream(Browser(found.url))
    assert found.session.rest()
    ThreadPoolExecutor(1).submit(found.close).result(10)
    stream.until("closed", 0)
    stream.close()
    assert capfd.readouterr() == ("", "")


def test_defects_are_reported_and_survived(browser: Browser, server: LabelServer) -> None:
    fail = mock.Mock(side_effect=ZeroDivisionError("a secret of the table"))
    with mock.patch.object(type(server.session), "state", fail):
        message = browser.refused(500, "GET", "api/state")
    assert message.startswith("Unexpected ZeroDivisionError. This is a defect of lapwing")
    assert "secret" not in message
    assert browser.get("api/state")["version"] == 0
