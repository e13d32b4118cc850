"""The report as a browser shows it: narrow and wide, light, dark and printed, by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing import LapRLSClassifier
from lapwing._report.page import collect, render
from tests.helpers.browser import CHROMIUM, CONTRASTS, View, chromium
from tests.helpers.report_cases import asked, curve, hostile, moons, outcome

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = [
    pytest.mark.slow,  # a browser draws by the processor here
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
]

KINDS = ("classes", "numbers", "hostile", "plain", "many")
WIDTHS = (1280, 400)
SCHEMES = ("light", "dark")

# Elements whose content is cut off or sticks out, but for those that can be scrolled.
OVERFLOWING = """() => [...document.querySelectorAll('main *, header *')]
  .filter(e => !e.closest('svg, .scroll, .unseen'))
  .filter(e => e.getBoundingClientRect().right > innerWidth + 0.5)
  .map(e => e.tagName + '.' + e.className)"""

# Elements that hold more than they show; on a narrow screen not even those that can be scrolled.
CUT = """() => [...document.querySelectorAll('main *, header *')]
  .filter(e => !e.closest('svg, .unseen') && getComputedStyle(e).display !== 'inline')
  .filter(e => e.scrollWidth > e.clientWidth + 1)
  .map(e => e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 40))"""

OPEN_ALL = "() => document.querySelectorAll('details').forEach(d => { d.open = true; })"

EMPTY_PICTURES = """() => [...document.querySelectorAll('svg.viz')]
  .filter(e => { const b = e.getBoundingClientRect();
    return b.width < 200 || b.height < 100 || e.getBBox().width < 100; })
  .map(e => e.getAttribute('aria-labelledby'))"""


# Pixels of the texts in pictures.
HEIGHTS = """() => [...document.querySelectorAll('.viz text')]
  .map(t => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().d || 99)
  .filter(h => h > 0)"""

# Words of tables that go on in another line.
BROKEN = """() => [...document.querySelectorAll('td bdi, th bdi')].filter(e => {
  const r = document.createRange(); r.selectNodeContents(e);
  return e.textContent.split(' ').length < r.getClientRects().length; }).map(e => e.textContent)"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    fit, truth = moons()
    numbers, heights = curve()
    evil, names = hostile()
    plain, _ = moons(twin=False)
    many = np.random.default_rng(0).permutation(np.repeat(np.arange(30), 8))
    X = np.random.default_rng(1).normal(size=(240, 12)) + 3 * np.eye(30, 12)[many]
    labels = np.where(np.arange(240) < 150, [f"a long name of class {k}" for k in many], "")
    crowded = outcome(
        X,
        labels.astype(object),
        LapRLSClassifier(unlabeled=""),
        unlabeled="",
        names=[f"a_long_name_of_column_{j}" for j in range(12)],
        ids=[f"customer-{i:06d}" for i in range(240)],
    )
    pages = {
        "classes": collect(asked(fit, truth="shape", command="lapwing fit a.csv"), truth=truth),
        "numbers": collect(numbers, truth=heights),
        "hostile": collect(asked(evil, command="x" * 500), truth=names),
        "plain": collect(plain),
        "many": collect(crowded, truth=[f"a long name of class {k}" for k in many]),
    }
    for name, data in pages.items():
        (folder / f"{name}.html").write_text(render(data), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as context:
        yield context


@pytest.fixture
def open_page(browser: Any, folder: Path) -> Iterator[Any]:
    opened: list[View] = []

    def open_it(name: str, width: int = 1280, **media: str) -> View:
        opened.append(View(browser, (folder / f"{name}.html").as_uri(), width, **media))
        return opened[-1]

    yield open_it
    for view in opened:
        view.page.close()


@pytest.mark.parametrize("name", KINDS)
def test_the_page_fits_and_is_readable(open_page: Any, name: str) -> None:
    view = open_page(name)
    view.ask(OPEN_ALL)
    # Without a script, a page that is open follows the window and the theme as one that is opened.
    for width, scheme in product(WIDTHS, SCHEMES):
        view.page.set_viewport_size({"width": width, "height": 900})
        view.page.emulate_media(color_scheme=scheme)
        assert view.ask("document.documentElement.scrollWidth") <= width
        assert view.ask(OVERFLOWING) == []
        assert view.ask(EMPTY_PICTURES) == []
        assert view.ask("document.querySelectorAll('svg.viz').length") >= 2
        assert min(view.ask(HEIGHTS)) > 9.5
        if width == 400:
            assert view.ask(CUT) == []
            assert name != "classes" or view.ask(BROKEN) == []
        worst = view.ask(CONTRASTS)
        assert len(worst) > 100
        assert [found for found in worst if found[0] < 4.5] == []
        dark = view.ask("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 27)"
        assert dark == (scheme == "dark")
    # At 320 pixels, as at 400 % zoom of a 1280 pixel window (WCAG 2.2, 1.4.10).
    view.page.set_viewport_size({"width": 320, "height": 900})
    assert view.ask("document.documentElement.scrollWidth") <= 320
    assert view.complaints == []
    assert [url for url in view.requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in view.requests if url.startswith("file:")]) == 1


def test_page_runs_no_scripts(open_page: Any) -> None:
    view = open_page("hostile")
    assert view.page.title().endswith("lapwing report")
    assert view.ask("document.scripts.length + document.images.length") == 0
    # Even a script that had come into the page would be refused by the page's own policy.
    view.ask(
        "() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        " document.body.append(s); }"
    )
    assert view.ask("typeof window.ran") == "undefined"


