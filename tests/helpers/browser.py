"""The browser of the tests, and checks of every page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
_ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip

# Every visible text with the contrast to the ground behind it (WCAG 2.2, 1.4.3), the worst first.
CONTRASTS = """() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v =>
    v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || e.closest('title, desc, .skip, .unseen') || !e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    const ink = parse(e.closest('svg') ? style.fill : style.color);
    const [low, high] = [light(ink), light(ground(e))].sort((a, b) => a - b);
    found.push([(high + 0.05) / (low + 0.05), text.slice(0, 40), parseFloat(style.fontSize)]);
  }
  return found.sort((a, b) => a[0] - b[0]);
}"""


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """Start a browser with a separate profile."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, headless=True, args=_ARGUMENTS
        )
        yield context
        context.close()


PATIENCE = 60.0  # seconds; a busy machine draws by its processor
# The browser's own words on drawing without a graphics card.
HARMLESS = ("GL Driver Message", "software rendering")


class View:
    """An open page, with messages and requests of the browser."""

    def __init__(
        self, context: Any, url: str, width: int = 1280, *, before: str = "", **media: str
    ) -> None:
        self.url = url
        self.page = context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.page.add_init_script(before)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self._complain(message.text))
        self.page.on("pageerror", lambda error: self._complain(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.set_viewport_size({"width": width, "height": 900})
        # A page that still scrolls to what got the focus moves a point away from a click.
        self.page.emulate_media(**{"reduced_motion": "reduce"} | media)
        self.page.goto(url, wait_until="load")

    def _complain(self, words: str) -> None:
        if not any(part in words for part in HARMLESS):
            self.complaints.append(words)

    def ask(self, code: str) -> Any:
        return self.page.evaluate(code)
