"""Page in Chromium with its server, as it is used.

Nothing here waits for a time: each wait is for something that the page shows.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import lapwing
from lapwing import LapSVC
from tests.helpers.browser import CHROMIUM, PATIENCE, View, chromium

for package in ("playwright.sync_api", "starlette", "pydeck"):
    pytest.importorskip(package, reason=f"{package} is not installed")

pytestmark = [
    pytest.mark.slow,  # a browser draws by the processor here
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
]

FOCUSED = """() => { const e = document.activeElement;
  return e.id || e.closest('[id]')?.id || e.tagName; }"""


class Tab(View):
    """A page to label on."""

    def __init__(self, context: Any, url: str, before: str = "") -> None:
        super().__init__(context, url, 1280, before=before)
        self.until(lambda: before or self.ask("document.documentElement.dataset.drawn"))
        self.until(lambda: "Opening" not in self.status)

    def until(self, met: Callable[[], Any]) -> Any:
        """Wait until something is so; the page's policy forbids Playwright's wait_for_function."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = met()
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError(f"Too late. The page says {self.status!r}.")

    @property
    def status(self) -> str:
        return str(self.page.inner_text("#status"))

    @property
    def drawn(self) -> tuple[int, int]:
        """The versions of the labels and of the model whose colours are drawn."""
        labels, model = self.ask("document.documentElement.dataset.drawn").split("/")
        return int(labels), int(model)

    def says(self, words: str) -> None:
        self.until(lambda: words in self.status)

    def shows(self, what: str, n: int) -> None:
        """Wait until so many elements are there."""
        self.until(lambda: self.page.locator(what).count() == n)

    def lasso(self, n: int) -> None:
        """Select the rows of the left half, of which there are so many."""
        self.drag(*LEFT)
        self.until(lambda: self.selected() == n)

    def press(self, *keys: str, says: str = "") -> None:
        """Press keys, and wait until the page says these words."""
        for key in keys:
            self.page.keyboard.press(key)
        self.says(says)

    def given(self) -> dict[str, int]:
        """The labels of each class, as the page shows them."""
        texts: list[list[str]] = self.ask(
            "() => [...document.querySelectorAll('#classes li')].map("
            "e => ['.what', '.count'].map(part => e.querySelector(part).textContent))"
        )
        return {name: int(count.replace(",", "")) for name, count in texts}

    def selected(self) -> int:
        found = re.match(r"([\d,]+) rows?", self.page.inner_text("#selection-title"))
        return int(found[1].replace(",", "")) if found else 0

    def drag(self, *places: tuple[float, float]) -> None:
        """Draw on the map; places go from 0 to 1."""
        self.page.locator("#map").scroll_into_view_if_needed()
        box = self.page.locator("#map").bounding_box()
        points = [(box["x"] + u * box["width"], box["y"] + v * box["height"]) for u, v in places]
        self.page.mouse.move(*points[0])
        self.page.mouse.down()
        for point in points[1:]:
            self.page.mouse.move(*point, steps=3)
        self.page.mouse.up()


LEFT = ((0.01, 0.01), (0.499, 0.01), (0.499, 0.99), (0.01, 0.99))


