"""Options that verbs share: the table, its labels, what takes the place of missing numbers."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from lapwing._app.preprocessing import IMPUTES, SCALES
from lapwing._app.requests.outputs import Outputs
from lapwing._tables.options import ReadOptions
from lapwing._tables.parts import name_of

# Not what is done but where it goes and what is said of it: no part of the command that repeats it.
SIDE = {"side": True}


def named(flag: str, default: Any) -> Any:
    """A field whose option is called otherwise, as its name would hide one of Python's."""
    return field(default=default, metadata={"flag": flag})


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
    id_column: str | None = named("--id", None)
    decimal: str = "auto"
    sheet: str | None = None
    skip_lines: int | None = None
    quiet: bool = field(default=False, metadata=SIDE)
    as_json: bool = field(default=False, metadata=SIDE | {"flag": "--json"})

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
            id=self.id_column, decimal=self.decimal, sheet=self.sheet, skip_lines=self.skip_lines
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


def _check_choice(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{option} {value!r} is none of {', '.join(known)}.")
