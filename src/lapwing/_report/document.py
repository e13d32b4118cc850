"""A report as Python has it: shown by notebooks, saved to a file."""

from __future__ import annotations

import html
import os
from functools import cached_property
from pathlib import Path

from lapwing._host.files import atomic_write
from lapwing._report.page import ReportData, render
from lapwing._report.text import plural

_SUFFIXES = (".html", ".htm")
_HEIGHT = 720  # pixels in a notebook; the page scrolls inside


class Report:
    """The report of a fit, one HTML page that needs no network and no script.

    Notebooks show it where it is the last value of a cell.

    Parameters
    ----------
    data : ReportData
        Its figures.
    """

    def __init__(self, data: ReportData) -> None:
        self._data = data

    def __repr__(self) -> str:
        fitted = self._data.fitted
        n_free = fitted["n"] - fitted["n_labeled"]
        return (
            f"<Report of {fitted['estimator']}: {plural(fitted['n'], 'row')}, {n_free} without a "
            "label; .save('report.html') writes it>"
        )

    @cached_property
    def html(self) -> str:
        """The page."""
        return render(self._data)

    def _repr_html_(self) -> str:
        # In a frame, so that neither's style touches the other; what users wrote is text in it.
        page = html.escape(self.html, quote=True)
        return (
            f'<iframe title="lapwing report" sandbox="" srcdoc="{page}" width="100%" '
            f'height="{_HEIGHT}" style="border: 1px solid #8888; border-radius: 6px"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : path-like
            The file, with the extension .html or .htm.

        Raises
        ------
        ValueError
            If the extension is another one, or the place cannot be written.
        OSError
            If writing fails; a file that was there before is left as it was.
        """
        if Path(path).suffix.lower() not in _SUFFIXES:
            raise ValueError(f"cannot write {os.fspath(path)}: the extension must be .html.")
        with atomic_write(path) as temporary:
            temporary.write_text(self.html, encoding="utf-8", newline="\n")
