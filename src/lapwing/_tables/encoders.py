"""Features and column encoders, which are fitted once and stored with the model.

A reading encodes each row independently, so that a row has the same features in every file; types
are not inferred again for new files. Readings are plain values, stored as JSON and never pickled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from lapwing._tables import dates
from lapwing._tables.cells import BadCells, Cells, number_or_truth, read_amount

# Values of a column of text.
MISSING_VALUE, OTHER_VALUE = "(missing)", "(other)"
_WEEK, _DAY = 7.0, 24.0
_SHARES = ("%", "‰")

# Kinds of features: numbers, texts that are one-hot encoded, free text, and texts or images for an
# encoder.
NUMERIC, CATEGORICAL, TEXT, ENCODED = "numeric", "categorical", "text", "encoded"


class _OneFeature:
    """Reading of a column that becomes one feature of the same name."""

    column: str

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return (self.column,)


@dataclass(frozen=True)
class NumberReading(_OneFeature):
    """Numbers, as written or in one unit.

    Attributes
    ----------
    column : str
    decimal : {'.', ','}
        Decimal mark of numbers in texts.
    unit : str
        Unit, such as ``€`` or ``%``, which is removed; empty for none.
    """

    kind: ClassVar[str] = "number"
    feature: ClassVar[str] = NUMERIC
    column: str
    decimal: str = "."
    unit: str = ""

    def read(self, cells: Cells) -> tuple[list[NDArray[Any]], BadCells | None]:
        """Return the features, with NaN for missing ones, and the cells that are not numbers."""
        found = cells.map_texts(self.value)
        values = cells.numbers
        # Numbers without the sign may be fractions of 1.
        unlike = (self.unit in _SHARES) & (values != 0) & ~np.isnan(values)
        if not (found or unlike.any()):
            return [values], None
        values = np.where(unlike, np.nan, values)
        values[cells.rows] = np.array(found, dtype=np.float64)  # None becomes NaN
        wrong = cells.rows[[value is None for value in found]]
        return [values], cells.bad_in(np.concatenate([wrong, np.flatnonzero(unlike)]))

    def value(self, text: str) -> float | None:
        """Read a text; None if it is not such a number."""
        amount = read_amount(text, self.decimal)
        if amount is None:
            return number_or_truth(text)
        if amount.unit == self.unit or amount.value == 0:
            return amount.value
        return amount.value if not amount.unit and self.unit not in _SHARES else None

    def describe(self) -> str:
        """Describe the encoding in words."""
        unit = f" in {self.unit}" if self.unit else ""
        return f"numbers{' with decimal commas' * (self.decimal == ',')}{unit}"


@dataclass(frozen=True)
class DateReading:
    """Dates or times of day, encoded as numbers.

    Attributes
    ----------
    column : str
    order : str
        A member of `dates.ORDERS`, or `dates.CLOCK`.
    origin : str
        Origin of the days, in ISO format.
    parts : tuple of {'days', 'weekday', 'hour'}
        Features: elapsed days; the day of the week and the hour as points on a circle.
    """

    kind: ClassVar[str] = "date"
    feature: ClassVar[str] = NUMERIC
    column: str
    order: str
    origin: str = "1970-01-01"
    parts: tuple[str, ...] = ("days",)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        axes = {"days": ("",)}
        return tuple(
            f"{self.column} ({part}{axis})"
            for part in self.parts
            for axis in axes.get(part, (", cos", ", sin"))
        )

    def read(self, cells: Cells) -> tuple[list[NDArray[Any]], BadCells | None]:
        """Return the features, with NaN for missing ones, and the cells that are not dates."""
        moments, bad = self.moments(cells)
        features: list[NDArray[Any]] = []
        for part in self.parts:
            if part == "days":
                features.append(dates.days_between(moments, np.datetime64(self.origin, "us")))
            elif part == "weekday":
                features += dates.circle(dates.weekdays(moments), _WEEK)
            else:
                features += dates.circle(dates.hours_of_day(moments), _DAY)
        return features, bad

    def moments(self, cells: Cells) -> tuple[NDArray[np.datetime64], BadCells | None]:
        """Return the points in time, NaT for missing ones; times of day are those of one day."""
        moments = np.full(cells.numbers.size, np.datetime64("NaT", "us"))
        known = cells.map_texts(lambda text: dates.read_moment(text, self.order))
        found = np.array(known, dtype="datetime64[us]")
        moments[cells.rows] = found
        numbers = np.flatnonzero(~np.isnan(cells.numbers))
        return moments, cells.bad_in(np.concatenate([cells.rows[np.isnat(found)], numbers]))

    def describe(self) -> str:
        """Describe the encoding in words."""
        if self.order == dates.CLOCK:
            return "times of day, as places on a circle of 24 hours"
        words = {
            "days": f"days since {self.origin}",
            "weekday": "day of the week",
            "hour": "hour of the day",
        }
        return f"dates ({dates.ORDER_WORDS[self.order]}), as " + ", ".join(
            words[part] for part in self.parts
        )


@dataclass(frozen=True)
class TextReading(_OneFeature):
    """Text with few distinct values, which is one-hot encoded later.

    Attributes
    ----------
    column : str
    values : tuple of str
        If not empty, all other values are replaced by `OTHER_VALUE`.
    missing : str or None
        Replacement of missing texts; None leaves them missing.
    """

    kind: ClassVar[str] = "text"
    feature: ClassVar[str] = CATEGORICAL
    column: str
    values: tuple[str, ...] = ()
    missing: str | None = None

    def read(self, cells: Cells) -> tuple[list[NDArray[Any]], BadCells | None]:
        """Return the feature; no cell is invalid."""
        column = cells.spelled(self.missing)
        if self.values:
            known = {*self.values, self.missing}
            column[[text not in known for text in column]] = OTHER_VALUE
        return [column], None

    def describe(self) -> str:
        """Describe the encoding in words."""
        most = f": its {len(self.values)} most frequent values and the rest" if self.values else ""
        return f"text, one-hot encoded{most}"


class _WholeTexts(_OneFeature):
    """Reading of a column whose cells remain texts."""

    def read(self, cells: Cells) -> tuple[list[NDArray[Any]], BadCells | None]:
        """Return the texts, empty for missing ones; no cell is invalid."""
        return [cells.spelled("")], None


@dataclass(frozen=True)
class FreeTextReading(_WholeTexts):
    """Free text, for tf-idf weights of its words (`lapwing._tables.preprocessing`).

    Attributes
    ----------
    column : str
    letters : bool
        Whether to use character n-grams instead of words, for texts without spaces between words.
    """

    kind: ClassVar[str] = "free text"
    feature: ClassVar[str] = TEXT
    column: str
    letters: bool = False

    def describe(self) -> str:
        """Describe the encoding in words."""
        return f"free text, by its {'letters' if self.letters else 'words'}"


@dataclass(frozen=True)
class EncodedReading(_WholeTexts):
    """Free text or images for an encoder (`lapwing._tables.embedding`).

    Attributes
    ----------
    column : str
    encoder : str
        Name of the encoder, for messages; it is never imported by it.
    picture : bool
        Whether the cells are names of image files.
    """

    kind: ClassVar[str] = "encoded"
    feature: ClassVar[str] = ENCODED
    column: str
    encoder: str = ""
    picture: bool = False

    def describe(self) -> str:
        """Describe the encoding in words."""
        return f"{'pictures' if self.picture else 'free text'}, encoded by {self.encoder}"


@dataclass(frozen=True)
class Encoding:
    """Identity of the encoder of a model, to detect other encoders; contains no code.

    Attributes
    ----------
    name : str
        Name given by the user.
    digest : str
        Digest of its code or weights; empty if unknown.
    width : int
        Length of its vectors.
    """

    name: str
    digest: str
    width: int

    @classmethod
    def from_info(cls, info: Mapping[str, Any]) -> Encoding:
        """Read the fields from the description of a model; ValueError if it is damaged."""
        found = cls(info["name"], info["digest"], info["width"])
        texts: list[object] = [found.name, found.digest]
        width: object = found.width
        if not all(isinstance(text, str) for text in texts) or not isinstance(width, int):
            raise ValueError("its encoder has no name or no width")
        return found


@dataclass(frozen=True)
class ColumnNote:
    """Note for the user about the encoding of a column.

    Attributes
    ----------
    column : str
    used : bool
        Whether it is used as a feature.
    words : str
        Description of the encoding, or why it was left out.
    plain : bool
        Whether it is used unchanged, which needs no line of its own.
    """

    column: str
    used: bool
    words: str
    plain: bool = False


Reading = NumberReading | DateReading | TextReading | FreeTextReading | EncodedReading


@dataclass(frozen=True)
class Features:
    """Features of n rows for a pipeline.

    Attributes
    ----------
    X : ndarray, CSR array or polars.DataFrame of shape (n, p)
        Numbers; a data frame if some columns are text.
    names : tuple of str
        Names of the columns.
    kinds : tuple of {'numeric', 'categorical', 'text', 'encoded'}
        Kinds of the columns; empty if all are numeric.
    readings : tuple of Reading
        Encodings of the columns.
    vectors : mapping of str to tuple of str
        Columns with the vectors of encoded columns, by the names of these; empty before
        `lapwing._tables.embedding` has computed them.
    encoding : Encoding or None
        Encoder of the vectors.
    notes : tuple of ColumnNote
        Notes on the treatment of each column; empty for a matrix.
    bad : mapping of str to BadCells
        Cells that are invalid for the reading of their column, and are treated as missing.
    errors : tuple of str
        Errors that a fit would raise.
    decimal : {'', '.', ','}
        Usual decimal mark of numbers in texts; empty if unknown.
    """

    X: Any
    names: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()
    vectors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    encoding: Encoding | None = None
    notes: tuple[ColumnNote, ...] = ()
    bad: Mapping[str, BadCells] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    decimal: str = ""

    @property
    def numbers(self) -> Any:
        """Numeric columns, an ndarray or CSR of shape (n, k)."""
        if not hasattr(self.X, "columns"):
            return self.X
        # Without columns polars would return an array of objects.
        return self.X[self.named(NUMERIC)].to_numpy().astype(np.float64, copy=False)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of a data frame or a dense matrix; None for missing texts."""
        if hasattr(self.X, "columns"):
            found: NDArray[Any] = self.X[name].to_numpy()
            return found
        return np.asarray(self.X[:, self._places[name]])

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    @property
    def legible(self) -> list[str]:
        """Names of the columns of free text, for display as well."""
        encoded = [one for one in self.readings if isinstance(one, EncodedReading)]
        return [*self.named(TEXT), *(one.column for one in encoded if not one.picture)]

    def named(self, kind: str) -> list[str]:
        """Return the names of the columns of a kind."""
        if not self.kinds:
            return list(self.names) if kind == NUMERIC else []
        return [name for name, own in zip(self.names, self.kinds, strict=True) if own == kind]


