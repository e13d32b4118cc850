"""A customers table as companies have it, and as the programs of an office write it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from zipfile import ZipFile

import numpy as np

N = 120
LABEL = "Kündigt"
HEADER = (
    *("Kunden-Nr", "Name", "E-Mail", "PLZ", "Kunde seit", "Umsatz", "Rabatt", "Stadt", "Betrag"),
    *("Betrag", "Land", "Fax", "Bemerkung", "Tarif", LABEL),
)
NO_TEXT = ("--drop", "Bemerkung")  # the points are then dense
_CITIES = ("München", "Köln", "Düsseldorf", "Berlin")
_TARIFFS = ("Basis", "Plus", "Premium")


# Who buys little and gets no rebate leaves; the labels of a third are known.
TRUTH = np.arange(N) % 2 == 0


def customers() -> list[tuple[object, ...]]:
    """Rows of Python's own values; None where there is nothing."""
    rng = np.random.default_rng(7)
    revenue = np.where(TRUTH, 900.0, 4200.0) + 150 * rng.normal(size=N)
    rebate = np.where(TRUTH, 3.0, 14.0) + rng.normal(size=N)
    amount = np.where(TRUTH, 2.0, 8.0) + 0.4 * rng.normal(size=N)
    return [
        (
            10_000 + 7 * i,
            f"{'Anna' if i % 2 else 'Jörg'} Müller-{i}",
            f"kunde{i}@example.org",
            f"{(1067 + 811 * i) % 100_000:05d}",
            dt.date(2015, 1, 5) + dt.timedelta(days=int(rng.integers(0, 3000))),
            None if i % 17 == 3 else round(float(revenue[i]), 2),
            None if i % 19 == 4 else round(float(rebate[i]), 1),
            _CITIES[i % 4],
            round(float(amount[i]), 3),
            i % 5,
            "Deutschland",
            f"0{i}-12345" if i in (5, 70) else None,
            f"Hat am Tag {i} angerufen und wollte wissen, was los ist.",
            _TARIFFS[int(TRUTH[i]) + (i % 7 == 0)],
            None if i % 3 else ("ja" if TRUTH[i] else "nein"),
        )
        for i in range(N)
    ]


def german(value: object, column: str) -> str:
    """Write a value as a German spreadsheet shows it."""
    if value is None:
        return {"Umsatz": "-", "Rabatt": "k. A.", "Fax": ""}.get(column, "")
    if column == "Umsatz":
        return f"{value:,.2f} €".translate(str.maketrans(",.", ".,"))
    if column == "Rabatt":
        return f"{value:.1f}".replace(".", ",") + " %"
    if isinstance(value, float):
        return f"{value:g}".replace(".", ",")
    if isinstance(value, dt.date):
        return value.strftime("%d.%m.%Y")
    return str(value)


def write_csv(path: Path, encoding: str, *, mark: bytes = b"") -> Path:
    """Write the table as "CSV (semicolons)"; `mark` stands before it."""
    lines = [";".join(HEADER)]
    for row in customers():
        cells = [german(value, name) for value, name in zip(row, HEADER, strict=True)]
        lines.append(";".join(f'"{c}"' if ";" in c or "," in c else c for c in cells))
    path.write_bytes(mark + ("\r\n".join(lines) + "\r\n").encode(encoding))
    return path


def write_xlsx(path: Path) -> Path:
    """Write the table as Excel keeps it: dates and percents are numbers with a format."""
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("Kunden")
        formats = {
            "Kunde seit": book.add_format({"num_format": "dd.mm.yyyy"}),
            "Umsatz": book.add_format({"num_format": '#,##0.00 "€"'}),
            "Rabatt": book.add_format({"num_format": "0.0%"}),
        }
        sheet.write(0, 0, "Kundenliste, Stand 1.3.2024")
        sheet.write_row(2, 0, HEADER)
        for i, row in enumerate(customers(), start=3):
            for j, (value, name) in enumerate(zip(row, HEADER, strict=True)):
                if isinstance(value, dt.date):
                    sheet.write_datetime(i, j, value, formats[name])
                elif value is None:
                    sheet.write(i, j, german(value, name))
                else:
                    value = value / 100 if name == "Rabatt" else value
                    sheet.write(i, j, value, formats.get(name))
        book.add_worksheet("Leer")
    return path


_ODS = """<?xml version="1.0" encoding="UTF-8"?>
<office:document-content office:version="1.2"
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>
<table:table table:name="Kunden">{rows}</table:table>
</office:spreadsheet></office:body></office:document-content>"""


def write_ods(path: Path) -> Path:
    """Write the table as LibreOffice keeps it."""
    rows = [HEADER, *customers()]
    body = "".join(
        f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in rows
    )
    with ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", _ODS.format(rows=body))
    return path


def _ods_cell(value: object) -> str:
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, dt.date):
        kind = f'office:value-type="date" office:date-value="{value.isoformat()}"'
    elif isinstance(value, (int, float)):
        kind = f'office:value-type="float" office:value="{value!r}"'
    else:
        kind = 'office:value-type="string"'
    return f"<table:table-cell {kind}><text:p>{value}</text:p></table:table-cell>"
