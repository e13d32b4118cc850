"""Units of measurement as people write them behind a number, in a name, or in a row of their own.

Not pint or another registry of units: nothing is converted here. One unit a column is dropped, and
two that measure the same are refused by name.
"""

from __future__ import annotations

import re

_CURRENCIES = "EUR USD GBP CHF JPY SEK NOK DKK PLN CZK HUF CAD AUD"
_SIGNS = "€$£¥₹₽₺₩"
_KINDS = {
    "currency": f"{' '.join(_SIGNS)} US$ {_CURRENCIES}",
    "share": "% ‰ ppm ppb",
    "length": "pm nm µm mm cm dm m km Å in ft yd mi",
    "mass": "pg ng µg mg g dag kg t lb oz",
    "volume": "nl µl ml cl dl l hl fl gal",
    "area": "mm² cm² dm² m² km² ha",
    "space": "mm³ cm³ dm³ m³ ccm cc",
    "time": "ns µs ms s min h d week month year",
    "temperature": "°C °F K",
    "amount": "pmol nmol µmol mmol mol",
    "activity": "mIU IU kIU U mU",
    "concentration": "nM µM mM M",
    "pressure": "Pa hPa kPa MPa bar mbar mmHg psi atm Torr",
    "energy": "J kJ MJ eV keV MeV cal kcal Wh kWh MWh",
    "power": "mW W kW MW hp",
    "voltage": "µV mV V kV",
    "current": "nA µA mA A",
    "resistance": "mΩ Ω kΩ MΩ",
    "frequency": "Hz kHz MHz GHz bpm rpm",
    "force": "mN N kN",
    "angle": "° deg rad",
    "sound": "dB",
    "data": "bit B kB MB GB TB",
}
_OTHER_NAMES = {
    **dict.fromkeys(["inch", "inches"], "in"),
    **dict.fromkeys(["foot", "feet"], "ft"),
    **dict.fromkeys(["meter", "meters", "metre", "metres"], "m"),
    **dict.fromkeys(["gram", "grams", "gramm", "gr"], "g"),
    **dict.fromkeys(["kgs", "kilo", "kilos"], "kg"),
    **dict.fromkeys(["lbs", "pound", "pounds"], "lb"),
    **dict.fromkeys(["ug", "mcg"], "µg"),
    **dict.fromkeys(["liter", "liters", "litre", "litres"], "l"),
    **dict.fromkeys(["sec", "secs", "second", "seconds", "sekunde", "sekunden", "sek"], "s"),
    **dict.fromkeys(["mins", "minute", "minutes", "minuten"], "min"),
    **dict.fromkeys(["hr", "hrs", "hour", "hours", "stunde", "stunden", "std"], "h"),
    **dict.fromkeys(["day", "days", "tag", "tage"], "d"),
    **dict.fromkeys(["weeks", "woche", "wochen", "wk", "wks"], "week"),
    **dict.fromkeys(["months", "monat", "monate", "mo"], "month"),
    **dict.fromkeys(["years", "yr", "yrs", "jahr", "jahre"], "year"),
    **{"um": "µm", "ul": "µl", "us": "µs", "umol": "µmol", "euro": "EUR", "euros": "EUR"},
    **{"degc": "°C", "degf": "°F", "percent": "%", "prozent": "%", "mm hg": "mmHg"},
}
_KIND = {unit: kind for kind, units in _KINDS.items() for unit in units.split()}
_IN_NAME = re.compile(r"[\[(]\s*([^\[\]()]+?)\s*[\])]\s*$")
SIGNS = rf"[{_SIGNS}]|(?:US)?\$|(?i:{'|'.join(_CURRENCIES.split())})"
# A word or a sign, and what products, quotients and powers of units are written with.
UNIT = (
    r"(?:mm Hg|°\s?[CF]|[%‰]|'{1,2}|\"|(?:(?:US)?\$|[" + _SIGNS + r"°µμΩÅ℃℉]|[^\W\d_])"
    r"(?:[^\W_]|[/·*^°µμΩ²³⁻$" + _SIGNS + r"%.-]){0,14})"
)


def unit_name(text: str) -> str:
    """Give a unit one name, however it is written."""
    text = text.replace("μ", "µ").replace("℃", "°C").replace("℉", "°F").replace("° ", "°")
    text = text.replace("^2", "²").replace("^3", "³")
    if text.upper() in _KIND:
        currency = _KIND[text.upper()] == "currency"
        text = text.upper() if currency else text
    if text.endswith("L") and f"{text[:-1]}l" in _KIND:
        return f"{text[:-1]}l"
    if text in _KIND:
        return text
    return _OTHER_NAMES.get(text.lower(), _parts_renamed(text))


def _parts_renamed(text: str) -> str:
    above, slash, below = text.partition("/")
    return f"{unit_name(above)}/{unit_name(below)}" if slash else text


def kind_of_unit(unit: str) -> str:
    """What a unit with the name of `unit_name` measures; empty if it is not known."""
    kind = _KIND.get(unit, "")
    if kind or "/" not in unit:
        return kind
    kinds = [kind_of_unit(part) for part in unit.split("/")]
    return "/".join(kinds) if all(kinds) else ""


def unit_in_name(name: str) -> str:
    """The unit at the end of a column's name in brackets, as in "radius (mm)"; empty if none."""
    found = _IN_NAME.search(name)
    unit = unit_name(found[1]) if found else ""
    return unit if kind_of_unit(unit) else ""


def is_unit(text: str) -> bool:
    """Whether a text is the name of a unit and nothing else, with brackets around it or without."""
    bare = text.strip("[]() ")
    return bool(bare) and (bool(kind_of_unit(unit_name(bare))))
