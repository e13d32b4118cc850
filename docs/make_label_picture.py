"""Make `docs/label.png`: the page to label on, as Chromium shows it, with digits that are labelled.

Run it in the folder of the project: ``python docs/make_label_picture.py``. It needs the extra
``label`` and ``map``, Playwright, Pillow and Chromium.
"""

from __future__ import annotations

import io
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits

import lapwing

PICTURE = Path(__file__).with_name("label.png")
NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
SIZE = {"width": 1280, "height": 1000}
ROUNDS = 9
WIDTH = 1000  # of the file


def label_some(server: Any, digits: np.ndarray) -> None:
    """Label what the page suggests, five rows at a time, as a user would."""
    session = server.session
    session.rest(300.0)  # the map of neighbours is there
    for _ in range(ROUNDS):
        session.rest()
        for row in session.suggest(5):
            session.give([row], NAMES[digits[row]])
    session.rest()


def picture(url: str) -> bytes:
    """The page with some points selected."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport=SIZE)
        page.goto(url)
        while not page.locator("#queue img").count() or not page.evaluate(
            "document.documentElement.dataset.drawn"
        ):
            time.sleep(0.1)
        page.keyboard.press("n")
        while not page.locator("#card img").count():
            time.sleep(0.1)
        time.sleep(1.0)  # pictures come in their own time
        found = page.screenshot()
        browser.close()
    return found


def main() -> None:
    digits = load_digits()
    with lapwing.label(
        digits.data,
        images=255 - 15.9 * digits.images,
        classes=NAMES,
        journal=None,
        browser=False,
    ) as server:
        label_some(server, digits.target)
        found = Image.open(io.BytesIO(picture(server.url))).convert("RGB")
    height = round(WIDTH * found.height / found.width)
    small = found.resize((WIDTH, height), Image.Resampling.LANCZOS)
    # Without the rounds of k-means the few bright points become grey.
    small.quantize(256, kmeans=3, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
