"""Options of the verbs, each declared once as a field of a frozen request.

A field declares the type, default, panel and limits of its option; the help text is the field's
description in the docstring of the class. `lapwing._app.verbs` generates the parameters of the
command line from the fields, and `TableRequest.command` converts a request back to a command. All
other modules use the request. Groups of options are shared by inheritance.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cached_property
from inspect import cleandoc
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Self

from lapwing._app.methods import AUTO, METHODS, CommandMethod, find_method
from lapwing._app.settings import parse_settings, setting_names
from lapwing._host.files import check_writable
from lapwing._host.modules import require
from lapwing._tables.embedding import PACKAGES, check_encoder
from lapwing._tables.predictions import require_writer
from lapwing._tables.preprocessing import IMPUTES, SCALES
from lapwing._tables.reading import FORMATS, name_of
from lapwing._tables.roles import ReadOptions, check_choice
from lapwing._words import quoted, shell_command

# Panels of the help, in the order in which it shows them.
TABLE = "The table"
LEARN = "Learning"
WRITE = "Output files"
SAY = "Messages"
PANELS = ("", TABLE, LEARN, WRITE, SAY)

# Method of --set without --method.
METHOD_OF_SETTINGS = "lapsvc"

_SHEETS = (".xlsx", ".xls", ".ods", ".xlsm")


@dataclass(frozen=True, kw_only=True)
class Option:
    """Declaration of a field on the command line.

    Attributes
    ----------
    panel : str
        One of `PANELS`.
    argument : bool
        Whether it is a positional argument instead of a flag.
    flags : str
        Flags, separated by blanks; empty derives one from the field's name.
    metavar : str or None
        Placeholder of the value in the help.
    limits : tuple of number or None
        Smallest and largest value.
    complete : callable or None
        Returns the values that begin with a text, for completion in shells.
    in_command : bool
        Whether it is part of the command that repeats a request.
    leads : bool
        Whether the help lists it first in its panel.
    reads : bool
        Whether it takes files to read.
    writes : tuple of str or None
        Extensions of the file to write whose path it takes, empty for any; None for other options.
    needs : tuple of str or None
        Module that writes the file, and its extra.
    """

    panel: str = ""
    argument: bool = False
    flags: str = ""
    metavar: str | None = None
    limits: tuple[float | None, float | None] = (None, None)
    complete: Callable[[str], list[str]] | None = None
    in_command: bool = True
    leads: bool = False
    reads: bool = False
    writes: tuple[str, ...] | None = None
    needs: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if self.panel not in PANELS:
            raise ValueError(f"panel={self.panel!r} must be one of PANELS: {quoted(PANELS)}.")


def option(default: Any = MISSING, /, **how: Any) -> Any:
    """Declare a field as an option of the command line; see `Option`."""
    return field(default=default, metadata={"option": Option(**how)})


def option_of(one: Field[Any]) -> Option:
    """Return the declaration of a field.

    Raises
    ------
    TypeError
        If it has none.
    """
    found: Option | None = one.metadata.get("option")
    if found is None:
        raise TypeError(
            f"The field {one.name!r} of a request is not declared as an option: give it the value "
            "option(default, panel=...)."
        )
    return found


def flag_of(one: Field[Any]) -> str:
    """Return the long flag of a field."""
    return (option_of(one).flags or f"--{one.name.replace('_', '-')}").split()[0]


_DESCRIBED = re.compile(r"^(\w+) : .*\n((?: {4}.*\n?)+)", re.MULTILINE)


def help_texts(request: type) -> dict[str, str]:
    """Return the help of each field: its description in the docstring of its class."""
    known = {"formats": FORMATS, "methods": METHODS, "encoders": PACKAGES}
    words = {name: ", ".join(values) for name, values in known.items()}
    return {
        name: " ".join(text.split()).format_map(words)
        for base in reversed(request.__mro__)
        for name, text in _DESCRIBED.findall(cleandoc(base.__doc__ or ""))
    }


def _check_suffix(flag: str, path: Path, known: tuple[str, ...]) -> None:
    """Check that an option can write files with the extension of a path."""
    suffix = path.suffix.lower()
    if suffix in known or not known:
        return
    named = known[0] if len(known) < 3 else f"{', '.join(known[:-1])} or {known[-1]}"
    message = f"cannot write {path}: the extension of {flag} is {named}."
    if suffix in _SHEETS and ".csv" in known:
        other = "an .xlsx" if ".xlsx" in known else "a .csv"
        message += f" Excel and LibreOffice open {other} file."
    raise ValueError(message)


def complete_method(incomplete: str) -> list[str]:
    """Return the methods whose names begin with a text."""
    return [name for name in METHODS if name.startswith(incomplete)]


def complete_setting(incomplete: str) -> list[str]:
    """Return the parameters of methods whose names begin with a text."""
    names = {name for m in METHODS.values() for name in setting_names(m)}
    return [f"{name}=" for name in sorted(names) if name.startswith(incomplete)]


@dataclass(frozen=True, kw_only=True)
class Request:
    """Options of a verb."""

    def __post_init__(self) -> None:
        """Check the options, before a file is read."""
        for flag, path, how in self._outputs():
            _check_suffix(flag, path, how.writes or ())

    @property
    def written(self) -> dict[str, str]:
        """Paths of the files to write as the user wrote them, by the names of their options."""
        return {flag.removeprefix("--"): str(path) for flag, path, _ in self._outputs()}

    def _outputs(self) -> Iterator[tuple[str, Path, Option]]:
        for one in fields(self):
            path = getattr(self, one.name)
            if option_of(one).writes is not None and path is not None:
                yield flag_of(one), path, option_of(one)

    def _values(self, one: Field[Any]) -> tuple[Any, ...]:
        """Return the values of an option; none if it is not given."""
        value = getattr(self, one.name)
        return value if isinstance(value, tuple) else () if value is None else (value,)

    def check_outputs(self) -> None:
        """Check that all files can be written.

        Raises
        ------
        ValueError
            If a path cannot be written, or a file is named twice.
        ImportError
            If a package that writes one of them is missing.
        """
        inputs = chain(*(self._values(one) for one in fields(self) if option_of(one).reads))
        taken = {os.path.realpath(path): "the input" for path in inputs if str(path) != "-"}
        for flag, path, how in self._outputs():
            check_writable(path)
            require_writer(path)
            if how.needs is not None:
                module, extra = how.needs
                require(module, extra=extra, purpose=flag)
            real = os.path.realpath(path)
            if real in taken:
                raise ValueError(f"{flag} {path} is {taken[real]} itself; name another file.")
            taken[real] = flag

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> Self:
        """Make the request from the values of typer: lists, and None for options not given."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in options.items()
            if value is not None
        }
        return cls(**given)


