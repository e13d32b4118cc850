"""Wrong commands are refused in one line, and leave all files as they were."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from lapwing._label.serving import LabelServer
from tests.helpers.commandline import refused, run

GOOD = "x,z,kind\n1,2,a\n3,1,b\n2,5,\n"
FILES: dict[str, str] = {
    "g.csv": GOOD,
    "out.csv": "precious",
    "truth.csv": "x,kind,t\n1,0,0\n2.5,1,b\n3,,1\n",
    "wide.csv": "x,z,more,kind\n1,2,3,a\n",
    "two.txt": "a\nb\n",
    "t.svm": "1 1:2\n0 1:3\n",
}

CLASSES = "fit g.csv --label kind --method auto --set class_prior="
FIT = "fit g.csv --label kind"
LABEL = "label g.csv --label kind --no-browser"
FLOWERS = "fit home/t.csv --label kind --id flower --truth truth"
MATRIX = "--with-columns is about tables, and this format holds a matrix. Leave it out.\n"
NO_PLACE = "p.npz would hold arrays, which have no place"
MODEL = "predict home/m home/t.csv"
REFUSED: list[tuple[str, ...]] = [
    # contents of tables
    ("fit truth.csv --label kind --truth t", "row 2 holds 'b'"),
    ("fit g.csv wide.csv --label kind", "'more' that the first"),
    (f"{FIT} --method lapsvr", "row 1 holds 'a'", "--method lapsvc"),
    # options
    (f"{FIT} --method svm", "--method 'svm' must be one of auto, lapsvc, laprls"),
    (f"{FIT} --method lapsvm", "Did you mean 'lapsvr' or 'lapsvc'?"),
    (f"{FIT} --scale log", "--scale 'log' must be one of auto, standard, none"),
    (f"{FIT} --impute zero", "auto, none, median, mean"),
    (f"{FIT} --decimal ';'", "--decimal ';' must be one of auto, ., ,"),
    (f"{FIT} --dates x", "--dates 'x' must be one of"),
    (f"{FIT} --lables kind", "--lables", "(see lapwing fit --help)"),
    (f"{FIT} --seed -1", "--seed"),
    (f"{FIT} --map x", "--map takes two columns"),
    (f"{FLOWERS} --features slx", "no column 'slx' (--features)"),
    (f"{FLOWERS} --features sl,kind", "'kind' cannot be --features and --label"),
    (f"{FLOWERS} --map pl --map site", "'site' (--map)"),
    ("fit none.csv --label 1 --label=2", "--label is given 2 times. A fit has one target: run the"),
    (
        "fit none.csv --seed 1 --seed=2",
        "--seed is given 2 times. Give it once",
        "lapwing fit --help",
    ),
    ("fit none.csv --method 1 --method=2", "--method is given 2 times. Give it once"),
    (
        "fit none.csv --predictions 1 --predictions=2",
        "--predictions is given 2 times. Give it once",
    ),
    ("fit none.csv --truth 1 --truth=2", "--truth is given 2 times. Give it once"),
    # output files
    (f"{FIT} --predictions p.txt", "--predictions is .csv, .xlsx, .parquet or .n"),
    (f"{FIT} --predictions none/p.csv", "there is no folder"),
    (f"{FIT} --predictions home", "extension"),
    (f"{FIT} --predictions f.csv", "it is a folder"),
    (f"{FIT} --predictions g.csv", "is the input itself"),
    (f"{FIT} --report r.pdf", "the extension of --report is .html"),
    (f"{FIT} --onnx m.zip", "the extension of --onnx is .onnx"),
    (f"{FIT} --model s.csv --predictions s.csv", "is --predictions itself"),
    (f"{FIT} --next n.npz", "the extension of --next is .csv, .xlsx or .parquet.\n"),
    (f"{FIT} --next n.ods", "Excel and LibreOffice open an .xlsx file.\n"),
    (
        *("fit none.csv --method anchors --onnx m.onnx", "go through anchors", "--method laperls"),
        "AnchorGraphClassifier cannot be exported to ONNX",
    ),
    ("fit none.csv --method eigenfunctions --onnx m.onnx", "go through histograms"),
    ("fit none.csv --method balanced --onnx m.onnx", "--set n_votes=0 leaves them out"),
    # input files
    ("fit g.csv ./g.csv --label kind", "g.csv is given twice; give it once."),
    ("fit none.csv --label kind", "No such file"),
    ("fit - --label kind", "Standard input is closed. Name a file"),
    ("fit t.npy --labels two.txt", "has 2 labels, but the table has 4 rows"),
    ("fit t.npy", "name the column of the labels with --label"),
    ("fit t.npy --label y --labels two.txt", "two places"),
    # parameters
    (f"{FLOWERS} --set gamma_A=-1", "gamma_A=-1 must be a number > 0"),
    (f"{FLOWERS} --method auto --set n_draws=many", "n_draws=many: this must be a whole number.\n"),
    (f"{FLOWERS} --method auto --set gamma_I=1", "Classifier has no parameter 'gamma_I'"),
    (f"{CLASSES}a:0.85", "has no proportion for ['b']. Give every class a prop"),
    (f"{CLASSES}even", "class_prior='even' must be 'labels', 'uniform', 'unknown'"),
    # columns beside the predictions
    (f"{FIT} --with-columns --predictions p.npz", NO_PLACE),
    (f"{MODEL} --with-columns --predictions p.npz", NO_PLACE),
    ("predict home/m t.npy --with-columns", f"t.npy: {MATRIX}"),
    ("fit t.npy --labels two.txt --with-columns", f"t.npy: {MATRIX}"),
    ("fit t.svm --with-columns", f"t.svm: {MATRIX}"),
    # other verbs
    (f"{MODEL} --json", "--json needs --predictions"),
    ("predict home/m g.csv --predictions g.csv", "is the input itself"),
    ("predict cut home/t.csv", "cut was cut or damaged"),
    ("report none.lapwing", "no model file none.lapwing"),
    ("compare g.csv --label kind --out c.txt", "the extension of --out is .csv, .json or .html"),
    ("compare g.csv --label kind --out c.xlsx", "Excel and LibreOffice open a .csv file.\n"),
    ("compare g.csv --label kind --out g.csv", "is the input itself"),
    ("suggest g.csv --label kind --out n.txt", "of --out is .csv, .xlsx or .parquet.\n"),
    ("suggest g.csv --label kind --out g.csv", "--out g.csv is the input itself; name another"),
    ("suggest g.csv --label kind", "--out"),
    ("suggest g.csv --label kind --out n.csv -k 0", "-k"),
    ("suggest g.csv --label kind --out n.csv --set updatable=no", "updatable is not available"),
    ("tune g.csv --method s3vc", "s3vc has no parameters that tune can choose. Use one of laps"),
    (f"{LABEL} --text nothing", "has no column 'nothing' (--text)"),
    (f"{LABEL} --method s3vc", "cannot be updated with", "of lapsvc, laprls, laperls, balanced."),
    (f"{LABEL} --method lapsvr", "cannot be updated with labels of classes"),
    (f"{LABEL} --method lapsvc --set gamma_I=0", "removes the graph"),
    (f"{LABEL} --classes a,NA", "--classes: 'NA' means \"no label\""),
    (f"{LABEL} --map a", "--map takes two columns"),
    (f"{LABEL} --journal .", "it is a folder"),
    (f"{LABEL} --image x", "of those that the column names first. Names of files begin at the fol"),
    (f"{LABEL} --drop x,z --text x", "no column to learn from besides the label", "--id, --image,"),
    ("label -", "Standard input has no folder for the labels. Name a file with"),
    ("demo --output p.bmp", ".png, .pdf or .svg"),
    ("demo --output none/p.png", "there is no folder"),
    ("demo --labels-per-class 0", "--labels-per-class"),
]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("command", "parts"), [(one[0], one[1:]) for one in REFUSED])
def test_rejects_wrong_commands_in_one_line_and_changes_no_file(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch, command: str, parts: tuple[str, ...]
) -> None:
    for name, content in FILES.items():
        Path(name).write_text(content)
    np.save("t.npy", np.ones((4, 2)))
    Path("cut").write_bytes((home / "m").read_bytes()[:2000])
    Path("f.csv").mkdir()
    monkeypatch.setattr(sys, "stdin", None)  # as after <&- in a shell
    monkeypatch.setattr(LabelServer, "wait", lambda self: None)
    before = contents(folder)
    out = "--predictions out.csv" if command.startswith("fit") and "--pred" not in command else ""
    refused(run(f"{command} {out}"), *parts)
    assert contents(folder) == before
