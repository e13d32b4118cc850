"""Checked tables: features, ids and partly missing labels, read from files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._host.warn import warn
from lapwing._tables.assembly import (
    check_ids,
    encode,
    encode_again,
    feature_errors,
    warn_of_bad_cells,
    warn_of_counts,
)
from lapwing._tables.cells import Cells
from lapwing._tables.columns import FileFacts, RawTable, TextColumn
from lapwing._tables.encoders import (
    Features,
    NumberReading,
    Reading,
    describe_reading,
    reading_from,
    usual_reading,
)
from lapwing._tables.labels import (
    LabelAdvice,
    LabelColumn,
    numbers_of,
    refuse_non_classes,
    warn_of_labels,
)
from lapwing._tables.matrices import TARGET
from lapwing._tables.reading import SVMLIGHT, name_of, read_for_model, read_raw
from lapwing._tables.roles import ReadOptions, Selection, split_names
from lapwing._words import InputErrors, quoted

USUAL_ADVICE = LabelAdvice()
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Fitted:
    """Columns that a model expects of a table.

    Attributes
    ----------
    readings : tuple of Reading
        Encodings of the columns, whatever the format of the table.
    usual_id : str or None
        Column with the names of the rows.
    optional : tuple of str
        Columns known not to be features, such as that of the labels.
    missing : bool
        Whether features may be missing, because the model imputes them.
    svmlight_base : int or None
        Index of the first column of its svmlight file, 0 or 1.
    strict : bool
        Whether its table was read with `ReadOptions.strict`.
    """

    readings: tuple[Reading, ...]
    usual_id: str | None = None
    optional: tuple[str, ...] = ()
    missing: bool = False
    svmlight_base: int | None = None
    strict: bool = False

    @classmethod
    def from_info(cls, info: Mapping[str, Any]) -> Fitted:
        """Read the result of `Table.describe`, and "impute", from the description of a model.

        Raises
        ------
        ValueError
            If it is damaged, as model files are not trusted.
        """
        named = zip(info["feature_names"], info["kinds"], strict=True)
        columns = (info.get(key) for key in ("label_column", "id_column", "truth_column"))
        return cls(
            # A matrix has features in place of readings.
            tuple(map(reading_from, info.get("readings", ())))
            or tuple(usual_reading(name, kind) for name, kind in named),
            info.get("id_column"),
            tuple(name for name in [*columns, *info.get("dropped", ())] if name is not None),
            info.get("impute", "none") != "none",
            info.get("svmlight_base"),
            bool(info.get("strict", False)),
        )


@dataclass(frozen=True)
class Table(FileFacts):
    """Checked table of n rows, ready to be fitted.

    Attributes
    ----------
    features : Features
        Features for a pipeline: numbers (float64, or float32 if all of the file are), sparse if the
        file is, or a data frame if some features are text.
    ids : ndarray of shape (n,)
        Names of the rows: the id column as text, or the numbers 1 to n.
    y : ndarray of shape (n,)
        Class labels (integers if all are integers, otherwise text) or float64 for regression, with
        `unlabeled` for unlabelled rows.
    labeled : ndarray of bool of shape (n,)
        Mask of the labelled rows.
    unlabeled : int, str or float
        Marker in `y`: an integer below all labels, the empty string, or NaN; to be passed to the
        estimator.
    truth : ndarray of shape (n,) or None
        True labels, coded like `y`, for the report only.
    layout : ndarray of shape (n, 2) or None
        Coordinates for a map.
    label_name, id_name, truth_name : str or None
        Names of the columns.
    dropped : tuple of str
        Columns that are not used.
    strict : bool
        Whether it was read with `ReadOptions.strict`.
    originals : mapping of str to Cells or None
        All columns before encoding, None for those that are features unchanged; empty for a matrix.
    shown : mapping of str to ndarray of object of shape (n,)
        Columns for display, as text.
    whole : mapping of str to TextColumn or None
        All columns unchanged, to be written with predictions; None if not wanted.
    n_suggested : int
        Number of labels of suggested rows, as far as known from the files.
    """

    features: Features
    ids: NDArray[Any]
    y: NDArray[Any]
    labeled: NDArray[np.bool_]
    unlabeled: int | str | float
    truth: NDArray[Any] | None = None
    layout: NDArray[Any] | None = None
    label_name: str | None = None
    id_name: str | None = None
    truth_name: str | None = None
    dropped: tuple[str, ...] = ()
    strict: bool = False
    originals: Mapping[str, Cells | None] = field(default_factory=dict)
    shown: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    whole: Mapping[str, TextColumn] | None = None
    n_suggested: int = 0

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.labeled.size)

    @property
    def n_labeled(self) -> int:
        """Number of labelled rows."""
        return int(np.count_nonzero(self.labeled))

    @property
    def X(self) -> Any:  # noqa: N802 - the name of the features everywhere
        """Features, an ndarray, CSR array or data frame of shape (n, p)."""
        return self.features.X

    @property
    def key(self) -> str:
        """Column of a file of answers that names the rows; it may have no name."""
        assert self.keys is not None
        return self.keys.row if self.id_name is None else self.id_name

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the p features."""
        return self.features.names

    @property
    def numeric(self) -> bool:
        """Whether the labels are regression targets."""
        return isinstance(self.unlabeled, float)

    def describe(self) -> dict[str, Any]:
        """Return the columns of the table as JSON for the model file; see `Fitted.from_info`."""
        return {
            "feature_names": list(self.feature_names),
            "kinds": list(self.features.kinds),
            "label_column": self.label_name,
            "id_column": self.id_name,
            "truth_column": self.truth_name,
            "dropped": list(self.dropped),
            "readings": [describe_reading(reading) for reading in self.features.readings],
            "svmlight_base": self.svmlight_base,
            "strict": self.strict,
        }