def blobs(n: int) -> np.ndarray:
    """Two heaps, the left one with the rows of even number; the axes are the principal ones."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 2)) * [0.4, 0.9]
    X[:, 0] += np.where(np.arange(n) % 2 == 0, -3.0, 3.0)
    return X


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as context:
        yield context


Label = Callable[..., tuple[Any, Tab]]


@pytest.fixture
def label(context: Any) -> Iterator[Label]:
    """Serve rows, and open their page."""
    tabs: list[Tab] = []
    with ExitStack() as servers:

        def label_them(*data: Any, before: str = "", **options: Any) -> tuple[Any, Tab]:
            options = {"journal": None, "classes": ["left", "right"], **options}
            server = servers.enter_context(lapwing.label(*data, browser=False, **options))
            tabs.append(Tab(context, server.url, before))
            return server, tabs[-1]

        yield label_them
        for tab in tabs:
            tab.page.close()
        for tab in tabs:
            assert tab.complaints == []
            assert [url for url in tab.requests if not url.startswith((tab.url, "data:"))] == []


def side_of(tab: Tab) -> str:
    """The class of the selected row, by where it lies: the left heap has the even rows."""
    return "1" if int(tab.page.inner_text("#card .which b")) % 2 == 0 else "2"


def test_labels_half_of_a_hundred_thousand_points_undoes_and_reloads(label: Label) -> None:
    half = 50_000
    # The smallest model: this tests the page.
    model = lapwing.LapERLSClassifier(
        n_eigenvectors=3, space=lapwing.Landmarks(20), graph=lapwing.KNNGraph(3)
    )
    server, tab = label(blobs(2 * half), model=model)
    assert "100,000 rows" in tab.page.inner_text("#map-legend")
    assert tab.given() == {"left": 0, "right": 0}
    tab.press("1", says="Select rows first")
    tab.lasso(half)
    tab.press("1", says="Saved: 50,000 rows are left")
    # Which heap is on the left, the principal components may choose.
    labels = server.labels().tolist()
    assert [labels[::2].count("left"), labels[1::2].count("left")] in ([half, 0], [0, half])
    # The selection is still there: one more key corrects it.
    assert tab.selected() == half
    tab.press("2", says="Saved: 50,000 rows are right")
    tab.until(lambda: tab.given() == {"left": 0, "right": half})
    tab.press("Backspace", says="Taken back: 50,000 rows")
    tab.until(lambda: tab.given() == {"left": half, "right": 0})
    # A step from further back can be taken back, too.
    assert tab.page.locator("#steps li").count() == 2
    tab.page.locator("#steps li button").click()
    tab.until(lambda: tab.given() == {"left": 0, "right": 0})
    assert tab.page.locator("#steps li.taken-back").count() == 2
    assert all(name is None for name in server.labels())
    tab.press("1", says="Saved: 50,000 rows are left")
    tab.page.reload()
    tab.says("Opened: 50,000 labels so far")
    tab.until(lambda: tab.given() == {"left": half, "right": 0})


def test_renames_a_class_and_undoes_it(label: Label) -> None:
    server, tab = label(blobs(120))
    tab.lasso(60)
    tab.press("1", says="Saved: 60 rows are left")
    tab.page.get_by_role("button", name="Rename left", exact=True).click()
    tab.until(lambda: tab.page.inner_text("#rename-title") == "Rename “left”")
    tab.press(*"<b>west</b>", "Enter", says="“left” is called “<b>west</b>”")
    tab.until(lambda: tab.given() == {"<b>west</b>": 60, "right": 0})
    assert {name for name in server.labels() if name is not None} == {"<b>west</b>"}
    assert "left is called <b>west</b>" in tab.page.inner_text("#steps li")
    # Esc leaves all as it is, and so does the same name.
    for keys in ((*"east", "Escape"), ("Enter",)):
        tab.page.get_by_role("button", name="Rename right", exact=True).click()
        tab.press(*keys)
        tab.until(lambda: not tab.page.locator("#rename").is_visible())
    tab.page.get_by_role("button", name="Rename right", exact=True).click()
    tab.press(*"<b>west</b>", "Enter", says="There is a class '<b>west</b>' already")
    (complaint,) = tab.complaints  # Chromium's own, of an answer that refuses
    assert "409" in complaint
    tab.complaints.clear()
    tab.press("Backspace", says="Taken back: the class has its name of before.")
    tab.until(lambda: tab.given() == {"left": 60, "right": 0})


def test_clicks_and_focus_survive_updates(label: Label) -> None:
    _, tab = label(blobs(120))
    focused = "document.activeElement.getAttribute('aria-label')"
    tab.lasso(60)
    tab.page.get_by_role("button", name="Rename left", exact=True).hover()
    tab.page.mouse.down()
    tab.press("1", says="Saved: 60 rows are left")
    tab.until(lambda: tab.given()["left"] == 60)
    assert tab.ask(focused) == "Rename left"
    tab.page.mouse.up()
    tab.until(lambda: tab.page.inner_text("#rename-title") == "Rename “left”")
    tab.press("Escape")
    first = tab.page.locator("#steps li").last
    first.get_by_role("button").hover()
    tab.page.mouse.down()
    said = tab.ask(focused)
    assert said.startswith("Take back: 60 rows: left")
    tab.press("2", says="Saved: 60 rows are right")
    tab.shows("#steps li", 2)
    assert tab.ask(focused) == said
    first.get_by_role("button").hover()  # the new step has moved it down
    tab.page.mouse.up()
    tab.shows("#steps li.taken-back", 1)


def test_selects_by_box_shift_alt_and_click(label: Label) -> None:
    _, tab = label(blobs(120), texts=[f"<b>row</b> {i} & more" for i in range(120)])
    tab.press("b")
    left, right = ((0.01, 0.01), (0.49, 0.99)), ((0.51, 0.01), (0.99, 0.99))
    tab.drag(*left)
    tab.until(lambda: tab.selected() == 60)
    for key, half, n in (("Shift", right, 120), ("Alt", left, 60)):
        tab.page.keyboard.down(key)
        tab.drag(*half)
        tab.page.keyboard.up(key)
        tab.until(lambda n=n: tab.selected() == n)
    # A click on a ring takes its point, one beside all points takes none.
    tab.shows(".ring", 5)
    ring = tab.page.locator(".ring").first.bounding_box()
    middle = (ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2)
    tab.page.mouse.click(*middle)
    tab.until(lambda: tab.selected() == 1)
    row = tab.page.locator("#queue [aria-selected=true]").get_attribute("data-row")
    assert tab.page.inner_text("#card .which b") == row
    # The tip describes the row under the mouse, with its text escaped.
    tab.page.mouse.move(*middle)
    tab.page.mouse.move(middle[0] + 1, middle[1])
    tab.until(lambda: tab.page.is_visible("#tip"))
    assert f"<b>row</b> {row} &" in tab.page.inner_text("#tip .text")
    tab.press("Escape")
    assert tab.selected() == 0


def right_and_given(server: Any) -> tuple[int, int]:
    """Numbers of labels by where the rows lie, and of all labels."""
    labels = server.labels()
    right = np.count_nonzero(labels == np.resize(["left", "right"], len(labels)))
    return right, sum(name is not None for name in labels)


def test_labels_by_keyboard_only(label: Label) -> None:
    server, tab = label(blobs(120))
    tab.shows("#queue [role=option]", 5)
    server.session.rest()
    # The suggestions: each key shows the next row, each digit labels it and goes on.
    tab.press("n")
    for done in range(4):
        tab.until(lambda: tab.selected() == 1 and tab.page.locator("#card .which b").count() == 1)
        row = tab.page.inner_text("#card .which b")
        tab.press(side_of(tab))
        tab.until(lambda row=row: tab.page.locator("#card .which b").all_inner_texts() != [row])
        tab.until(lambda done=done: sum(tab.given().values()) == done + 1)
    tab.until(lambda: tab.drawn[1] == tab.drawn[0] == server.session.version)
    assert right_and_given(server) == (4, 4)
    # The model's class for all that the queue holds, and back.
    tab.shows("#queue [role=option]", 5)
    tab.press("a")
    tab.until(lambda: tab.selected() == 5)
    tab.press("Enter", says="Saved: 5 rows as the model says")
    assert right_and_given(server) == (9, 9)
    tab.press("Backspace", says="Taken back: 5 rows")
    # A class that is new, typed while rows are selected, and its first letters later.
    tab.press("c", *"odd one")
    assert "New class “odd one”" in tab.page.inner_text("#class-found")
    tab.press("Enter", says="Saved: 5 rows are odd one")
    tab.until(lambda: tab.given().get("odd one") == 5)
    tab.press("c", "o", "Enter", says="Saved: 5 rows are odd one")
    tab.press("u", says="Saved: 5 rows without a label")
    tab.until(lambda: tab.given()["odd one"] == 0)
    # Rows of the table are walked by the arrows, and leave the selection by Delete.
    tab.page.locator("#table tbody tr").first.focus()
    tab.press("ArrowDown", "Delete")
    tab.until(lambda: tab.selected() == 4)
    # The help opens, holds the focus and closes; the keys do nothing behind it.
    tab.press("?")
    tab.page.locator("#keys").wait_for(state="visible")
    tab.press("Backspace")
    assert tab.page.locator("#key-list dt").count() > 10
    tab.press("Escape")
    tab.page.locator("#keys").wait_for(state="hidden")
    assert tab.given()["odd one"] == 0


def test_tab_key_reaches_all_controls(label: Label) -> None:
    _, tab = label(blobs(120), 2 * ["left", "right"] + 116 * [None])
    tab.shows("#queue [role=option]", 5)
    tab.drag(*LEFT)
    tab.shows("#table tbody tr", 25)
    seen: list[str] = []
    for _ in range(100):
        tab.press("Tab")
        seen.append(tab.ask(FOCUSED))
        if seen.count("BODY") == 2:
            break
    seen = seen[seen.index("BODY") :]
    places = {"map", "class-name", "queue", "table", "help", "next", "take", "colouring"}
    assert places <= set(seen)
    # A list is one stop; the arrow keys go through it, and choose.
    assert seen.count("queue") == 1
    tab.page.locator("#queue [role=option]").first.focus()
    assert tab.selected() == 60
    tab.press("Space")
    tab.until(lambda: tab.selected() == 1)
    tab.press("End")
    fifth = tab.page.locator("#queue [role=option]").nth(4)
    tab.until(lambda: fifth.get_attribute("aria-selected") == "true")
    assert tab.page.locator("#status[role=status]").count() == 1
    assert tab.ask("document.querySelectorAll('#map-part img[alt], #map[aria-label]').length") == 2


def test_announces_rows_isolates_names_and_closes_menus(label: Label) -> None:
    texts = [f"Row {row} " + "many words " * 300 for row in range(60)]
    server, tab = label(blobs(60), classes=["כלב", "right"], texts=texts)
    tab.shows("#queue [role=option]", 5)
    tab.press("n")
    tab.until(lambda: "Row " in tab.page.inner_text("#spoken"))
    first = tab.page.inner_text("#spoken")
    tab.press("1")
    tab.until(lambda: tab.page.inner_text("#spoken") != first and server.session.version == 1)
    server.session.give([4, 6], "כלב")
    server.session.give([1, 3, 5], "right")
    assert server.session.rest()
    tab.shows("#queue .says", 5)
    # Names that are written from the right stay apart from the numbers beside them.
    assert tab.ask("() => [...document.querySelectorAll('bdi')].length") >= 7
    tab.press("Control+z", says="Taken back: 3 rows")
    menu = tab.page.locator("#exports")
    for close in (partial(tab.press, "Escape"), tab.page.locator("#source").click):
        menu.locator("summary").click()
        assert menu.get_attribute("open") is not None
        close()
        assert menu.get_attribute("open") is None


def test_shows_the_neighbour_map_and_keeps_the_choice(label: Label) -> None:
    server, tab = label(blobs(120))
    shown = "() => document.querySelector('#which-map').value"
    assert tab.ask(shown) == "components"
    server.session._take_map(blobs(120)[:, ::-1])
    tab.until(lambda: tab.ask(shown) == "neighbours")
    tab.page.select_option("#which-map", "components")
    tab.page.reload()
    tab.shows("#which-map option", 3)
    assert tab.ask(shown) == "components"


def test_axe_finds_no_violations(label: Label) -> None:
    """Before and after labels, with a dialog, with found rows, in the dark and on a phone."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    texts = [f"Row {row} " + "many words " * 60 for row in range(60)]
    long = "a" * 120
    server, tab = label(blobs(60), texts=texts, classes=[long, "right"])

    def check() -> None:
        # Speech users say the words that they see.
        rules = {"label-content-name-mismatch": {"enabled": True}}
        found = axe.run(tab.page, options={"rules": rules}).response["violations"]
        assert [(one["id"], len(one["nodes"])) for one in found] == []
        assert tab.ask("document.documentElement.scrollWidth") == tab.page.viewport_size["width"]

    tab.shows("#queue [role=option]", 5)
    check()
    server.session.give([0, 2, 4], long)
    server.session.give([1, 3, 5], "right")
    assert server.session.rest()
    tab.shows("#queue .says", 5)
    tab.press("n")
    tab.shows("#card .candidates li", 2)
    check()
    tab.press("?")
    tab.until(lambda: tab.page.locator("#keys").is_visible())
    check()
    tab.press("Escape")
    tab.page.select_option("#find-state", "uncertain")
    tab.page.click("#find button")
    tab.until(lambda: tab.selected() != 1)
    check()
    for scheme, ground in (("light", "rgb(250, 249, 246)"), ("dark", "rgb(20, 24, 27)")):
        tab.page.emulate_media(color_scheme=scheme)
        assert tab.ask("getComputedStyle(document.body).backgroundColor") == ground
    check()
    tab.drag(*LEFT)
    tab.shows("#table tbody tr", 25)
    tab.page.set_viewport_size({"width": 390, "height": 844})
    check()


