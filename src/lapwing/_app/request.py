"""What a verb is asked to do: its options, checked, as one frozen value.

An option is named twice: where `lapwing._app.commands` declares it, and as a field here. All else
takes the request. A new option is a parameter there, a field here, and its use.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from lapwing._app.affordable import Effort
from lapwing._app.methods import AUTO, COMMAND_METHODS, CommandMethod, find_method
from lapwing._app.preprocessing import IMPUTES, SCALES
from lapwing._app.settings import parse_settings
from lapwing._host.files import check_writable
from lapwing._host.optional import require
from lapwing._report.next_step import Hints
from lapwing._tables.options import ReadOptions
from lapwing._tables.parts import TABLES, name_of
from lapwing._tables.predictions import check_output
from lapwing._tables.words import shorten

__all__ = [
    "DEFAULT_METHOD",
    "CompareRequest",
    "FitRequest",
    "InfoRequest",
    "LabelRequest",
    "LearningRequest",
    "Outputs",
    "PredictRequest",
    "SuggestRequest",
    "TableRequest",
    "TuneRequest",
]

# What fits a table if nobody says more; a parameter is one of a method that has to be known.
DEFAULT_METHOD = AUTO
_METHOD_OF_SETTINGS = "lapsvc"

_SUFFIXES = {"report": (".html", ".htm"), "onnx": (".onnx",), "next": (".csv",)}
_SHEETS = (".xlsx", ".xls", ".ods", ".xlsm")
_EXTRAS = {
    "model": ("skops.io", "model"),
    "report": ("jinja2", "report"),
    "onnx": ("onnx", "onnx"),
}
# Not what is done but where it goes and what is said of it: no part of the command that repeats it.
_SIDE = {"side": True}
_REPORT = Path("report.html")


def _named(flag: str, default: Any) -> Any:
    """A field whose option is called otherwise, as its name would hide one of Python's."""
    return field(default=default, metadata={"flag": flag})


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
                _check_suffix(f"--{name}", path, _SUFFIXES[name])
            check_writable(path)
            if name in _EXTRAS:
                module, extra = _EXTRAS[name]
                require(module, extra=extra, purpose=f"--{name}")
            real = os.path.realpath(path)
            if real in taken:
                raise ValueError(f"--{name} {path} is {taken[real]} itself; name another file.")
            taken[real] = f"--{name}"


@dataclass(frozen=True, kw_only=True)
class TableRequest:
    """Options of all verbs that read a table.

    Attributes
    ----------
    data : tuple of Path
        The files.
    id_column : str or None
        Column that names the rows.
    decimal : {'auto', '.', ','}
        The decimal mark of numbers in texts.
    sheet : str or None
        The sheet of a spreadsheet.
    skip_lines : int or None
        Lines of a CSV file above the names; None finds them.
    quiet, as_json : bool
        How much is said.
    """

    verb: ClassVar[str]

    data: tuple[Path, ...]
    id_column: str | None = _named("--id", None)
    decimal: str = "auto"
    sheet: str | None = None
    skip_lines: int | None = None
    quiet: bool = field(default=False, metadata=_SIDE)
    as_json: bool = field(default=False, metadata=_SIDE | {"flag": "--json"})

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> Self:
        """Take the options of a verb as typer gives them: lists, and None for those not given."""
        frozen: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in options.items()
        }
        defaults = {f.name: f.default for f in fields(cls)}
        given = {k: v for k, v in frozen.items() if not (v is None and defaults[k] is not None)}
        return cls(**given)

    @property
    def source(self) -> str:
        """Names of the files, as the user wrote them."""
        return name_of(self.data)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """All files that are read."""
        return self.data

    @property
    def outputs(self) -> Outputs:
        """The files to write."""
        return Outputs()

    @property
    def command(self) -> str:
        """The command line that does the same again; where its outputs go is not part of it."""
        return shlex.join(["lapwing", self.verb, *map(str, self.data), *self._words()])

    @property
    def read_options(self) -> ReadOptions:
        """How the table is read."""
        return ReadOptions(
            id=self.id_column,
            decimal=self.decimal,
            sheet=self.sheet,
            skip_lines=self.skip_lines,
        )

    @classmethod
    def flags(cls) -> set[str]:
        """All options of the verb, as they are written."""
        return {_flag(one) for one in fields(cls)} - {"--data"}

    def _words(self, *, brief: bool = False) -> Iterator[str]:
        for one in fields(self):
            if one.name == "data" or one.metadata.get("side"):
                continue
            value = getattr(self, one.name)
            if brief and value == self._usual(one):
                continue
            for part in value if isinstance(value, tuple) else (value,):
                if part is True:
                    yield _flag(one)
                elif part is not None and part is not False:
                    yield from (_flag(one), str(part))

    def _usual(self, one: Field[Any]) -> Any:
        """What an option is if it is not given."""
        return one.default


