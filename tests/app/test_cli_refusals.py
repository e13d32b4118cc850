"""Wrong commands are refused in one line, and leave all files as they were."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from lapwing._label.serving import LabelServer
from tests.helpers.commandline import refused, run

GOOD = "x,z,kind\n1,2,a\n3,1,b\n2,5,\n"
# Three clusters of 68, 10 and 2 rows, two labels of each.
_KNOWN = {0: "a", 1: "a", 68: "b", 69: "b", 78: "c", 79: "c"}
THREE = "".join(f"{k // 68 + k // 78},{k % 9},{_KNOWN.get(k, '')}\n" for k in range(80))
FILES: dict[str, str | bytes] = {
    "g.csv": GOOD,
    "out.csv": "precious",
    "empty.csv": "",
    "names.csv": "x,y\n",
    "errors.csv": GOOD.replace("5", "").replace("1,2", "x,2"),
    "truth.csv": "x,kind,t\n1,0,0\n2.5,1,b\n3,,1\n",
    "narrow.csv": "x,kind\n1,a\n",
    "wide.csv": "x,z,more,kind\n1,2,3,a\n",
    "three.csv": f"p,q,kind\n{THREE}",
    "bad.txt": b"a\n\xff\n",
    "two.txt": "a\nb\n",
    "bad.mtx": b"1 nonsense\x00",
    "bad.svm": b"1 nonsense\x00",
    "t.svm": "1 1:2\n0 1:3\n",
    "no model": b"",
    "garbage": b"garbage",
}

CLASSES = "fit three.csv --label kind --method auto --set class_prior="
FIT = "fit g.csv --label kind"
LABEL = "label g.csv --label kind --no-browser"
FLOWERS = "fit home/t.csv --label kind --id flower --truth truth"
MATRIX = "--with-columns is about tables, and this format holds a matrix. Leave it out.\n"
MODEL = "predict home/m home/t.csv"
REFUSED: list[tuple[str, ...]] = [
    # contents of tables
    ("fit empty.csv --label kind", "empty.csv is empty"),
    ("info names.csv", "names.csv has no rows.\n"),
    ("fit errors.csv --label kind --strict", "2 errors. (1) col"),
    ("fit truth.csv --label kind --truth t", "row 2 holds 'b'"),
    ("fit g.csv narrow.csv --label kind", "narrow.csv has no column 'z'"),
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
    *(
        (
            f"fit none.csv {flag} 1 {flag}=2",
            f"{flag} is given 2 times. {cure}",
            "lapwing fit --help",
        )
        for flag, cure in {
            "--label": "A fit has one target: run the command for each",
            **dict.fromkeys(("--seed", "--method", "--predictions", "--truth"), "Give it once"),
        }.items()
    ),
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
        "fit none.csv --method anchors --onnx m.onnx",
        "AnchorGraphClassifier cannot be exported to ONNX",
        "go through anchors",
        "--method laperls",
    ),
    ("fit none.csv --method eigenfunctions --onnx m.onnx", "go through histograms"),
    ("fit none.csv --method balanced --onnx m.onnx", "--set n_votes=0 leaves them out"),
    # input files
    ("fit none.csv --label kind", "No such file"),
    ("fit f.csv --label kind", "f.csv is a folder"),
    ("fit - --label kind", "Standard input is closed. Name a file"),
    ("fit t.npy --labels two.txt", "has 2 labels, but the table has 4 rows"),
    ("fit t.npy", "name the column of the labels with --label"),
    ("fit t.npy --label y --labels two.txt", "two places"),
    ("fit t.npy --labels bad.txt", "line 2 is not UTF-8 text. If this is text, save it as UTF-8"),
    ("fit t.npy --labels t.npy", "one label for each row"),
    ("fit bad.mtx --labels t.npy", "is not a readable"),
    ("fit bad.svm --labels t.npy", "is not a readable"),
    # parameters
    (f"{FLOWERS} --set gamma_A=-1", "gamma_A=-1 must be a number > 0"),
    (f"{FLOWERS} --set graph.n_neighbors=60", "n_neighbors=60 must be smaller"),
    (f"{FLOWERS} --set graph.metric=seuclidean2", "metric='seuclidean2' must be one of"),
    (f"{FLOWERS} --set kernel=rbff", "rbff"),
    (f"{FLOWERS} --method auto --set n_draws=many", "n_draws=many: this must be a whole number.\n"),
    (f"{FLOWERS} --method auto --set gamma_I=1", "Classifier has no parameter 'gamma_I'"),
    (f"{CLASSES}a:0.85,b:0.15", "has no proportion for ['c']. Give every class a prop"),
    (f"{CLASSES}a:0.8,b:0.1,c:0.05,d:0.05", "names ['d'], which are not classes. Give every cl"),
    (f"{CLASSES}a:0.97,b:0.03,c:0", "class_prior is 0 for the class 'c', which has labels (2)."),
    (f"{CLASSES}a:0,b:0,c:0", "it is 0 for every class."),
    (f"{CLASSES}a:1.5,b:-1,c:0.5", "it holds -1 for the class 'b'."),
    (f"{CLASSES}a:0.9,b", "--set class_prior=a:0.9,b: write each class once"),
    (f"{CLASSES}even", "class_prior='even' must be 'labels', 'uniform', 'unknown'"),
    (f"{CLASSES}3", "class_prior=3 must be 'labels', 'uniform', 'unknown'"),
    # columns beside the predictions
    *(
        (
            f"{verb} --with-columns --predictions p.npz",
            "p.npz would hold arrays, which have no place",
        )
        for verb in (FIT, MODEL)
    ),
    ("predict home/m t.npy --with-columns", f"t.npy: {MATRIX}"),
    ("fit t.npy --labels two.txt --with-columns", f"t.npy: {MATRIX}"),
    ("fit t.svm --with-columns", f"t.svm: {MATRIX}"),
    # other verbs
    (f"{MODEL} --json", "--json needs --predictions"),
    ("predict home/m g.csv --predictions g.csv", "is the input itself"),
    *(
        (f"{verb} {model} {table}", told)
        for verb, table in (("predict", "home/t.csv"), ("report", ""))
        for model, told in {
            "'no model'": "no model is empty",
            "garbage": "garbage is not a model file",
            "home/t.parquet": "home/t.parquet is not a model file",
            "cut": "cut was cut or damaged",
            "none.lapwing": "no model file none.lapwing",
            "home": "home is a folder",
        }.items()
    ),
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
    (f"{LABEL} --journal g.csv", "g.csv is not a journal of lapwing label"),
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
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    np.save("t.npy", np.ones((4, 2)))
    Path("cut").write_bytes((home / "m").read_bytes()[:2000])
    Path("f.csv").mkdir()
    monkeypatch.setattr(sys, "stdin", None)  # as after <&- in a shell
    monkeypatch.setattr(LabelServer, "wait", lambda self: None)
    before = contents(folder)
    out = "--predictions out.csv" if command.startswith("fit") and "--pred" not in command else ""
    refused(run(f"{command} {out}"), *parts)
    assert contents(folder) == before