def test_finds_classes_by_their_first_letters(label: Label) -> None:
    names = [*(f"kind {k}" for k in range(13)), 3]
    server, tab = label(blobs(60), classes=names)
    keys = tab.page.locator("#classes kbd").all_inner_texts()
    assert keys == [*"124567890", *4 * [""], "3"]
    signs = tab.page.locator("#classes .sign")
    looks = {
        (sign.get_attribute("class"), sign.locator("path").get_attribute("d"))
        for sign in signs.all()
    }
    assert len(looks) == 14
    tab.lasso(30)
    tab.press("3", says="Saved: 30 rows are 3")
    # An empty box gives nothing; the first letters of several classes take the arrows.
    tab.press("c", "Enter")
    assert tab.page.get_attribute("#class-name", "aria-expanded") == "true"
    tab.press(*"KIND 1")
    found = tab.page.locator("#class-found li").all_inner_texts()
    assert found == ["kind 1", "kind 10", "kind 11", "kind 12", "New class “KIND 1”"]
    tab.press("ArrowDown", "ArrowDown", "ArrowDown", "Enter", says="Saved: 30 rows are kind 12")
    # Errors of the server are shown with its message, and nothing is saved.
    tab.press("c", *"nan", "Enter", says='means "no label" in tables')
    assert tab.page.get_attribute("#status", "data-mood") == "bad"
    assert set(server.labels()) == {None, "kind 12"}
    # The browser notes each answer that is no success.
    assert len(tab.complaints) == 1
    assert "400 (Bad Request)" in tab.complaints.pop()