@dataclass(frozen=True, kw_only=True)
class TableRequest(Request):
    """Options of all verbs that read a table.

    Attributes
    ----------
    data : tuple of Path
        The table: {formats}, or - for standard input. Several files are one table.
    id : str or None
        Column with the identifiers of the rows. Default: rows are numbered from 1.
    decimal : str
        Decimal mark: auto (detected for each column), . or ,
    sheet : str or None
        Sheet of a spreadsheet. Default: the first sheet that is not empty.
    skip_lines : int or None
        Number of lines above the column names in a CSV file. Default: detected.
    separator : str
        Separator of a CSV file: auto (detected), a comma, a semicolon, | or tab.
    quiet : bool
        Show no progress and no summary.
    as_json : bool
        Print the summary as one JSON object.
    """

    verb: ClassVar[str]

    data: tuple[Path, ...] = option(argument=True, reads=True, metavar="DATA...")
    id: str | None = option(None, panel=TABLE)
    decimal: str = option("auto", panel=TABLE)
    sheet: str | None = option(None, panel=TABLE)
    skip_lines: int | None = option(None, panel=TABLE, limits=(0, None))
    separator: str = option("auto", panel=TABLE)
    quiet: bool = option(False, panel=SAY, flags="--quiet -q", in_command=False)
    as_json: bool = option(False, panel=SAY, flags="--json", in_command=False)

    @property
    def source(self) -> str:
        """Names of the input files as the user wrote them."""
        return name_of(self.data)

    @property
    def _files(self) -> list[str]:
        """Input files as words of a command; -x.csv would be an option."""
        return [f"./{path}" if re.match("-.", str(path)) else str(path) for path in self.data]

    @property
    def command(self) -> str:
        """Command that repeats the request, without its output options."""
        return shell_command(["lapwing", self.verb, *self._files, *self.words()])

    @property
    def read_options(self) -> ReadOptions:
        """Options of reading the table, taken from the attributes with the same names."""
        # Asked of the class, so that an error in a property is raised.
        names = (one.name for one in fields(ReadOptions) if hasattr(type(self), one.name))
        return ReadOptions(**{name: getattr(self, name) for name in names})

    def words(self, *, brief: bool = False) -> Iterator[str]:
        """Return the options as words of a command; `brief` omits those at their defaults."""
        for one in fields(self):
            how = option_of(one)
            if one.name == "data" or not how.in_command or how.writes is not None:
                continue
            if brief and getattr(self, one.name) == self._default(one):
                continue
            for value in self._values(one):
                if value is not False:
                    yield from (flag_of(one),) if value is True else (flag_of(one), str(value))

    def _default(self, one: Field[Any]) -> Any:
        """Return the default of an option."""
        return one.default


