"""The built site in Chromium: wide and narrow, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.browser import CHROMIUM, CONTRASTS, chromium
from tests.test_documents import DOCS_PAGES

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "_build" / "html"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="needs the site: make docs"),
]

# Written pages, the gallery, and some of the generated pages of the API.
PAGES = [
    *(path.relative_to(ROOT / "docs").with_suffix(".html") for path in DOCS_PAGES),
    *(path.relative_to(SITE) for path in sorted(SITE.glob("auto_examples/**/*.html"))),
    *(Path("api", name) for name in ("index.html", "estimators.html", "losses.html")),
    *(Path("api/generated", f"lapwing.{name}.html") for name in ("LapSVC", "S3VC", "KNNGraph")),
]

PARTS = 4  # so that workers share them
LOOKS = [(1280, "light"), (1280, "dark"), (400, "dark"), (400, "light")]
BROKEN = """() => [...document.images]
  .filter(i => i.getClientRects().length && !(i.complete && i.naturalWidth))
  .map(i => i.src)"""
SCROLLS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("playwright")
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize("part", range(PARTS))
def test_pages_load_completely_and_fit(context: Any, part: int) -> None:
    """No word on the console, no request that leaves, no sideways scroll, every picture there."""
    page = context.new_page()
    messages: list[str] = []
    page.on(
        "console", lambda m: messages.append(m.text) if m.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda r: messages.append(r.url) if not is_local(r.url) else None)
    faults = []
    for path in PAGES[part::PARTS]:
        messages.clear()
        page.goto((SITE / path).as_uri())
        # Load all images now: lazy ones would need scrolling.
        page.evaluate("document.querySelectorAll('img').forEach(i => i.loading = 'eager')")
        # A page is loaded once: it follows the reader's theme and window by itself.
        for width, scheme in LOOKS:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            page.wait_for_function(f"document.documentElement.dataset.theme === '{scheme}'")
            page.wait_for_function("[...document.images].every(i => i.complete)")
            here = f"{path}, {width} pixels, {scheme}"
            faults += [f"{here}: {source} does not load" for source in page.evaluate(BROKEN)]
            if over := page.evaluate(SCROLLS):
                faults.append(f"{here}: scrolls sideways by {over}")
        faults += [f"{path}: {text}" for text in messages]
    page.close()
    assert faults == []


def is_local(url: str) -> bool:
    return url.startswith(("file:", "data:", "blob:"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["index.html", "which_method.html", "guide/manifold.html"])
def test_text_has_enough_contrast(context: Any, path: str, scheme: str) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1."""
    page = context.new_page()
    page.emulate_media(color_scheme=scheme)
    page.goto((SITE / path).as_uri())
    # Measure final colours, not those within a transition.
    page.add_style_tag(content="* { transition: none !important; }")
    pale = [entry for entry in page.evaluate(CONTRASTS) if entry[0] < 4.45]
    page.close()
    assert pale == []


def test_formulas_are_rendered(context: Any) -> None:
    """By the browser alone: a fraction is higher than its line, a sum has its limits below."""
    page = context.new_page()
    page.goto((SITE / "guide" / "manifold.html").as_uri())
    heights = page.evaluate(
        "[...document.querySelectorAll('.formula math')].map(m => m.clientHeight)"
    )
    assert heights
    assert min(heights) > 30
    assert page.locator("script[src*=mathjax]").count() == 0
    page.close()
