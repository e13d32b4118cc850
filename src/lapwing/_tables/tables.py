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
from lapwing._tables.answers import fill_in
from lapwing._tables.assembly import encode, encode_again
from lapwing._tables.cells import Cells
from lapwing._tables.checks import (
    LabelAdvice,
    check_ids,
    feature_errors,
    refuse_non_classes,
    warn_of_bad_cells,
    warn_of_counts,
    warn_of_labels,
)
from lapwing._tables.coding import (
    CodedLabels,
    LabelColumn,
    hold_fractions,
    mark_unlabeled,
    numbers_of,
    same_label,
)
from lapwing._tables.columns import FileFacts, RawTable, Selection, TextColumn
from lapwing._tables.encoders import (
    EncodedReading,
    Features,
    FreeTextReading,
    NumberReading,
    Reading,
    TextReading,
    describe_reading,
    reading_from,
)
from lapwing._tables.matrices import TARGET, read_labels
from lapwing._tables.options import ReadOptions
from lapwing._tables.reading import SVMLIGHT, name_of, read_for_model, read_raw
from lapwing._tables.words import InputErrors
from lapwing._words import quoted
from lapwing.exceptions import LapwingWarning

USUAL_ADVICE = LabelAdvice()
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Fitted:
    """Columns that a model expects of a table.

    Attributes
    ----------
    feature_names : tuple of str
        Names of the features in order.
    kinds : tuple of {'numeric', 'categorical', 'text', 'encoded'}
        Kinds of the features.
    readings : tuple of Reading
        Encodings of the columns; empty for a matrix.
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

    feature_names: tuple[str, ...]
    kinds: tuple[str, ...]
    readings: tuple[Reading, ...] = ()
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
        columns = (info.get(key) for key in ("label_column", "id_column", "truth_column"))
        return cls(
            tuple(info["feature_names"]),
            tuple(info["kinds"]),
            tuple(map(reading_from, info.get("readings", ()))),
            info.get("id_column"),
            tuple(name for name in [*columns, *info.get("dropped", ())] if name is not None),
            info.get("impute", "none") != "none",
            info.get("svmlight_base"),
            bool(info.get("strict", False)),
        )

    @property
    def column_readings(self) -> tuple[Reading, ...]:
        """Return the encodings of columns of these names, whatever the format of the table."""
        kinds = (NumberReading, TextReading, FreeTextReading, EncodedReading)
        read = {make.feature: make for make in kinds}
        named = zip(self.feature_names, self.kinds, strict=True)
        return self.readings or tuple(read[kind](name) for name, kind in named)


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
    label = _label_column(paths, options)
    selection = Selection.of(options, label=label)
    raw = read_raw(paths, selection)
    name = raw.source
    features = encode(raw, selection)
    originals = _originals(raw, features)
    # Without cells, which would keep a second matrix in memory.
    raw = replace(raw, cells={}, matrix=None, decimal=features.decimal)
    raw, where = _with_labels(raw, options.labels_file)
    found = InputErrors(name)
    found.messages += feature_errors(features, raw, missing=options.missing, new=False)
    ids = np.arange(1, raw.n + 1)
    with found.gather():
        ids = check_ids(raw, options.id)
    undecided = options.regression is None
    if undecided:
        options = replace(options, regression=_are_numbers(raw, options))
    with found.gather():
        raw = complete_labels(raw, options, ids)
        what = where if label is None else f"{where}: label column {label!r}"
        labels = _written_labels(raw, options, what)
        if options.regression:
            coded = labels.code_numbers()
        else:
            refuse_non_classes(labels, advice if undecided else None)
            coded = labels.code_classes()
    found.raise_all()
    warn_of_counts(features)
    # If only blanks mean "no label", words that look like it are intended as classes.
    warn_of_labels(labels, coded, advice, meant="" in options.unlabeled)
    return Table(
        features,
        ids,
        coded.y,
        coded.labeled,
        coded.unlabeled,
        truth=_truth(raw, coded, options, where),
        layout=_layout(raw, options.layout, where),
        label_name=label,
        id_name=options.id,
        truth_name=options.truth,
        dropped=(*raw.left_out, *(note.column for note in features.notes if not note.used)),
        strict=options.strict,
        originals=originals,
        shown={name: raw.others[name].texts for name in options.shown},
        whole=raw.others if options.whole else None,
        **raw.facts,
    )


def _originals(raw: RawTable, features: Features) -> dict[str, Cells | None]:
    """Return the columns before encoding; None for those used as features unchanged."""
    plain = {note.column for note in features.notes if note.plain}
    return {
        # Copied, so that a few columns do not keep all numbers of the file in memory.
        name: None if name in plain else replace(cells, numbers=cells.numbers.copy())
        for name, cells in raw.cells.items()
    }


def _label_column(paths: Sequence[Path], options: ReadOptions) -> str | None:
    """Return the label column; None if labels are in another file, or not given yet."""
    if options.label is not None or options.labels_file is not None:
        return options.label
    if paths[0].suffix.lower() in SVMLIGHT:
        return TARGET
    if not options.absent:
        raise ValueError(f"{name_of(paths)}: name the column of the labels with --label.")
    return None


def _with_labels(raw: RawTable, labels_file: Any) -> tuple[RawTable, str]:
    """Return the table with a possibly empty label in every row, and the source of the labels."""
    if labels_file is not None:
        labels, marker = read_labels(Path(labels_file), raw.n)
        return replace(raw, labels=labels, default_marker=marker), str(labels_file)
    if raw.labels is None:  # they are all in files of answers, or still to be given
        raw = replace(raw, labels=TextColumn.blank(raw.n))
    return raw, raw.source


def _marker(raw: RawTable, options: ReadOptions) -> str:
    """Return the default marker of "no label"."""
    # -1 is a marker in classification only, as it may be a regression target.
    return "" if options.regression else raw.default_marker


def _are_numbers(raw: RawTable, options: ReadOptions) -> bool:
    """Return whether the labels are regression targets."""
    assert raw.labels is not None
    given = np.concatenate([one.texts for one in (raw.labels, *(a.labels for a in raw.answers))])
    known = mark_unlabeled(given, options.unlabeled)
    return hold_fractions(set(known.tolist()), raw.decimal)


def _written_labels(raw: RawTable, options: ReadOptions, where: str) -> LabelColumn:
    assert raw.labels is not None
    markers = [one.strip() for one in options.unlabeled or (_marker(raw, options),)]
    return LabelColumn(
        raw.labels,
        where,
        " or ".join(["blank", *(repr(one) for one in markers if one)]),
        raw.decimal,
        # Rows of labels in another file are named by that file.
        raw.places if options.labels_file is None else None,
        options.incomplete,
    )


def _truth(
    raw: RawTable, coded: CodedLabels, options: ReadOptions, where: str
) -> NDArray[Any] | None:
    if options.truth is None:
        return None
    column = raw.others[options.truth]
    column = replace(column, texts=mark_unlabeled(column.texts, options.unlabeled))
    named = f"{where}: {options.truth!r}"
    return LabelColumn(column, named, decimal=raw.decimal, places=raw.places).code_like(coded)


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
    readings = fitted.column_readings
    selection = Selection.of(
        options,
        expected={reading.column: reading.feature for reading in readings},
        usual_id=fitted.usual_id,
        optional=fitted.optional,
        grouped=any(isinstance(r, NumberReading) and r.decimal == "," for r in readings),
        svmlight_base=fitted.svmlight_base,
    )
    raw = read_for_model(paths, selection)
    where = raw.source
    features = encode_again(raw, readings, options)
    if raw.ignored:
        warn(
            f"{where}: the model does not know the column {quoted(raw.ignored)}; not used.",
            LapwingWarning,
        )
    found = InputErrors(where)
    found.messages += feature_errors(features, raw, missing=fitted.missing, new=True)
    ids = np.arange(1, raw.n + 1)
    with found.gather():
        ids = check_ids(raw, options.id or fitted.usual_id)
    found.raise_all()
    warn_of_bad_cells(features, raw)
    return Table(
        features,
        ids,
        np.full(raw.n, "", dtype=object),
        np.zeros(raw.n, dtype=bool),
        "",
        id_name=options.id,
        whole=raw.others if options.whole else None,
        **raw.facts,
    )


def complete_labels(raw: RawTable, options: ReadOptions, ids: NDArray[Any]) -> RawTable:
    """Replace markers of "no label" by blanks, and merge the labels of files of answers.

    Parameters
    ----------
    raw : RawTable
        Table with labels.
    options : ReadOptions
    ids : ndarray of shape (n,)
        Names of the rows, for messages.

    Raises
    ------
    ValueError
        If a row has two labels.
    """
    assert raw.labels is not None
    assert raw.keys is not None

    def blank(labels: NDArray[Any]) -> NDArray[Any]:
        return mark_unlabeled(labels, options.unlabeled, _marker(raw, options))

    known = set(raw.labels.texts.tolist())
    absent = [m for m in options.unlabeled if m and not any(same_label(m, v) for v in known)]
    if absent:
        warn(
            f"{raw.source}: no row has the label {quoted(absent)} (--unlabeled). Is it written "
            "otherwise?",
            LapwingWarning,
        )
    labels, remarks = fill_in(raw.labels, raw.answers, blank, ids, raw.keys.label)
    given = [one.suggested & (blank(one.labels.texts) != "") for one in raw.answers]
    return replace(
        raw,
        labels=labels,
        remarks=(*raw.remarks, *remarks),
        answers=(),
        n_suggested=sum(int(np.count_nonzero(rows)) for rows in given),
    )


def _as_paths(path: Paths) -> list[Path]:
    if isinstance(path, (str, os.PathLike)):
        return [Path(path)]
    return [Path(one) for one in path]


def _layout(raw: RawTable, names: Sequence[str], where: str) -> NDArray[Any] | None:
    if not names:
        return None
    layout = np.empty((raw.n, 2))
    for j, name in enumerate(names):
        layout[:, j], wrong = numbers_of(raw.others[name], raw.decimal)
        if wrong is not None or not np.isfinite(layout[:, j]).all():
            raise ValueError(f"{where}: column {name!r} (--map) must hold a number in every row.")
    return layout