def usual_reading(name: str, kind: str) -> Reading:
    """Return the reading of a column by the kind of its feature."""
    kinds = (NumberReading, TextReading, FreeTextReading, EncodedReading)
    return {make.feature: make for make in kinds}[kind](name)


def reading_from(description: Mapping[str, Any]) -> Reading:
    """Create a reading from the result of `describe_reading`.

    Raises
    ------
    ValueError
        If it is invalid, as model files are not trusted.
    """
    entries = {key: tuple(v) if isinstance(v, list) else v for key, v in description.items()}
    kinds = {make.kind: make for make in get_args(Reading)}
    kind = entries.pop("kind", None)
    try:
        reading: Reading = kinds[kind](**entries)
        wrong = [f"{key}={v!r}" for key, v in vars(reading).items() if not _is_valid(key, v)]
    except KeyError:
        wrong = [f"kind={kind!r}"]
    except (TypeError, ValueError) as error:
        wrong = [str(error)]
    if wrong:
        raise ValueError(f"a column's reading is damaged: {', '.join(wrong)}")
    return reading


def describe_reading(reading: Reading) -> dict[str, Any]:
    """Convert a reading to JSON types."""
    entries = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(reading).items()}
    return {"kind": reading.kind, **entries}


def _is_valid(name: str, value: object) -> bool:
    """Return whether a field of a reading has a value of its type."""
    match name:
        case "letters" | "picture":
            return isinstance(value, bool)
        case "decimal":
            return value in (".", ",")
        case "order":
            return value in (*dates.ORDERS, dates.CLOCK)
        case "parts":
            return isinstance(value, tuple) and set(value) <= {"days", "weekday", "hour"}
        case "values":
            return isinstance(value, tuple) and all(isinstance(text, str) for text in value)
        case "missing" if value is None:
            return True
        case "origin":
            np.datetime64(str(value), "us")
    return isinstance(value, str)