def test_searches_words_and_marks_supporting_ones(label: Label) -> None:
    texts = [f"{('Cats & dogs', '<b>cars</b> on roads')[k % 2]} {k}" for k in range(40)]
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2)
    model = make_pipeline(vectorizer, LapSVC("linear", gamma_A=0.01))
    server, tab = label(texts, model=model, classes=())
    tab.press("s", *"DOGS 3", "Enter")
    tab.until(lambda: tab.selected() == 5)
    tab.press("s", "x", "Enter", says="No row fits")
    tab.press("Escape")
    server.session.give([0], "pets")
    server.session.give([1], "traffic")
    assert server.session.wait()
    tab.until(lambda: tab.drawn[0] == 2)
    for words, marked in (("dogs 10", ["Cats & dogs"]), ("cars 11", ["cars", "on roads"])):
        tab.page.fill("#search", words)
        tab.page.press("#search", "Enter")
        tab.until(lambda: tab.selected() == 1)
        marks = tab.page.locator(".card mark")
        tab.until(partial(lambda some, all_of: some.all_inner_texts() == all_of, marks, marked))
    assert tab.page.locator(".card .text").inner_text() == "<b>cars</b> on roads 11"


def test_labels_without_webgl(label: Label) -> None:
    refuse = (
        "HTMLCanvasElement.prototype.getContext = new Proxy("
        "HTMLCanvasElement.prototype.getContext,"
        " { apply: (f, e, a) => a[0].startsWith('webgl') ? null : Reflect.apply(f, e, a) });"
    )
    _, tab = label(blobs(120), before=refuse)
    assert "The queue and the table are enough" in tab.page.inner_text("#map-note")
    tab.shows("#queue [role=option]", 5)
    tab.press("a", "2", says="Saved: 5 rows are right")


