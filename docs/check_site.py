"""Read the built site: every link leads somewhere, and nothing is fetched from elsewhere.

``python docs/check_site.py docs/_build/html`` says what is wrong, a line each, and fails.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself when it shows a page; links are followed by readers only.
FETCHED = {
    ("script", "src"),
    ("img", "src"),
    ("source", "src"),
    ("iframe", "src"),
    ("link", "href"),
}
# Links that say what a page is or has, and are not fetched.
NAMING = {"canonical", "index", "search", "next", "prev", "author", "copyright"}


class Page(HTMLParser):
    """The places and the targets of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        for wanted, name in FETCHED:
            if tag == wanted and name in given and given.get("rel") not in NAMING:
                self.fetched.append(given[name])


def faults(root: Path) -> list[str]:
    """List the faults of the pages below a folder."""
    files = [path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    found = []
    for path, page in pages.items():
        here = path.relative_to(root)
        for target in page.fetched:
            if urlsplit(target).scheme not in ("", "data") or target.startswith("//"):
                found.append(f"{here}: fetches {target}")
        for target in {*page.links, *page.fetched}:
            parts = urlsplit(target)
            if parts.scheme or target.startswith("//"):
                continue
            leads_to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if leads_to.is_dir():
                leads_to /= "index.html"
            # Where a file has names of two public modules, viewcode's links back know one of them.
            places = None if "_modules" in here.parts else pages.get(leads_to)
            if not leads_to.exists():
                found.append(f"{here}: {target} is not there")
            elif parts.fragment and places and unquote(parts.fragment) not in places.places:
                found.append(f"{here}: {target} names no place of that page")
    for path in sorted(root.rglob("*.css")):
        for target in re.findall(
            r"(?:url\(|@import )['\"]?((?:https?:)?//[^'\")]+)", path.read_text("utf-8")
        ):
            found.append(f"{path.relative_to(root)}: fetches {target}")
    if not pages:
        found.append(f"{root}: no pages; run make docs first")
    return sorted(set(found))


def main() -> int:
    found = faults(Path(sys.argv[1]).resolve())
    print(
        "\n".join(found) or "every link of the site leads somewhere",
        file=sys.stderr if found else None,
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