@dataclass(frozen=True, kw_only=True)
class LabeledRequest(TableRequest):
    """Options of the verbs whose table has labels.

    Attributes
    ----------
    label : str or None
        Column with the labels. An empty cell means that the row has no label.
    labels_file : Path or None
        File with the labels, if they are not in a column: one label per line, or an .npy array.
    truth : str or None
        Column with the true answers. No method learns from it, and fit counts the errors.
    features : tuple of str
        Columns to use, separated by commas. May be repeated. Default: all other columns.
    drop : tuple of str
        Columns to leave out, separated by commas. May be repeated.
    keep : tuple of str
        Columns to use that would be left out by default, separated by commas. May be repeated.
    text : tuple of str
        Columns of free text, separated by commas. May be repeated. The method uses their words.
        Default: detected.
    unlabeled : tuple of str
        A value of the label column that marks rows without a label. May be repeated.
    strict : bool
        Read the table without corrections. No column is left out. Anything that is not clearly a
        number or a text with few different values is an error.
    dates : str
        What comes first in an ambiguous date: auto, day or month.
    scale : str
        Standardise the columns: auto (if their scales differ widely), standard or none.
    seed : int
        Random seed.
    impute : str
        Replacement of a missing number: median, mean, or none (an error). auto is the median, or
        none with --strict.
    weight : tuple of str
        Weight of a column of free text relative to the other columns, such as notes=0.5. May be
        repeated. Default: 1.
    encoder : str or None
        Encoder that replaces word counts of free text by vectors: module:function (from a list of
        texts to an array), a folder of sentence-transformers, or {encoders}.
    image : str or None
        Column with the file names of pictures, relative to the folder of the table, which --encoder
        converts to vectors.
    """

    # Whether images need no encoder, because they are shown.
    shows_images: ClassVar[bool] = False

    label: str | None = option(None, panel=TABLE, leads=True)
    labels_file: Path | None = option(None, panel=TABLE, flags="--labels", reads=True, leads=True)
    truth: str | None = option(None, panel=TABLE)
    features: tuple[str, ...] = option((), panel=TABLE)
    drop: tuple[str, ...] = option((), panel=TABLE)
    keep: tuple[str, ...] = option((), panel=TABLE)
    text: tuple[str, ...] = option((), panel=TABLE)
    unlabeled: tuple[str, ...] = option((), panel=TABLE, metavar="VALUE")
    strict: bool = option(False, panel=TABLE)
    dates: str = option("auto", panel=TABLE)
    scale: str = option("auto", panel=LEARN)
    seed: int = option(0, panel=LEARN, limits=(0, None))
    impute: str = option("auto", panel=LEARN)
    weight: tuple[str, ...] = option((), panel=LEARN, metavar="COLUMN=WEIGHT")
    encoder: str | None = option(None, panel=LEARN)
    image: str | None = option(None, panel=TABLE)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("--scale", self.scale, SCALES)
        check_choice("--impute", self.impute, IMPUTES)
        self.read_options, self.weights  # noqa: B018 - raise before a file is read
        if self.encoder is not None:
            check_encoder(self.encoder)
        if self.image is not None and self.encoder is None and not self.shows_images:
            raise ValueError(
                f"--image {self.image}: name what makes vectors of the pictures with --encoder "
                "module:function, or leave out --image."
            )

    @property
    def weights(self) -> dict[str, float]:
        """Weights of columns of free text, by name."""
        found = {}
        for given in self.weight:
            name, _, value = given.rpartition("=")
            if name in found:
                raise ValueError(f"--weight {given}: {name} has a weight already. Give one.")
            try:
                found[name] = float(value)
            except ValueError:
                found[name] = -1.0
            if not name or not 0 <= found[name] < float("inf"):
                raise ValueError(
                    f"--weight {given}: write COLUMN=WEIGHT, such as notes=0.5; the weight is a "
                    "number, 0 or more."
                )
        return found

    @property
    def missing(self) -> bool:
        """Whether numbers may be missing, because they are filled in."""
        return self.impute != "none" and not (self.impute == "auto" and self.strict)

    @property
    def picture(self) -> str | None:
        """Column of pictures that the encoder converts."""
        return None if self.encoder is None else self.image

    @property
    def full_command(self) -> str:
        """Command that repeats the request and writes the same files."""
        outputs = [word for name, path in self.written.items() for word in (f"--{name}", path)]
        words = [*self._files, *self.words(brief=True), *outputs]
        return shell_command(["lapwing", self.verb, *words])