def test_shows_images_and_curves_and_prints(label: Label) -> None:
    images = np.random.default_rng(0).integers(0, 255, size=(60, 8, 8))
    y = 2 * ["left", "right"] + 56 * [None]
    server, tab = label(blobs(60), y, images=images, random_labels=True)
    tab.press("n")
    tab.shows("#queue img", 5)
    tab.until(lambda: tab.ask("document.querySelector('#card img')?.naturalWidth") == 8)
    row = tab.page.inner_text("#card .which b")
    assert tab.page.get_attribute("#card img", "alt") == f"Picture of row {row}"
    # The error is estimated, and both curves have a description for screen readers.
    server.session.give([4], "left")
    curves = tab.page.locator("#progress svg")
    tab.until(lambda: curves.count() == 2)
    assert "Volumes: left" in curves.nth(1).get_attribute("aria-label")
    # Each way of colouring draws another picture.
    pictures = set()
    for way in ("confidence", "given", "prediction"):
        tab.press("t")
        assert tab.page.input_value("#colouring") == way
        pictures.add(tab.page.locator("#map").screenshot())
    assert len(pictures) == 3
    # On paper there are the map, the classes and the curves, and nothing to press.
    tab.ask("() => { dispatchEvent(new Event('beforeprint')); }")
    tab.page.emulate_media(media="print")
    tab.until(lambda: tab.ask("document.getElementById('map-print').naturalWidth") > 300)
    assert tab.page.is_visible("#map-print")
    assert tab.page.is_visible("#progress svg >> nth=0")
    shown = tab.page.locator("button:visible").all()
    assert {button.get_attribute("aria-keyshortcuts") for button in shown} == {"1", "2"}


