"""Requests: the options of each verb as one frozen value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from lapwing._app import forecast
from lapwing._app.methods import AUTO, COMMAND_METHODS, METHODS, find_method
from lapwing._app.options import (
    LEARN,
    METHOD_OF_SETTINGS,
    SAY,
    TABLE,
    WRITE,
    LabeledRequest,
    LearningRequest,
    Request,
    TableRequest,
    complete_method,
    next_path,
    option,
)
from lapwing._report.record import Hints
from lapwing._tables.embedding import check_encoder
from lapwing._tables.labels import LabelAdvice
from lapwing._tables.predictions import PREDICTION_FORMATS, SHEET_FORMATS
from lapwing._tables.reading import TABLES
from lapwing._tables.roles import ReadOptions
from lapwing._words import shorten

PREDICTIONS, _REPORT = Path("predictions.csv"), Path("report.html")
_PAGE = (".html", ".htm")
_OUT = "--out --output -o"
_OF_NUMBERS = "laprls-regressor"  # the method for numbers of lapwing suggest and info


@dataclass(frozen=True, kw_only=True)
class AnswersRequest(TableRequest):
    """Options of the verbs that write predictions.

    Attributes
    ----------
    probabilities : bool
        Also write the probability of each class, not only that of the answer.
    whole : bool
        Also write the columns of the table, unchanged, after the answers.
    predictions : Path or None
        File for the answers, .csv, .xlsx, .parquet or .npz: id, label, probability, sure, scores,
        margin, was_labeled.
    """

    probabilities: bool = option(False, panel=WRITE)
    whole: bool = option(False, panel=WRITE, flags="--with-columns")
    predictions: Path | None = option(None, writes=PREDICTION_FORMATS, panel=WRITE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.whole and self.predictions and self.predictions.suffix.lower() == ".npz":
            raise ValueError(
                f"--with-columns: {self.predictions} would hold arrays, which have no place for "
                "the columns of a table. Write a .csv, .xlsx or .parquet file."
            )


@dataclass(frozen=True, kw_only=True)
class FitRequest(LearningRequest, AnswersRequest):
    """Options of ``lapwing fit``.

    Attributes
    ----------
    layout : tuple of str
        Column for the report's map. Give it twice, for x and y. Default: principal
        components.
    cluster : str or None
        Fit on the Dask cluster of this scheduler, such as tcp://host:8786.
    workers : int or None
        Fit on this number of processes of this machine.
    model : Path or None
        File for the model, for lapwing predict and lapwing report.
    report : Path or None
        File for the report, .html.
    onnx : Path or None
        File for the model as ONNX, .onnx.
    next_rows : Path or None
        File for the ten rows to label next, .csv, .xlsx or .parquet. Fill in its label column and
        pass it after DATA.
    """

    verb = "fit"
    default_method = AUTO

    layout: tuple[str, ...] = option((), panel=TABLE, flags="--map")
    cluster: str | None = option(None, panel=LEARN, metavar="ADDRESS")
    workers: int | None = option(None, panel=LEARN, limits=(1, None))
    model: Path | None = option(None, writes=(), panel=WRITE, needs=("skops.io", "model"))
    report: Path | None = option(None, writes=_PAGE, panel=WRITE, needs=("jinja2", "report"))
    onnx: Path | None = option(None, writes=(".onnx",), panel=WRITE, needs=("onnx", "onnx"))
    next_rows: Path | None = option(None, writes=SHEET_FORMATS, panel=WRITE, flags="--next")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_cluster()
        self._check_onnx()

    @property
    def distributed(self) -> bool:
        """Whether the fit runs on a cluster."""
        return self.cluster is not None or self.workers is not None

    @property
    def cluster_flag(self) -> str:
        """Option that asks for a cluster."""
        return "--workers" if self.cluster is None else "--cluster"

    def _check_cluster(self) -> None:
        if not self.distributed:
            return
        flag = self.cluster_flag
        if self.cluster is not None and self.workers is not None:
            raise ValueError("Give --cluster ADDRESS or --workers N, not both.")
        if self.automatic:
            raise ValueError(
                f"{flag} needs the name of a method, because --method auto would fit several. Use "
                "--method laperls or anchors."
            )
        if self.next_rows is not None:
            raise ValueError(
                f"--next: the rows to label next are not found on a cluster. Leave out {flag}."
            )

    def _check_onnx(self) -> None:
        if self.onnx is None:
            return
        if self.encoder is not None:
            raise ValueError("--onnx: an ONNX file cannot hold the encoder. Leave out one of both.")
        # A comparison tries methods that can be exported.
        if reason := self.chosen.reason_without_onnx(self.parameters):
            name = self.chosen.class_name
            raise ValueError(f"--onnx: {name} cannot be exported to ONNX: {reason}.")

    @property
    def hints(self) -> Hints:
        """Commands for the next step."""
        where = "--next next.csv writes the ten rows that are most informative together."
        if self.next_rows is not None:
            where = f"They are in {shorten(str(self.next_rows))}."
        return Hints(where, "lapwing predict")

    @property
    def next_command(self) -> str:
        """Command that fits again with the file of `next_rows` filled in."""
        assert self.next_rows is not None
        again = replace(
            self, data=(*self.data, self.next_rows), next_rows=next_path(self.next_rows)
        )
        return again.full_command

    @property
    def wants_report(self) -> bool:
        """Whether the figures of a report are needed; a model file contains them as well."""
        return self.model is not None or self.report is not None


def as_fit_request(request: LabeledRequest, **changes: Any) -> FitRequest:
    """Return a fit with the options of a request of any verb, except for `changes`."""
    return FitRequest(**_shared(request, FitRequest) | changes)


def _shared(request: LabeledRequest, kind: type[LabeledRequest]) -> dict[str, Any]:
    """Return the options of a request that another verb has too."""
    names = {one.name for one in fields(request)} & {one.name for one in fields(kind)}
    return {name: getattr(request, name) for name in names}


def fit_command(request: LabeledRequest, **changes: Any) -> str:
    """Return the command that fits the same table with changed options.

    The output files are kept if the request is a fit.
    """
    return as_fit_request(request, **changes).full_command


def advice_of(request: LabeledRequest) -> LabelAdvice:
    """Return the commands that messages about the labels of a table advise."""

    def without(values: Sequence[str]) -> str:
        again = replace(request, unlabeled=(*request.unlabeled, *values))
        return f"run: {again.full_command}"

    def with_method(method: str) -> str:
        if isinstance(request, SuggestRequest):
            return f"run: {replace(request, method=method).full_command}"
        return f"run: {fit_command(request, method=method, settings=())}"

    return LabelAdvice(without, with_method)


@dataclass(frozen=True, kw_only=True)
class TuneRequest(FitRequest):
    """Options of ``lapwing tune``, a fit with a method that chooses its own parameters.

    Attributes
    ----------
    method : str
        One of lapsvc, laprls, laperls, laprls-regressor. Default: by the labels and the
        number of rows.
    """

    verb = "tune"
    default_method = AUTO
    default_with_settings = "laprls-cv"

    def __post_init__(self) -> None:
        if self.method:
            name = find_method(self.method).name
            tuned = name if name.endswith("-cv") or name == AUTO else f"{name}-cv"
            if tuned not in METHODS:
                known = [one.removesuffix("-cv") for one in METHODS if one.endswith("-cv")]
                raise ValueError(
                    f"--method {name} has no parameters that tune can choose. Use one of "
                    f"{', '.join(known)}."
                )
            object.__setattr__(self, "method", tuned)
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class CompareRequest(LabeledRequest):
    """Options of ``lapwing compare``.

    Attributes
    ----------
    max_rows : int
        Largest number of rows to compare on. In larger tables, all labelled rows are used and
        unlabelled ones are drawn at random.
    out : Path or None
        File for the table of methods, .csv, .json or .html.
    """

    verb = "compare"
    regression: ClassVar[bool | None] = None

    max_rows: int = option(forecast.ROWS, panel=LEARN, flags="--rows", limits=(2, None))
    out: Path | None = option(None, writes=(".csv", ".json", ".html"), panel=WRITE, flags=_OUT)


@dataclass(frozen=True, kw_only=True)
class InfoRequest(LabeledRequest):
    """Options of ``lapwing info``.

    Attributes
    ----------
    n_neighbors : int
        Number of neighbours of a row in the graph.
    """

    verb = "info"

    n_neighbors: int = option(5, limits=(1, None))

    def fit_command(
        self,
        label: str | None,
        row_id: str | None,
        markers: tuple[str, ...] = (),
        *,
        quantities: bool = False,
    ) -> str:
        """Return the command that fits the table.

        Parameters
        ----------
        label : str or None
            Likely column, used if the request names none.
        row_id : str or None
            Column with the identifiers.
        markers : tuple of str, default=()
            Further markers of unlabelled rows.
        quantities : bool, default=False
            Whether the labels are probably numbers to predict, in spite of their notation.
        """
        return fit_command(
            self,
            method=_OF_NUMBERS if quantities else "",
            label=label if self.label is None and self.labels_file is None else self.label,
            id=row_id,
            unlabeled=(*self.unlabeled, *markers),
            predictions=PREDICTIONS,
        )

    def label_command(self, row_id: str | None) -> str:
        """Return the command that opens the page to label the table, which has no labels."""
        return LabelRequest(**_shared(self, LabelRequest) | {"id": row_id}).full_command


@dataclass(frozen=True, kw_only=True)
class SuggestRequest(LearningRequest):
    """Options of ``lapwing suggest``.

    Attributes
    ----------
    method : str
        The method to fit; auto chooses one, as in fit. Default: lapsvc, or laprls-regressor for
        numbers.
    n_rows : int
        Number of rows to suggest.
    out : Path
        File for the rows to label next, .csv, .xlsx or .parquet. Fill in its label column and pass
        it after DATA.
    """

    verb = "suggest"
    default_method = ""
    incomplete: ClassVar[bool] = True

    n_rows: int = option(10, panel=WRITE, flags="--rows -k", limits=(1, None))
    out: Path = option(writes=SHEET_FORMATS, panel=WRITE, flags=_OUT)

    def decided(self, *, numeric: bool) -> SuggestRequest:
        """Return the request with the default method for these labels if it names none."""
        usual = _OF_NUMBERS if numeric else METHOD_OF_SETTINGS
        return self if self.method else replace(self, method=usual)

    @property
    def next_command(self) -> str:
        """Command that suggests more rows when those of `out` are filled in."""
        return replace(self, data=(*self.data, self.out), out=next_path(self.out)).full_command

    @property
    def answer_command(self) -> str:
        """Command that fits the table with the rows of `out` filled in."""
        usual = self.method == self._default_method() and not self.settings
        method, data = "" if usual else self.method, (*self.data, self.out)
        return fit_command(self, data=data, method=method, predictions=PREDICTIONS)


@dataclass(frozen=True, kw_only=True)
class LabelRequest(LearningRequest):
    """Options of ``lapwing label``.

    Attributes
    ----------
    label : str or None
        Column of the labels, if some rows have labels already. The labels that you give get the
        same name.
    method : str
        One of {methods}.
    text : tuple of str
        Columns of free text, separated by commas. May be repeated. The page shows them, and the
        model uses their words unless --drop names them too. Default: detected.
    image : str or None
        Column with the file names of pictures (PNG, JPEG, GIF, WebP), relative to the folder of the
        table. The model uses the pictures if there is an --encoder.
    layout : tuple of str
        Column for the map. Give it twice, for x and y.
    classes : tuple of str
        Names of the classes, separated by commas. May be repeated. You can also enter them in the
        page.
    target : float or None
        Percentage of wrong answers at which you want to stop; the page reports when it is reached.
        Default: none; the page has a field for it.
    check_every : int
        One row out of this number is drawn at random. The error is estimated from these rows only.
    random_labels : bool
        The labelled rows of the table were drawn at random, so that they can be used to estimate
        the error too.
    journal : Path or None
        File that stores the labels. Default: the name of the table followed by .labels.jsonl.
    port : int
        Port of the page. Default: any free port.
    no_browser : bool
        Do not open the browser.
    """

    verb = "label"
    default_method = default_with_settings = "laperls"
    incomplete: ClassVar[bool] = True
    absent: ClassVar[bool] = True
    shows_images = True

    method: str = option(default_method, panel=LEARN, complete=complete_method, leads=True)
    layout: tuple[str, ...] = option((), panel=TABLE, flags="--map")
    classes: tuple[str, ...] = option((), panel=TABLE)
    target: float | None = option(None, panel=LEARN, limits=(0.1, 50))
    check_every: int = option(5, panel=LEARN, limits=(1, None))
    random_labels: bool = option(False, panel=LEARN)
    journal: Path | None = option(None, panel=WRITE)
    port: int = option(0, panel=SAY, limits=(0, 65535), in_command=False)
    no_browser: bool = option(False, panel=SAY, in_command=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        # Choosing parameters needs more labels than the page starts with.
        known = {
            name: one
            for name, one in COMMAND_METHODS.items()
            if hasattr(one.estimator, "suggest") and not one.regression and not name.endswith("-cv")
        }
        if self.chosen not in known.values():
            raise ValueError(
                f"--method {self.method} cannot be updated with labels of classes. Use one of "
                f"{', '.join(known)}."
            )
        if self.parameters.get("gamma_I") == 0:
            raise ValueError(
                "--set gamma_I=0 removes the graph that chooses the rows. Use a positive gamma_I."
            )
        if self.journal is None and str(self.data[0]) == "-":
            raise ValueError(
                "Standard input has no folder for the labels. Name a file with --journal."
            )

    @property
    def read_options(self) -> ReadOptions:
        """Options of reading the table."""
        _, learnt = self._split_texts()
        shown = self.shown
        text = tuple(name for name in learnt if name not in shown)
        return replace(super().read_options, text=text)

    @property
    def shown(self) -> tuple[str, ...]:
        """Columns that the page shows and the model does not use; a name may be a list."""
        texts, _ = self._split_texts()
        pictures = [] if self.image is None or self.encoder is not None else [self.image]
        return tuple(dict.fromkeys([*texts, *pictures]))

    def _split_texts(self) -> tuple[list[str], list[str]]:
        """Return the columns in `text` that are dropped as well, and the others."""
        dropped = {name.strip() for given in self.drop for name in (given, *given.split(","))}
        texts: tuple[list[str], list[str]] = [], []
        for given in self.text:
            parts = [name.strip() for name in given.split(",")]
            whole = given in dropped or dropped.isdisjoint(parts)
            for name in [given] if whole else parts:
                texts[name not in dropped].append(name)
        return texts

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names in `classes`."""
        names = (name.strip() for given in self.classes for name in given.split(","))
        return tuple(dict.fromkeys(filter(None, names)))

    @property
    def journal_path(self) -> Path:
        """File of the labels."""
        if self.journal is not None:
            return self.journal
        return self.data[0].with_name(f"{self.data[0].name}.labels.jsonl")

    def fit_request(self, column: str, *, changed: bool) -> FitRequest:
        """Return the fit that repeats the page's model with the exported labels.

        Parameters
        ----------
        column : str
            Label column of ``labels.csv``.
        changed : bool
            Whether a label of the table itself was changed, which a second file cannot express.
        """
        drop = tuple(dict.fromkeys((*self.drop, *self.shown)))
        image = None if self.encoder is None else self.image  # else only shown
        places: dict[str, Any] = {"data": (*self.data, Path("labels.csv")), "label": column}
        if changed or self.labels_file is not None or self.data[0].suffix.lower() not in TABLES:
            # labels.txt has blanks in place of the markers, but the truth may still hold them.
            markers = tuple(m for m in self.unlabeled if not m or self.truth is not None)
            places = {"label": None, "labels_file": Path("labels.txt"), "unlabeled": markers}
            drop = (*drop, column) if changed and self.label is not None else drop
        # With the figures of a report, because all exported files come from one fit.
        return as_fit_request(self, **places, drop=drop, image=image, report=_REPORT)