def read_table(path: Paths, options: ReadOptions, *, advice: LabelAdvice = USUAL_ADVICE) -> Table:
    """Read one or more files and check them.

    Parameters
    ----------
    path : path-like or sequence of path-like
        The file, or files with the same columns whose rows are concatenated; ``-`` is standard
        input. The format is given by the extension. Text is UTF-8, UTF-16 or Windows-1252, with
        names in the first line, separated by comma, semicolon, tab or ``|``. NPZ files have the
        features in the array ``X`` (n x p), and optionally ``feature_names``.
    options : ReadOptions
        Roles of the columns, and notation of the cells. Blanks, NA, NaN and null mean "no label",
        as does -1 in an array of numbers.
    advice : Advice, optional
        Advice in messages about labels.

    Returns
    -------
    Table
        Table with all other usable columns as features; `features.notes` describe their treatment.

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        If a file, a column or the labels are invalid; the message has the place and a remedy.
    ImportError
        If polars or python-calamine is needed and not installed.
    """
    paths = _as_paths(path)
    label = label_column(paths, options)
    if label is None and options.labels_file is None and not options.absent:
        raise ValueError(f"{name_of(paths)}: name the column of the labels with --label.")
    selection = Selection.of(options, label=label)
    raw = read_raw(paths, selection)
    features = encode(raw, selection)
    originals = _originals(raw, features)
    # Without cells, which would keep a second matrix in memory.
    raw = replace(raw, cells={}, matrix=None, decimal=features.decimal)
    found = InputErrors(raw.source)
    found.messages += feature_errors(features, raw, missing=options.missing, new=False)
    with found.gather():
        check_ids(raw)
    with found.gather():
        labels = LabelColumn.of(raw, selection)
        if not labels.regression:
            refuse_non_classes(labels, advice if options.regression is None else None)
        truth = labels.truth(raw, selection)
        coded = labels.code(() if truth is None else truth.given)
    found.raise_all()
    warn_of_counts(features)
    # If only blanks mean "no label", words that look like it are intended as classes.
    warn_of_labels(labels, coded, advice, meant="" in options.unlabeled)
    return Table(
        features,
        raw.row_names,
        coded.y,
        coded.labeled,
        coded.unlabeled,
        truth=None if truth is None else truth.code_like(coded),
        layout=_layout(raw, options.layout),
        label_name=selection.label,
        id_name=options.id,
        truth_name=options.truth,
        dropped=(*raw.roles.left_out, *(one.column for one in features.notes if not one.used)),
        strict=options.strict,
        originals=originals,
        shown={name: raw.texts[name].texts for name in split_names(options.shown, raw.texts)},
        whole=raw.texts if options.whole else None,
        n_suggested=labels.n_suggested,
        **raw.facts | {"remarks": (*raw.remarks, *labels.remarks)},
    )