def test_keeps_fast_keys_on_a_slow_server(label: Label) -> None:
    server, tab = label(blobs(120))
    tab.shows("#queue [role=option]", 5)

    def slow(seconds: float, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **options: Any) -> Any:
            time.sleep(seconds)
            return call(*arguments, **options)

        return called

    # All that the page asks for while one labels.
    for name in ("suggest", "rows", "state"):
        setattr(server.session, name, slow(3.0, getattr(server.session, name)))
    server.session.give = slow(0.3, server.session.give)
    tab.press("n")
    tab.shows("#card[data-row], #card [data-row]", 1)
    keys = "121121221211222112121221"  # more than are kept ahead
    for key in keys:
        tab.press(key)
        tab.page.wait_for_timeout(300)
    tab.until(lambda: len(server.session.history.batches) == len(keys))
    batches = server.session.history.batches
    rows = [int(row) for batch in batches for row in batch.rows]
    assert len(set(rows)) == len(rows) == len(keys)
    names = server.labels()
    assert [names[row] for row in rows] == [{"1": "left", "2": "right"}[key] for key in keys]


def test_keeps_keys_until_the_server_is_back(tmp_path: Path, context: Any) -> None:
    kept = {"classes": ["left", "right"], "journal": tmp_path / "kept.jsonl", "browser": False}
    with lapwing.label(blobs(60), **kept) as server:
        tab = Tab(context, server.url)
        tab.shows("#queue [role=option]", 5)
        tab.press("n")
        tab.shows("#card .which b", 1)
    tab.until(lambda: tab.page.is_visible("#lost"))
    assert "What was saved is safe" in tab.page.inner_text("#lost")
    row = int(tab.page.inner_text("#card .which b"))
    tab.press("1", says="Not saved yet")
    tab.press("2")  # belongs to the row after
    assert int(tab.page.inner_text("#card .which b")) == row
    with lapwing.label(blobs(60), **kept) as again:
        assert again.url == server.url
        tab.until(lambda: len(again.session.history.batches) == 2)
        first, second = again.session.history.batches
        names = again.labels()
        assert first.rows.tolist() == [row]
        assert names[row] == "left"
        assert names[second.rows[0]] == "right"
        tab.page.reload()
        tab.says("Opened: 2 labels so far")
        assert tab.page.inner_text("#kept") == "Saved in kept.jsonl."
        tab.page.close()


# The row beside its keys

SHOWN = """() => { const parts = ['#card .which', '#card .candidates', '#card .text',
    ...[...document.querySelectorAll('#classes .what')]];
  return parts.map(e => typeof e === 'string' ? document.querySelector(e) : e)
    .map(e => e.getBoundingClientRect())
    .filter(r => r.top < 0 || r.top + 20 > innerHeight).length; }"""


def test_row_and_keys_fit_the_screen_and_classes_are_merged(label: Label) -> None:
    names = [f"class {k}" for k in range(10)]
    labels = [names[i] if i < 10 else None for i in range(120)]
    texts = [f"row {i} " + "more words " * 80 for i in range(120)]
    _, tab = label(blobs(120), labels, classes=names, texts=texts)
    tab.press("n")
    tab.shows("#card .candidates li", 3)
    for width, height in ((1440, 900), (1024, 768), (390, 844)):
        tab.page.set_viewport_size({"width": width, "height": height})
        tab.ask("scrollTo(0, 0)")
        assert tab.ask(SHOWN) == 0, width
    tab.page.set_viewport_size({"width": 1280, "height": 900})
    # Flagged, and found by that.
    row = tab.page.inner_text("#card .which b")
    tab.press("g", says="1 row flagged")
    tab.press("Escape")
    tab.page.select_option("#find-state", "flagged")
    tab.page.click("#find button")
    tab.until(lambda: tab.page.locator("#card .which b").all_inner_texts() == [row])
    # Merged, and deleted.
    tab.page.locator("#classes .pen").nth(9).click()
    tab.page.fill("#new-name", "class 0")
    tab.until(lambda: "Merge with" in tab.page.inner_text("#do-rename"))
    tab.press("Enter", says="“class 9” is “class 0” now")
    tab.until(lambda: tab.given() == {name: 1 + (name == "class 0") for name in names[:9]})
    tab.page.locator("#classes .pen").nth(8).click()
    tab.page.click("#delete-class")
    tab.says("“class 8” is deleted")
    tab.until(lambda: "class 8" not in tab.given())
    tab.press("Backspace", "Backspace")
    tab.until(lambda: tab.given() == dict.fromkeys(names, 1))