def _flag(one: Field[Any]) -> str:
    return str(one.metadata.get("flag", f"--{one.name}")).replace("_", "-")


@dataclass(frozen=True, kw_only=True)
class LabeledRequest(TableRequest):
    """Options of the verbs whose table has labels.

    Attributes
    ----------
    label : str or None
        Column with the labels.
    labels : Path or None
        File with the labels.
    features, drop, keep : tuple of str
        Columns to use; columns to leave out; columns to use although they look of no use.
    unlabeled : tuple of str
        Values of the label column that mean no label.
    strict : bool
        Whether the table is read as it stands.
    dates : {'auto', 'day', 'month'}
        What comes first in dates that can be read both ways.
    scale : {'auto', 'standard', 'none'}
        Whether columns are standardised.
    seed : int
        Of all that is random.
    """

    label: str | None = None
    labels: Path | None = None
    features: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    unlabeled: tuple[str, ...] = ()
    strict: bool = False
    dates: str = "auto"
    scale: str = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        _check_choice("--scale", self.scale, SCALES)
        self.read_options  # noqa: B018 - wrong ones are told before a file is read

    @property
    def read_options(self) -> ReadOptions:
        """How the table is read."""
        return ReadOptions(
            label=self.label,
            id=self.id_column,
            features=self.features,
            drop=self.drop,
            keep=self.keep,
            labels_file=self.labels,
            unlabeled=self.unlabeled,
            strict=self.strict,
            decimal=self.decimal,
            dates=self.dates,
            sheet=self.sheet,
            skip_lines=self.skip_lines,
        )

    @property
    def inputs(self) -> tuple[Path, ...]:
        """All files that are read."""
        return self.data if self.labels is None else (*self.data, self.labels)


@dataclass(frozen=True, kw_only=True)
class InfoRequest(LabeledRequest):
    """Options of ``lapwing info``.

    Attributes
    ----------
    n_neighbors : int
        Of the graph that is looked at.
    """

    verb = "info"

    n_neighbors: int = 5

    def fit_command(self, label: str | None, id_column: str | None) -> str:
        """The command that fits the table, to be pasted into a shell.

        Parameters
        ----------
        label, id_column : str or None
            Columns that look like it, where the request names none.
        """
        shared = {one.name: getattr(self, one.name) for one in fields(LabeledRequest)}
        if self.label is None and self.labels is None:
            shared["label"] = label
        shared["id_column"] = self.id_column or id_column
        request = FitRequest(**shared, predictions=Path("predictions.csv"))
        words = ["lapwing", "fit", *map(str, self.data), *request._words(brief=True)]
        return shlex.join([*words, "--predictions", str(request.predictions)])


@dataclass(frozen=True, kw_only=True)
class FilledRequest(LabeledRequest):
    """Options of the verbs whose table may miss numbers.

    Attributes
    ----------
    impute : {'auto', 'none', 'median', 'mean'}
        What takes the place of missing numbers; auto is the median where some are missing, and
        none with ``strict``.
    """

    impute: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_choice("--impute", self.impute, IMPUTES)

    @property
    def read_options(self) -> ReadOptions:
        """How the table is read."""
        missing = self.impute != "none" and not (self.impute == "auto" and self.strict)
        return replace(super().read_options, missing=missing)

    @property
    def full_command(self) -> str:
        """The command that writes the same files, to be pasted into a shell."""
        written = self.outputs.named()
        outputs = [word for name, path in written.items() for word in (f"--{name}", path)]
        words = [*map(str, self.data), *self._words(brief=True), *outputs]
        return shlex.join(["lapwing", self.verb, *words])

    def command_without(self, values: Sequence[str]) -> str:
        """Say how to do it again if some values of the label column mean no label."""
        again = replace(self, unlabeled=(*self.unlabeled, *values))
        return f"run: {again.full_command}"

    def fit_command(self, method: str, settings: Sequence[str] = ()) -> str:
        """The command that fits the same table with a method and its settings.

        Parameters
        ----------
        method : str
            In `COMMAND_METHODS`.
        settings : sequence of str
            ``name=value`` each.
        """
        kept = FitRequest if isinstance(self, FitRequest) else FilledRequest
        shared = {one.name: getattr(self, one.name) for one in fields(kept)}
        again = shared | {"method": method, "settings": tuple(settings)}
        return FitRequest(**again).full_command