@dataclass(frozen=True, kw_only=True)
class LearningRequest(LabeledRequest):
    """Options of the verbs that fit a method to a table.

    `method` may be the name of an estimator, which is replaced by the name of its method. If empty,
    it is the default of the verb, which is set later if it depends on the labels.

    Attributes
    ----------
    method : str
        One of {methods}. Default: auto, and lapsvc with --set.
    settings : tuple of str
        A parameter of the method, such as gamma_I=1, graph.n_neighbors=15 or
        class_prior=a:0.2,b:0.8. May be repeated.
    """

    # Default methods without and with --set.
    default_method: ClassVar[str] = METHOD_OF_SETTINGS
    default_with_settings: ClassVar[str] = METHOD_OF_SETTINGS

    method: str = option("", panel=LEARN, complete=complete_method, leads=True)
    settings: tuple[str, ...] = option(
        (),
        panel=LEARN,
        flags="--set",
        metavar="NAME=VALUE",
        complete=complete_setting,
        leads=True,
    )

    def __post_init__(self) -> None:
        named = self.method or self._default_method()
        object.__setattr__(self, "method", find_method(named).name if named else "")
        super().__post_init__()
        self.parameters  # noqa: B018 - raises before a file is read

    def _default_method(self) -> str:
        return self.default_with_settings if self.settings else self.default_method

    def _default(self, one: Field[Any]) -> Any:
        return self._default_method() if one.name == "method" else super()._default(one)

    @property
    def automatic(self) -> bool:
        """Whether the method is chosen automatically."""
        return self.method == AUTO

    @property
    def regression(self) -> bool | None:
        """Whether the labels are numbers; None if the labels decide."""
        return None if self.automatic or not self.method else self.chosen.regression

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """Values of ``--set``, by name."""
        return parse_settings(self.settings, self.chosen)

    @property
    def chosen(self) -> CommandMethod:
        """The method."""
        return find_method(self.method or METHOD_OF_SETTINGS)


def next_path(path: Path) -> Path:
    """Return the file of the next round: next.csv, next-2.csv, next-3.csv."""
    numbered = re.search(r"-(\d+)$", path.stem)
    stem = path.stem[: numbered.start()] if numbered else path.stem
    return path.with_stem(f"{stem}-{int(numbered[1]) + 1 if numbered else 2}")
