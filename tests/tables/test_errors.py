"""Errors of files and options: each names the file, the place and a remedy."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.helpers.customers import LABEL, write_csv
from tests.helpers.reading import read, read_strictly, rows, write, write_book
from tests.helpers.texts import sentences

CSV = "name,width,height,kind\na,1,2.5,cat\nb, 2 ,-3e1,\nc,4,0.5,dog\n"
_IDS = "k,x,y\na,1,p\nb,2,q\nb,3,\n", "k,x,y\na,1,p\n,2,q\n ,3,\nb,4,\n"
_NESTED = pl.DataFrame({"x": [[1], [2]], "z": [1, 5], "y": ["a", "b"]})
_MANY_WRONG = "id,name,u,v,y\n" + rows("{i},n{i},{a},1,{y}") + "29,n,x,inf,\n40,m,-,1,\n"
_X = np.eye(3)
_MANY = ",".join(f"x{j}" for j in range(20)) + f",y\n{',' * 20}a\n"

# Contents of a file (.csv unless the case names another), the error, and options.
STRICT: dict[str, tuple[Any, ...]] = {
    "empty": ("", r"is empty"),
    "only a header": ("x,y\n", r"has no rows"),
    "only a label": ("y\na\nb\n", r"no column to learn from besides the label"),
    "binary": (bytes(range(256)), r"line 1 is not UTF-8 text"),
    "null bytes": (b"x,y\n1,a\n\0\0,b\n", r"line 3 is not UTF-8 text"),
    "utf-16": ("x,y\n1,a\n".encode("utf-16"), r"line 1 is not UTF-8"),
    "latin-1": ("x,y\n1,a\n2,\xe9\n".encode("latin-1"), r"line 3 is not UTF-8 text"),
    "short line": ("x,z,y\n1,2,a\n1,2\n",
        r"line 3 has 2 fields, .* names 3 columns\. An empty cell needs its ','"),
    "short first line": ("x,z,y\n1,2\n", r"line 2 has 2 fields.*, or take the line out\.$"),
    "long line": ("x,y\n1,a\n1,2,b\n", r"line 3 has 3 fields, .* Put cells that contain ',' "),
    "open quote": ('x,y\n1,"a\n2,b\n', r"line 3 is not valid CSV.*quotes"),
    "repeated names": ("x,x,y\n1,2,a\n", r"column name 'x' occurs more than once"),
    "nameless": (",x,y\n0,3,a\n1,5,b\n", r"column 1 has no name.*--id ''"),
    "label missing": ("x,Kind\n1,a\n2,b\n", r"no column 'y' \(--label\)\. It has 'x', 'Kind'"),
    "no label": ("x,y\n1,\n2, \n", r"no row has a label \(blank means no label\)"),
    "one class": ("x,y\n1,a\n2,\n", r"only one class, 'a'.*--unlabeled"),
    "fractions": ("x,y\n1,0.5\n2,0.7\n", r"fractional numbers.*--method laprls"),
    "infinite": ("x,z,y\n1,2,a\n2,-inf,b\n", r"infinite values in 'z' \(1\).* row 2.*--drop"),
    "too large": ("x,y\n1e999,a\n2,b\n", r"infinite values in 'x'"),
    "missing": ("x,z,y\n1,,a\n2,NA,b\n", r"missing values in 'z' \(2\); the first is in row 1"),
    "many missing": (_MANY, r"'x7' \(1\) and 12 more"),
    "bad cell": ("x,z,y\n1,2,a\n2,three,b\n3,4,b\n",
        r"'z' holds text in 1 row; the first is row 2: 'three'\. .*--drop z"),
    "quotes of a shell": ("x,a 'b',y\n1,2,a\n2,three,b\n3,4,b\n",
        r"""the column out with --drop 'a '"'"'b'"'"''\.$"""),
    "text": ("x,c,y\n1,red,a\n2,blue,b\n",
        r"'c' cannot be used: not numeric.*such as 'red'.*--id.*--drop c"),
    "texts": ("x,c,d,y\n1,red,u,a\n", r"\(1\) column 'c' .*--drop c.*\(2\) column 'd' .*--drop d"),
    "all at once": (_MANY_WRONG, r"^\S+: 4 errors\. \(1\) column 'name' cannot be used: not numeric"
        r".*\(2\) column 'u' holds text in 2.*the first is row 31: 'x'.*\(3\) infinite values in "
        r"'v' \(1\).*\(4\) id column 'id' does not tell rows apart", {"id": "id"}),
    "packed.csv.gz": (gzip.compress(b"x,y\n1,a\n"), r"\.csv\.gz is compressed\. Unpack it"),
    "unknown.docx": ("x", r"extension '\.docx'"),
    "no line of names": ("1.5,2.5,p\n2.5,0.5,q\n3.5,1.5,\n",
        r"\(--label\)\. .*which look like values: write a line"),
    "years as names": ("2019,2020,p\n1,2,a\n2,3,b\n",
        r"\(--label\)\. It has '2019', '2020', 'p'\."),
    "near label": (CSV, r"no column 'KINDS' .*Did you mean 'kind'\?", {"label": "KINDS"}),
    "near id": (CSV, r"'nam' \(--id\)\. Did you mean 'name'\?", {"label": "kind", "id": "nam"}),
    "near drop": (CSV, r"\(--drop\)\. Did you mean 'width'", {"label": "kind", "drop": ["Width"]}),
    "label dropped": (CSV, r"column 'kind' cannot be --drop and --label",
        {"label": "kind", "drop": ["kind"]}),
    "label as id": (CSV, r"column 'kind' cannot be --id and --label",
        {"label": "kind", "id": "kind"}),
    "text as numbers": (CSV,
        r"row 1 holds 'cat'.*not a num", {"label": "kind", "drop": ["name"], "regression": True}),
    "infinite target": ("x,y\n1,1\n2,inf\n", "row 2 holds an infinite value", {"regression": True}),
    "marker as number": ("x,y\n0,1\n2,?\n1,3\n",
        r"'\?', which is not a number.* by --unlabeled '\?'\.", {"regression": True}),
    "equal ids": (_IDS[0], r"'k' does not tell rows apart: 'b' is in 2 rows.* row 2", {"id": "k"}),
    "empty ids": (_IDS[1],
        r"id column 'k' is empty in 2 rows, first in row 2\. Fill in .* leave --id out",
        {"id": "k"}),
    "garbage.parquet": (b"garbage" * 9, "is not a readable Parquet file"),
    "inside.parquet": (b"PAR1" + bytes(99) + b"PAR1", "is not a readable Parquet file"),
    "list.parquet": (_NESTED, r"'x' cannot be used: of the type List\(Int64\), which is"),
    "lists.parquet": (_NESTED, "'x' holds List", {"label": "x", "drop": ["y"]}),
    "null.parquet": (pl.DataFrame({"x": [1.0, None], "y": ["a", "b"]}),
        r"missing values in 'x' \(1\)"),
    "no X.npz": ({"x": _X, "y": [0, 1, -1]},
        r"no array 'X'; it has 'x', 'y'\..* arrays of their own\.$"),
    "no y.npz": ({"X": _X}, r"no array 'y'.* given with --labels"),
    "flat.npz": ({"X": np.ones(3), "y": [0, 1, -1]}, r"'X' must be a table of numbers.*\(3,\)"),
    "text.npz": ({"X": np.array([["a"]]), "y": [0]}, r"'X' must be a table of numbers"),
    "lengths.npz": ({"X": _X, "y": [0, 1]}, r"'y' must have one entry for each of the 3 rows"),
    "names.npz": ({"X": _X, "y": [0, 1, -1], "feature_names": ["a"]},
        r"'feature_names' has the shape \(1,\), but 'X' has 3 columns"),
    "complex.npz": ({"X": _X, "y": [0j, 1, 2]}, r"'y' has the type complex128"),
    "hidden.npz": ({"X": _X, "y": [-1, 1, -1]}, r"only one class, '1'.*blank or '-1'"),
    "code.npy": (_X.astype(object), "not a readable NPY file: it holds Python objects"),
    "code.npz": ({"X": np.eye(2), "y": np.array(["a", None], dtype=object)},
        r"array 'y' holds Python objects.*Save it as text"),
    "code too.npz": ({"X": _X.astype(object), "y": np.array(["a", "b", ""])},
        r"array 'X' holds Python objects, which are st"),
}  # fmt: skip


def customers(encoding: str = "utf-8") -> Callable[[Path], Path]:
    """Return a function that writes the table of customers."""
    return lambda path: write_csv(path, encoding)


def damaged(path: Path) -> None:
    """Write the table of customers without the second byte of a letter."""
    content = write_csv(path, "utf-8").read_bytes()
    at = content.index("ü".encode()) + 1
    path.write_bytes(content[:at] + content[at + 1 :])


def shortened(path: Path) -> None:
    path.write_bytes(write_csv(path, "utf-16").read_bytes()[:-1])


def damaged_big_endian(path: Path) -> None:
    """Write more than is read at once, because only the beginning has a byte order mark."""
    text = "x,y\n" + "1.5,a\n" * 100_000 + "1.5,\ud800\n"
    path.write_bytes(codecs.BOM_UTF16_BE + text.encode("utf-16-be", "surrogatepass"))


def two_sheets(path: Path) -> None:
    write_book(path, Legend=[["name", "meaning"], ["a", "b"]], Data=[["x", "y"], [1.5, "a"]])


def measured(*change: Any) -> list[list[Any]]:
    """Return the rows of a sheet with a title; a change is a row, a column and a value."""
    rows: list[list[Any]] = [[i, 1.091 + 0.31 * i, i % 5 if i < 12 else None] for i in range(30)]
    rows[change[0]][change[1]] = change[2]
    return [["Measured by X"], [], ["id", "size", "y"], *rows]


_TEXT, _ARRAYS = "x;z;y\n" + rows("{a};{b};{y}"), {"X": np.eye(4), "y": [1, 2, -1, -1]}
_NAMES = "id,x,z,kind\n"
_CELLS = "".join(f"r{i},{i + 0.5},{i % 3},{'ab'[i % 2] if i < 6 else ''}\n" for i in range(12))
_KIND, _TRUTH = {"label": "kind"}, {"truth": "t", "drop": ("z",)}
_SENTENCES = "".join(
    f"{3 + 2 * i},{label}\n" for i, label in enumerate([*sentences(6, 5), *[""] * 9])
)
_SVM = "\n".join(f"{i % 2 if i < 8 else -1} 1:1 3:{i} 4:2" for i in range(30))

# The same, for files that are read leniently.
LENIENT: dict[str, tuple[Any, ...]] = {
    "all wrong names": ("x,kind\n1,a\n", r"2 errors\. \(1\).*'knd' \(--label\).*\(2\).*'z' \(--dr",
        {"label": "knd", "drop": ("z",)}),
    "labels and features": ("x,y\ninf,a\n" + "1.5,a\n2.5,a\n" * 9,
        r"infinite values in 'x'.*holds only one class, 'a'"),
    "nothing left": ("n,c,y\n" + rows("{i},1,{y}"),
        r"has no column to learn from: 'n' \(counts the rows\), 'c' \(always 1\)\. To use one of "
        r"them all the same, name it with --keep\.$"),
    "strict, not UTF-8": (customers("cp1252"), "line 1 is not UTF-8 text", {"strict": True}),
    "strict, UTF-16": (customers("utf-16"), "line 1 is not UTF-8 text", {"strict": True}),
    "strict, names": (customers(), "'Betrag' occurs more than once", {"strict": True}),
    "a name of two": (customers(), "'Betrag' is the name of more than one column",
        {"label": LABEL, "drop": ("Betrag",)}),
    "a name of two in a list": (customers(), "'Betrag' is the name of more than one column",
        {"label": LABEL, "drop": ("Land,Betrag",)}),
    "damaged UTF-8": (damaged, "line 1 is not UTF-8 text"),
    "damaged UTF-16": (shortened, "looks like UTF-16 text and is damaged in line 121"),
    "damaged big-endian UTF-16": (damaged_big_endian, "is damaged in line 100002"),
    "empty lines": ("\n\n", r"csv has no rows|csv is empty"),
    "below empty lines": (f"\n\n{_TEXT}1;2\n", "line 34 has 2 fields"),
    "below blanks": (f" \n{_TEXT}1;2\n", "line 33 has 2 fields"),
    "below separators": (f";;\n{_TEXT}1;2\n", "line 33 has 2 fields"),
    "below sep=": (f"sep=;\n{_TEXT}1;2\n", "line 33 has 2 fields, but line 2 names 3"),
    "--keep of addresses": (customers(),
        "'E-Mail' cannot be used: e-mail or web addresses. Leave it out of --k",
        {"label": LABEL, "keep": ("E-Mail",)}),
    "--keep of no column": (customers(), r"no column 'Nmae' \(--keep\)\. Did you mean 'Name'",
        {"label": LABEL, "keep": ("Nmae",)}),
    "--text of no column": (_TEXT, r"no column 'nothing' \(--text\)", {"text": ("nothing",)}),
    "--text of the label": (_TEXT, "column 'y' cannot be --text and --label", {"text": ("y",)}),
    "--skip-lines 0": (f"Report\n{_NAMES}{_CELLS}", r"no column 'kind' \(--label\)",
        _KIND | {"skip_lines": 0}),
    "--skip-lines 40": (_NAMES + _CELLS, r"t\.csv is empty below its first 40 lines",
        _KIND | {"skip_lines": 40}),
    "short line below titles": (f"Report\n\n{_NAMES}{_CELLS}1\n",
        "has 1 field, but line 3 names 4 columns", _KIND | {"skip_lines": 2}),
    # A numeric row below a title is no header: ask the user.
    "title of one cell": ("kind\n" + _CELLS, r"line 2 has 4 fields.*--skip-lines 1\.$", _KIND),
    "long line later": ("x,kind\n1,a\n2,b,c\n", r"line 3 has 3 fields.*Put cells .* in quotes\.$",
        _KIND),
    "strict, title": (f"Report\n{_NAMES}{_CELLS}",
        r"no column 'kind' \(--label\)\. It has 'Report'", _KIND | {"strict": True}),
    "more commas than semicolons in names": (
        "id;x, in mm, wet;z, in mm, wet;kind\n" + _CELLS.replace(",", ";"),
        "no column 'kind'", _KIND),
    "--skip-lines.npz": (_ARRAYS, r"npz: --skip-lines is about CSV files\. Leave it out",
        {"skip_lines": 1}),
    "--sheet": (_TEXT, r"t\.csv: --sheet is about spreadsheets", {"sheet": "S"}),
    "--separator.npz": (_ARRAYS, r"npz: --separator is about CSV files\. Leave it out",
        {"separator": ";"}),
    "sentences as labels": ("a,y\n" + _SENTENCES,
        r"label column 'y': the 6 labels are 6 different texts, such as .* --label"),
    "truth of whole numbers": ("x,z,y,t\n1,1,1,1\n2,1,2,2\n5,1,,2_0\n",
        "row 3 holds '2_0', but the labels are whole numbers", _TRUTH),
    "truth beyond floats": (f"x,z,y,t\n1,1,1,1\n2,1,2,2\n5,1,,{10**400}\n",
        "row 3 holds '10+', but the labels are whole numbers", _TRUTH),
    "truth of numbers": ("x,z,y,t\n1,1,1.5,1\n2,1,2,2\n5,1,,x\n",
        "row 3 holds 'x', but the labels are numbers", _TRUTH | {"regression": True}),
    "underscores": ("x,y\n0,1_0\n5,2\n1,\n", "row 1 holds '1_0', which is not a number",
        {"regression": True}),
    "--drop.svm": (_SVM, r"no column 'x9' \(--drop\)", {"label": None, "drop": ("x9",)}),
    "--id.svm": (_SVM, r"has no column 'k' \(--id\).* has 'target', 'x0'",
        {"label": None, "id": "k"}),
    "nonsense.xlsx": (b"PK\x03\x04 nonsense", r"is not a readable spreadsheet: [^\n]*$"),
    "nonsense.ods": (b"PK\x03\x04 nonsense", r"is not a readable spreadsheet: [^\n]*$"),
    "nonsense.xls": (b"PK\x03\x04 nonsense", r"is not a readable spreadsheet: [^\n]*$"),
    "text.xlsx": (measured(16, 1, "oops"), "the first is row 20 of the sheet: 'oops'",
        {"missing": False}),
    "gap.xlsx": (measured(16, 1, None), "the first is in row 20 of the sheet", {"missing": False}),
    "label.xlsx": (measured(9, 2, "many"), "row 13 of the sheet holds 'many'",
        {"regression": True}),
    "no id.xlsx": (measured(9, 0, None), "first in row 13 of the sheet", {"id": "id"}),
    "equal ids.xlsx": (measured(9, 0, 3), "in 2 rows, first in row 7 of the sheet", {"id": "id"}),
    "other sheets.xlsx": (two_sheets, r"has no column 'y' .*The sheet 'Legend' was read; "),
    "sheet.xlsx": (two_sheets, r"has no column 'z' \(--label\)\. It has 'x', 'y'\.$",
        {"sheet": "Data", "label": "z"}),
    "no sheet.xlsx": (two_sheets, r"no sheet 'S9' \(--sheet\); it has 'Legend', 'Data'",
        {"sheet": "S9"}),
    "empty sheet.xlsx": (lambda path: write_book(path, S=[], T=[[1]]), "the sheet 'S' is empty",
        {"sheet": "S"}),
    "empty sheets.xlsx": (lambda path: write_book(path, S=[], T=[]), "all sheets are empty"),
    "folder.csv": (Path.mkdir, "is a folder"),
    "one array.npz": (_X, "is a single array"),
}  # fmt: skip


@pytest.mark.parametrize("case", [*STRICT, *LENIENT])
def test_errors_name_the_file_the_place_and_a_remedy(tmp_path: Path, case: str) -> None:
    content, message, *options = (STRICT | LENIENT)[case]
    path = tmp_path / (case if "." in case else "t.csv")
    if callable(content):
        content(path)
    else:
        write(path, content)
    reader = read_strictly if case in STRICT else read
    with pytest.raises(ValueError, match=message) as error:
        reader(path, **{"label": "y"} | dict(*options))
    said = str(error.value)
    assert (said.startswith(str(path)), said.count(str(path)), "\n" in said) == (True, 1, False)