def test_keyboard_navigation(open_page: Any) -> None:
    view = open_page("classes", 400)
    view.ask(OPEN_ALL)
    page = view.page
    page.keyboard.press("Tab")
    focused = "document.activeElement"
    assert view.ask(f"{focused}.className") == "skip"
    assert view.ask(f"{focused}.getBoundingClientRect().top") >= 0
    page.keyboard.press("Enter")
    assert view.ask(f"{focused}.id") == "main"
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        if view.ask(f"{focused} === document.body"):
            break
        assert view.ask(f"getComputedStyle({focused}).outlineStyle") == "solid"
        seen.add(view.ask(f"{focused}.getAttribute('aria-label')"))
    # Whatever scrolls sideways on a narrow screen can be scrolled by the arrow keys.
    hidden = view.ask(
        "() => [...document.querySelectorAll('*')].filter(e => e.scrollWidth > e.clientWidth + 1"
        " && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX) && e.tabIndex < 0).length"
    )
    assert hidden == 0
    assert {"Least certain", "Class volumes", "Confusion matrix", "Python lines"} <= seen


@pytest.mark.parametrize("width", WIDTHS)
def test_tooltips_of_hovered_points(open_page: Any, width: int) -> None:
    page = open_page("classes", width).page
    points = page.locator("#map .pt")
    shown = page.locator("#map .pt text.tip:visible")
    hint = page.locator("#map text.hint")
    assert points.count() == 120
    assert shown.count() == 0
    assert hint.is_visible()
    for i in (3, 60, 117):
        points.nth(i).locator("path").first.hover(force=True)
        points.nth(i).locator("text.tip").wait_for(state="visible")
        hint.wait_for(state="hidden")
        assert shown.count() == 1
        assert shown.text_content().startswith("row ")
        assert ", margin " in shown.text_content()
    # All of it is inside of the picture.
    box, picture = shown.bounding_box(), page.locator("#map svg.viz").bounding_box()
    assert box is not None
    assert picture is not None
    assert picture["x"] <= box["x"] <= box["x"] + box["width"] <= picture["x"] + picture["width"]
    assert box["y"] + box["height"] <= picture["y"] + picture["height"]


def test_tooltips_of_focused_and_tapped_points(open_page: Any) -> None:
    page = open_page("classes", 400).page
    stops = page.locator("#map .pt[tabindex='0']")
    assert stops.count() == 10
    first = stops.first
    first.focus()
    first.locator("text.tip").wait_for(state="visible")
    assert page.locator("#map .pt text.tip:visible").count() == 1
    mark = first.locator("path").first
    assert mark.evaluate("e => getComputedStyle(e).strokeWidth") == "4px"
    assert page.get_by_role("img", name=first.get_attribute("aria-label")).count() == 1
    tapped = page.locator("#map .pt[tabindex='-1']").nth(40)
    tapped.locator("path").first.click(force=True)
    page.mouse.move(0, 0)
    tapped.locator("text.tip").wait_for(state="visible")


def test_first_screen_and_accessibility_tree(open_page: Any) -> None:
    page = open_page("classes", 1280).page
    for part in ("h1", ".lead", ".next", "table.volumes >> nth=0", "#map .ground"):
        box = page.locator(part).first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 900, part
    assert page.locator("details[open]").count() == 0
    links = page.get_by_role("navigation").get_by_role("link").all()
    assert len(links) > 5
    for target in [link.get_attribute("href") for link in links]:
        page.evaluate("target => { location.hash = target; }", target)
        page.locator(target).wait_for(state="visible")  # a folded one opens
    names = [page.get_by_role(role).count() for role in ("banner", "navigation", "main")]
    assert names == [1, 1, 1]
    assert page.get_by_role("heading", level=1).inner_text() == "Answers for 114 rows"
    assert page.get_by_role("group", name="Map of 120 rows").count() == 1
    headings = page.get_by_role("heading", level=2).all_inner_texts()
    assert "; ".join(headings) == (
        "Rows to check; Findings; Errors where the truth is known; Labels that were left out; "
        "The supervised twin; Columns that tell the classes apart; Class volumes before and after; "
        "Health of the graph; Convergence; Repeat it"
    )
    page.evaluate(OPEN_ALL)
    assert page.get_by_role("img", name="Margins of the unlabelled rows").count() == 1
    assert page.get_by_role("rowheader", name="lower").count() >= 2
    for name in ("region", "table"):
        assert page.get_by_role(name).count() > 5


@pytest.mark.parametrize("name", KINDS)
def test_the_page_prints_on_white(open_page: Any, name: str) -> None:
    view = open_page(name, 690, media="print", color_scheme="dark")
    assert view.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert view.ask("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert view.ask("document.documentElement.scrollWidth") <= 690
    assert [found for found in view.ask(CONTRASTS) if found[0] < 4.5] == []
    pdf = view.page.pdf(format="A4", prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF")
    assert 2 <= pdf.count(b"/Type /Page\n") <= 8
    assert view.complaints == []