@dataclass(frozen=True, kw_only=True)
class CompareRequest(FilledRequest):
    """Options of ``lapwing compare``.

    Attributes
    ----------
    max_rows : int
        Most rows that the methods are compared on.
    out : Path or None
        File for the table of methods.
    """

    verb = "compare"

    max_rows: int = _named("--rows", Effort.max_samples)
    out: Path | None = field(default=None, metadata=_SIDE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.out is not None:
            _check_suffix("--out", self.out, (".csv", ".json", ".html"))

    @property
    def read_options(self) -> ReadOptions:
        """How the table is read."""
        return replace(super().read_options, regression=None)

    @property
    def outputs(self) -> Outputs:
        """The file to write."""
        return Outputs(out=self.out)

    @property
    def effort(self) -> Effort:
        """How much evidence is gathered."""
        return Effort(max_samples=self.max_rows)


@dataclass(frozen=True, kw_only=True)
class LearningRequest(FilledRequest):
    """Options of the verbs that fit a method to a table.

    Attributes
    ----------
    method : str
        A name in `METHODS`; that of an estimator is replaced by it. Empty means the usual one of
        the verb.
    settings : tuple of str
        ``name=value`` each.
    """

    method: str = ""
    settings: tuple[str, ...] = _named("--set", ())

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", find_method(self.method or self._usual_method())[0])
        super().__post_init__()
        self.parameters  # noqa: B018 - a wrong --set is told before a file is read

    def _usual_method(self) -> str:
        """The method if none is named."""
        return _METHOD_OF_SETTINGS

    def _usual(self, one: Field[Any]) -> Any:
        return self._usual_method() if one.name == "method" else super()._usual(one)

    @property
    def automatic(self) -> bool:
        """Whether the method is chosen by the table."""
        return self.method == AUTO

    @property
    def read_options(self) -> ReadOptions:
        """How the table is read."""
        regression = None if self.automatic else self.chosen.regression
        return replace(super().read_options, regression=regression)

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """Values that ``--set`` gives, by name."""
        return parse_settings(self.settings, self.chosen)

    @property
    def chosen(self) -> CommandMethod:
        """The method."""
        return find_method(self.method)[1]


@dataclass(frozen=True, kw_only=True)
class FitRequest(LearningRequest):
    """Options of ``lapwing fit``.

    Attributes
    ----------
    truth : str or None
        Column with known answers.
    layout : tuple of str
        Two columns for the report's map, or none.
    probabilities : bool
        Whether the predictions have a column of probabilities for each class.
    predictions, model, report, onnx, next_rows : Path or None
        The files to write.
    """

    verb = "fit"

    truth: str | None = None
    layout: tuple[str, ...] = _named("--map", ())
    probabilities: bool = False
    predictions: Path | None = field(default=None, metadata=_SIDE)
    model: Path | None = field(default=None, metadata=_SIDE)
    report: Path | None = field(default=None, metadata=_SIDE)
    onnx: Path | None = field(default=None, metadata=_SIDE)
    next_rows: Path | None = field(default=None, metadata=_SIDE | {"flag": "--next"})

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_method(self.chosen)

    def _usual_method(self) -> str:
        return _METHOD_OF_SETTINGS if self.settings else DEFAULT_METHOD

    def check_method(self, method: CommandMethod) -> None:
        """Check that a method can give what is asked for.

        Raises
        ------
        ValueError
            If a file is asked for that it cannot make.
        """
        if self.onnx is not None and method.no_onnx:
            raise ValueError(f"--onnx: {method.name} cannot be exported to ONNX: {method.no_onnx}.")
        if self.next_rows is not None and method.regression:
            raise ValueError(
                f"--next: {method.name} predicts numbers and does not say of which it is least "
                "certain. Leave out --next; the report lists the rows to look at."
            )

    @property
    def read_options(self) -> ReadOptions:
        """How the table is read."""
        return replace(super().read_options, truth=self.truth, layout=self.layout)

    @property
    def outputs(self) -> Outputs:
        """The files to write."""
        return Outputs(self.predictions, self.model, self.report, self.onnx, self.next_rows)

    @property
    def hints(self) -> Hints:
        """How the next step is taken."""
        where = "--next next.csv writes them to a file."
        if self.next_rows is not None:
            where = f"They are in {shorten(str(self.next_rows))}."
        return Hints(where, "lapwing predict")

    @property
    def next_command(self) -> str:
        """The command that fits again with the file of `next_rows` filled in."""
        assert self.next_rows is not None
        again = replace(
            self, data=(*self.data, self.next_rows), next_rows=_following(self.next_rows)
        )
        return again.full_command

    @property
    def wants_report(self) -> bool:
        """Whether the figures of a report are needed; a model carries them."""
        return self.model is not None or self.report is not None


@dataclass(frozen=True, kw_only=True)
class TuneRequest(FitRequest):
    """Options of ``lapwing tune``: those of a fit, by a method that chooses its own parameters."""

    verb = "tune"

    def __post_init__(self) -> None:
        if self.method:
            object.__setattr__(self, "method", _choosing_its_own(find_method(self.method)[0]))
        super().__post_init__()

    def _usual_method(self) -> str:
        return "laprls-cv" if self.settings else AUTO

    @property
    def hints(self) -> Hints:
        """How the next step is taken."""
        return Hints("lapwing suggest writes the rows that tell most.", "lapwing predict")


@dataclass(frozen=True, kw_only=True)
class SuggestRequest(LearningRequest):
    """Options of ``lapwing suggest``.

    Attributes
    ----------
    n_rows : int
        How many rows to ask for.
    out : Path
        The file to write.
    """

    verb = "suggest"

    n_rows: int = _named("--rows", 10)
    out: Path = field(metadata=_SIDE)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_suffix("--out", self.out, (".csv",))
        if not _updatable(self.chosen):
            known = [name for name, one in COMMAND_METHODS.items() if _updatable(one)]
            raise ValueError(
                f"--method {self.method} does not say which rows to label next. Use one of "
                f"{', '.join(known)}."
            )
        _check_graph_is_used(self.parameters)

    @property
    def read_options(self) -> ReadOptions:
        """How the table is read."""
        return replace(super().read_options, incomplete=True)

    @property
    def outputs(self) -> Outputs:
        """The file to write."""
        return Outputs(out=self.out)

    @property
    def next_command(self) -> str:
        """The command that asks for more rows when those of `out` are filled in."""
        return replace(self, data=(*self.data, self.out), out=_following(self.out)).full_command

    @property
    def answer_command(self) -> str:
        """The command that fits with them, by the usual method if none was named."""
        shared = {one.name: getattr(self, one.name) for one in fields(LearningRequest)}
        if self.method == self._usual_method() and not self.settings:
            shared["method"] = ""
        return FitRequest(**shared | {"data": (*self.data, self.out)}).full_command


@dataclass(frozen=True, kw_only=True)
class LabelRequest(LearningRequest):
    """Options of ``lapwing label``.

    Attributes
    ----------
    text, image : str or None
        Columns that are looked at: a text, and the file name of a picture.
    layout : tuple of str
        Two columns for the map, or none.
    classes : tuple of str
        Classes that are known before any row has a label; as given, with commas between them.
    journal : Path or None
        Where the labels are kept; None means beside the table.
    port : int
        Of the loopback; 0 is any that is free.
    no_browser : bool
        Whether to leave the browser closed.
    """

    verb = "label"

    method: str = "laperls"
    text: str | None = None
    image: str | None = None
    layout: tuple[str, ...] = _named("--map", ())
    classes: tuple[str, ...] = ()
    journal: Path | None = None
    port: int = field(default=0, metadata=_SIDE)
    no_browser: bool = field(default=False, metadata=_SIDE)

    def __post_init__(self) -> None:
        super().__post_init__()
        # Those that choose their parameters would choose them by the two labels of the page's own.
        known = {
            name: one
            for name, one in COMMAND_METHODS.items()
            if _updatable(one) and not one.regression and not name.endswith("-cv")
        }
        if self.chosen not in known.values():
            raise ValueError(
                f"--method {self.method} cannot learn while one labels classes. Use one of "
                f"{', '.join(known)}."
            )
        _check_graph_is_used(self.parameters)
        if self.journal is None and str(self.data[0]) == "-":
            raise ValueError(
                "Standard input has no folder for the labels. Name a file with --journal."
            )

    @property
    def read_options(self) -> ReadOptions:
        """How the table is read."""
        return replace(
            super().read_options,
            layout=self.layout,
            shown=self.shown,
            incomplete=True,
            absent=True,
        )

    @property
    def shown(self) -> tuple[str, ...]:
        """Columns that are looked at and not learnt from."""
        return tuple(dict.fromkeys(name for name in (self.text, self.image) if name is not None))

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names in `classes`."""
        names = (name.strip() for given in self.classes for name in given.split(","))
        return tuple(dict.fromkeys(filter(None, names)))

    @property
    def journal_path(self) -> Path:
        """The file of the labels."""
        if self.journal is not None:
            return self.journal
        return self.data[0].with_name(f"{self.data[0].name}.labels.jsonl")

    def fit_request(self, column: str, *, changed: bool) -> FitRequest:
        """The fit that learns the same way, from the labels that were taken along.

        Parameters
        ----------
        column : str
            What ``labels.csv`` calls the labels.
        changed : bool
            Whether a label of the table itself was changed, which a second file cannot do.
        """
        shared = {one.name: getattr(self, one.name) for one in fields(LearningRequest)}
        drop = (*self.drop, *self.shown)
        by_name = self.labels is None and self.data[0].suffix.lower() in TABLES
        if by_name and not changed:
            shared |= {"data": (*self.data, Path("labels.csv")), "label": column}
        else:
            shared |= {"label": None, "labels": Path("labels.txt")}
            drop = (*drop, column) if changed and self.label is not None else drop
        # Figures that only a report needs: all files are made of one fit.
        return FitRequest(**shared | {"drop": drop, "layout": self.layout}, report=_REPORT)


@dataclass(frozen=True, kw_only=True)
class PredictRequest(TableRequest):
    """Options of ``lapwing predict``.

    Attributes
    ----------
    model : Path
        File of the model.
    probabilities : bool
        Whether the predictions have a column of probabilities for each class.
    predictions : Path or None
        The file to write; None means standard output.
    """

    verb = "predict"

    model: Path
    probabilities: bool = False
    predictions: Path | None = field(default=None, metadata=_SIDE)

    def __post_init__(self) -> None:
        if self.as_json and self.predictions is None:
            raise ValueError("--json needs --predictions: standard output can be one of both.")

    @property
    def inputs(self) -> tuple[Path, ...]:
        """All files that are read."""
        return (self.model, *self.data)

    @property
    def outputs(self) -> Outputs:
        """The files to write."""
        return Outputs(self.predictions)


def _choosing_its_own(name: str) -> str:
    """The method of that name that chooses its own parameters."""
    tuned = name if name.endswith("-cv") or name == AUTO else f"{name}-cv"
    if tuned not in COMMAND_METHODS and tuned != AUTO:
        known = [one.removesuffix("-cv") for one in COMMAND_METHODS if one.endswith("-cv")]
        raise ValueError(
            f"--method {name} has no parameters that tune can choose. Use one of "
            f"{', '.join(known)}."
        )
    return tuned


def _updatable(method: CommandMethod) -> bool:
    return "updatable" in method.make().get_params(deep=False)


def _check_graph_is_used(parameters: Mapping[str, Any]) -> None:
    if parameters.get("gamma_I") == 0:
        raise ValueError(
            "--set gamma_I=0 leaves out the graph by which the rows are chosen. Leave it out."
        )


def _following(path: Path) -> Path:
    """The file of the next round: next.csv, next-2.csv, next-3.csv."""
    numbered = re.search(r"-(\d+)$", path.stem)
    stem = path.stem[: numbered.start()] if numbered else path.stem
    return path.with_stem(f"{stem}-{int(numbered[1]) + 1 if numbered else 2}")


def _check_suffix(option: str, path: Path, known: tuple[str, ...]) -> None:
    suffix = path.suffix.lower()
    if suffix in known:
        return
    named = known[0] if len(known) < 3 else f"{', '.join(known[:-1])} or {known[-1]}"
    message = f"cannot write {path}: the extension of {option} is {named}."
    if suffix in _SHEETS and ".csv" in known:
        message += f" Excel and LibreOffice open such a file. It can be given back as {suffix} too."
    raise ValueError(message)


def _check_choice(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{option} {value!r} is none of {', '.join(known)}.")
