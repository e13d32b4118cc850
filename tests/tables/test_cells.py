"""Numbers, units and dates as people write them, one cell at a time."""

from __future__ import annotations

import calendar

import pytest

from lapwing._tables.cells import Amount, kind_of_unit, read_amount, unit_in_name, unit_name
from lapwing._tables.dates import read_moment

# Texts by their decimal mark.
AMOUNTS = {
    ",": {
        "1.234,56 €": (1234.56, "€"), "-3,1": (-3.1, ""), "\u22123,1": (-3.1, ""),
        "13,5-": (-13.5, ""), "1 234,5": (1234.5, ""), "1\u202f234\u202f567,5": (1234567.5, ""),
        "12,5 %": (12.5, "%"), "1.234": (1234, ""), ",5": (0.5, ""),
    },
    ".": {
        "€1,234.56": (1234.56, "€"), "($3.10)": (-3.1, "$"), "-$5": (-5, "$"),
        "12'345.6": (12345.6, ""), "12\u2019345": (12345, ""), "CHF 12.50": (12.5, "CHF"),
        "12.50 eur": (12.5, "EUR"), "1.234": (1.234, ""), "1,234,567": (1234567, ""),
        "2e-3": (0.002, ""), "57.69 mm": (57.69, "mm"), "1e5mm": (1e5, "mm"),
        "20 \u2103": (20, "°C"), "20 °C": (20, "°C"), "5 \u03bcg/mL": (5, "µg/ml"),
        "1 mm Hg": (1, "mmHg"), "2 years": (2, "year"), "1 Jahr": (1, "year"),
        "5 m^2": (5, "m²"), "12 pcs": (12, "pcs"),
    },
}  # fmt: skip
NO_AMOUNTS = {
    # 1,5 would be 15 if commas were removed, and thousands do not begin with 0.
    ".": ["1,5", "1,234,56", "1_0", "abc", "€", "5 kg net weight", "€5 kg", "--5", "", "0,661"],
    ",": ["12.34", "1.23,4", "1.234 567", "03.04.2020", "0.661", "+0.661 €", "00.661"],
}


@pytest.mark.parametrize("decimal", AMOUNTS)
def test_reads_amounts(decimal: str) -> None:
    expected = {text: Amount(*amount) for text, amount in AMOUNTS[decimal].items()}
    expected |= dict.fromkeys(NO_AMOUNTS[decimal])
    assert {text: read_amount(text, decimal) for text in expected} == expected


def test_finds_kinds_of_units() -> None:
    kinds = {"mm": "length", "mL": "volume", "mg/l": "mass/volume", "€/kg": "currency/mass"}
    kinds |= {"pcs": "", "mm/pcs": "", "a": "", "M": "concentration"}
    assert {unit: kind_of_unit(unit_name(unit)) for unit in kinds} == kinds


def test_finds_units_in_names() -> None:
    units = {"radius (mm)": "mm", "radius [ mm ]": "mm"}
    units |= dict.fromkeys(["radius", "price (old)", "(mm) radius"], "")
    assert {name: unit_in_name(name) for name in units} == units


DATES: dict[str, dict[str, str | None]] = {
    "dmy": {
        "03.04.2020": "2020-04-03", "3. 4. 2020": "2020-04-03", "3.4.20": "2020-04-03",
        "3.4.70": "1970-04-03", "03/04/2020": "2020-04-03",
        "3.4.2020 14:30 Uhr": "2020-04-03T14:30:00",
        **dict.fromkeys(["31.02.2020", "1.13.2020", "3.4", "20200403", "12.5", "3.4.2020 25:00"]),
        **dict.fromkeys(["3.4.2020 13:00 pm", "Foo 3, 2020", "", "x"]),
    },
    "mdy": {
        "03/04/2020": "2020-03-04", "2020-04-03": "2020-04-03",
        "4/3/2020 2:30 PM": "2020-04-03T14:30:00", "4/3/2020 12:30 am": "2020-04-03T00:30:00",
    },
    "ymd": {
        "2020-04-03T10:11:12.5Z": "2020-04-03T10:11:12.500000",
        "2020-04-03 10:11:12.5-02": "2020-04-03T12:11:12.500000",
        "2020-04-03 10:11+02:00": "2020-04-03T08:11:00", "3. April 2020": "2020-04-03",
        "Fr., 3. Apr. 2020": "2020-04-03", "Apr 3rd, 2020": "2020-04-03",
        "3-Mär-2020": "2020-03-03",
    },
}  # fmt: skip


@pytest.mark.parametrize("order", DATES)
def test_reads_dates(order: str) -> None:
    moments = {text: read_moment(text, order) for text in DATES[order]}
    found = {text: str(moment or "").replace(" ", "T") for text, moment in moments.items()}
    found = {text: said.removesuffix("T00:00:00") or None for text, said in found.items()}
    assert found == DATES[order]


def test_reads_names_of_months() -> None:
    german = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
    for names in (german.split(), calendar.month_name[1:]):
        moments = [read_moment(f"3. {name} 2020", "dmy") for name in names]
        assert [moment and moment.month for moment in moments] == list(range(1, 13))
