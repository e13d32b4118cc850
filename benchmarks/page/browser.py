"""Seconds from a key to new colours in a browser, on the page of a running server."""

from __future__ import annotations

import shutil
import time
from typing import Any

_ARGUMENTS = ["--headless", "--no-sandbox", "--disable-quic", "--no-first-run"]
_PATIENCE = 600.0

# From a digit key to the frame with the updated predictions: the root element of the page has the
# versions of labels and model that are drawn.
_WATCH = """() => {
  const root = document.documentElement;
  const model = () => Number((root.dataset.drawn ?? '0/-1').split('/')[1]);
  window.took = [];
  let pressed = 0, before = 0;
  addEventListener('keydown', (event) => {
    if (/^[0-9]$/.test(event.key)) [pressed, before] = [performance.now(), model()];
  }, true);
  new MutationObserver(() => {
    if (!pressed || model() <= before) return;
    window.took.push((performance.now() - pressed) / 1000);
    pressed = 0;
  }).observe(root, { attributes: true, attributeFilter: ['data-drawn'] });
}"""


def seconds_to_colours(url: str, n_keys: int, thought: float) -> list[float] | None:
    """Label one suggested row after the other by its key.

    Parameters
    ----------
    url : str
        Address of a page with classes and a fitted model.
    n_keys : int
        Number of rows to label.
    thought : float
        Seconds between the colours and the next key.

    Returns
    -------
    list of float or None
        Seconds for each key; None without Chromium or Playwright.
    """
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, headless=True, args=_ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(url)
        _until(lambda: page.evaluate("document.documentElement.dataset.drawn"))
        _until(lambda: page.locator("#queue [role=option]").count() > 0)
        page.evaluate(_WATCH)
        page.keyboard.press("n")
        for k in range(n_keys):
            _until(lambda: page.locator("#card .which b").count() == 1)
            time.sleep(thought)
            page.keyboard.press(str((k + 1) % 10))
            _until(lambda k=k: page.evaluate("window.took.length") > k)
        took: list[float] = page.evaluate("window.took")
        browser.close()
    return took


def _until(met: Any) -> None:
    """Wait for a condition; Playwright's own function is forbidden by the policy of the page."""
    deadline = time.monotonic() + _PATIENCE
    while not met():
        if time.monotonic() > deadline:
            raise RuntimeError("The page shows nothing new.")
        time.sleep(0.01)
