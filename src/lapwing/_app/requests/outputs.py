"""The files that a verb shall write."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from lapwing._host.files import check_writable
from lapwing._host.modules import require
from lapwing._tables.predictions import check_output

_SUFFIXES = {"report": (".html", ".htm"), "onnx": (".onnx",), "next": (".csv",)}
_SHEETS = (".xlsx", ".xls", ".ods", ".xlsm")
_EXTRAS = {"model": ("skops.io", "model"), "report": ("jinja2", "report"), "onnx": ("onnx", "onnx")}


@dataclass(frozen=True)
class Outputs:
    """The files that a verb shall write; None for those that it shall not."""

    predictions: Path | None = None
    model: Path | None = None
    report: Path | None = None
    onnx: Path | None = None
    next: Path | None = None
    out: Path | None = None

    def named(self) -> dict[str, str]:
        """Give the files as the user named them, by what they hold."""
        return {name: str(path) for name, path in vars(self).items() if path is not None}

    def check(self, inputs: tuple[Path, ...]) -> None:
        """Check before the work that all can be written.

        Raises
        ------
        ValueError
            If an extension is wrong, a place cannot be written, or a file is named twice.
        ImportError
            If a package is missing that writes one of them.
        """
        taken = {os.path.realpath(path): "the input" for path in inputs if str(path) != "-"}
        for name, path in vars(self).items():
            if path is None:
                continue
            if name == "predictions":
                check_output(path)
            elif name in _SUFFIXES:
                check_suffix(f"--{name}", path, _SUFFIXES[name])
            check_writable(path)
            if name in _EXTRAS:
                module, extra = _EXTRAS[name]
                require(module, extra=extra, purpose=f"--{name}")
            real = os.path.realpath(path)
            if real in taken:
                raise ValueError(f"--{name} {path} is {taken[real]} itself; name another file.")
            taken[real] = f"--{name}"


def check_suffix(option: str, path: Path, known: tuple[str, ...]) -> None:
    """Refuse a file whose extension is none of those that an option writes."""
    suffix = path.suffix.lower()
    if suffix in known:
        return
    named = known[0] if len(known) < 3 else f"{', '.join(known[:-1])} or {known[-1]}"
    message = f"cannot write {path}: the extension of {option} is {named}."
    if suffix in _SHEETS and ".csv" in known:
        message += f" Excel and LibreOffice open such a file. It can be given back as {suffix} too."
    raise ValueError(message)