def _originals(raw: RawTable, features: Features) -> dict[str, Cells | None]:
    """Return the columns before encoding; None for those used as features unchanged."""
    plain = {note.column for note in features.notes if note.plain}
    return {
        # Copied, so that a few columns do not keep all numbers of the file in memory.
        name: None if name in plain else replace(cells, numbers=cells.numbers.copy())
        for name, cells in raw.cells.items()
    }


def label_column(paths: Sequence[Path], options: ReadOptions) -> str | None:
    """Return the label column; None if labels are in another file, or not given yet."""
    if options.label is None and options.labels_file is None:
        return TARGET if paths[0].suffix.lower() in SVMLIGHT else None
    return options.label


def read_points(path: Paths, fitted: Fitted, options: ReadOptions | None = None) -> Table:
    """Read new rows for a fitted model, without labels.

    Parameters
    ----------
    path : path-like or sequence of path-like
        As for `read_table`.
    fitted : Fitted
        Description of the table of the fit.
    options : ReadOptions, default=None
        Options such as the id column (by default that of the fit, if present), the sheet and the
        decimal mark.

    Returns
    -------
    Table
        Table with the features of the model in order, encoded as in the fit.

    Raises
    ------
    OSError, ValueError, ImportError
        As for `read_table`, in particular if a column is missing.

    Warns
    -----
    LapwingWarning
        If there are columns unknown to the model, or cells without the type of their column.
    """
    paths = _as_paths(path)
    options = replace(ReadOptions() if options is None else options, strict=fitted.strict)
    readings = fitted.readings
    selection = Selection.of(
        options,
        expected={reading.column: reading.feature for reading in readings},
        usual_id=fitted.usual_id,
        optional=fitted.optional,
        grouped=any(isinstance(r, NumberReading) and r.decimal == "," for r in readings),
        svmlight_base=fitted.svmlight_base,
    )
    raw = read_for_model(paths, selection)
    features = encode_again(raw, readings, options)
    if raw.roles.ignored:
        unknown = quoted(raw.roles.ignored)
        warn(f"{raw.source}: the model does not know the column {unknown}; not used.")
    found = InputErrors(raw.source)
    found.messages += feature_errors(features, raw, missing=fitted.missing, new=True)
    with found.gather():
        check_ids(raw, usual=options.id is None)
    found.raise_all()
    warn_of_bad_cells(features, raw)
    return Table(
        features,
        raw.row_names,
        np.full(raw.n, "", dtype=object),
        np.zeros(raw.n, dtype=bool),
        "",
        id_name=options.id,
        whole=raw.texts if options.whole else None,
        **raw.facts,
    )


def _as_paths(path: Paths) -> list[Path]:
    if isinstance(path, (str, os.PathLike)):
        return [Path(path)]
    return [Path(one) for one in path]


def _layout(raw: RawTable, names: Sequence[str]) -> NDArray[Any] | None:
    if not names:
        return None
    layout = np.empty((raw.n, 2))
    for j, name in enumerate(names):
        layout[:, j], wrong = numbers_of(raw.texts[name], raw.decimal)
        if wrong is not None or not np.isfinite(layout[:, j]).all():
            raise ValueError(
                f"{raw.source}: column {name!r} (--map) must hold a number in every row."
            )
    return layout