@dataclass(frozen=True, kw_only=True)
class PredictRequest(AnswersRequest):
    """Options of ``lapwing predict``.

    Attributes
    ----------
    model : Path
        A file written by lapwing fit --model.
    encoder : str or None
        The encoder of the fit, if it had one. A model file stores only its name and no code.
    """

    verb = "predict"

    model: Path = option(argument=True, reads=True, metavar="MODEL")
    encoder: str | None = option(None, panel=LEARN)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoder is not None:
            check_encoder(self.encoder)
        if self.as_json and self.predictions is None:
            raise ValueError("--json needs --predictions: standard output can be one of both.")


@dataclass(frozen=True, kw_only=True)
class ReportRequest(Request):
    """Options of ``lapwing report``.

    Attributes
    ----------
    model : Path
        A file written by lapwing fit --model.
    out : Path or None
        File for the report. Default: MODEL with the extension .html.
    quiet : bool
        Show no summary.
    """

    model: Path = option(argument=True, reads=True, metavar="MODEL")
    out: Path | None = option(None, writes=_PAGE, flags=_OUT)
    quiet: bool = option(False, panel=SAY, flags="--quiet -q")


@dataclass(frozen=True, kw_only=True)
class DemoRequest(Request):
    """Options of ``lapwing demo``.

    Attributes
    ----------
    out : Path
        The picture to write (.png, .pdf or .svg).
    labels_per_class : int
        Number of labels for each of the ten digits.
    draws : int
        Number of random draws of the labels; errors are averaged.
    seed : int
        Random seed of the draws.
    """

    out: Path = option(Path("lapwing-demo.png"), writes=(".png", ".pdf", ".svg"), flags=_OUT)
    labels_per_class: int = option(3, limits=(1, 100))
    draws: int = option(5, limits=(1, None))
    seed: int = option(0, limits=(0, None))
