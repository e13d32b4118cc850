"""Encoders of texts and pictures on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from lapwing._app import labelling, predicting, reading
from lapwing._app.forecast import FitSize
from lapwing._app.methods import COMMAND_METHODS
from lapwing._app.requests import LabelRequest
from lapwing.models import Model, load_model, save_model
from tests.helpers.commandline import done, refused, run, warned
from tests.helpers.tables import read, write
from tests.helpers.texts import WORDS

CODE = """
from pathlib import Path
import numpy as np

WORDS = ["cat", "dog", "house", "tree", "river", "stone"]
calls = []

def counts(texts):
    calls.append(len(texts))
    return np.array([[text.count(word) for word in WORDS] for text in texts], dtype=np.float32)

def narrow(texts):
    return counts(texts)[:, :2]

def sizes(paths):
    return np.array([[Path(path).stat().st_size, len(Path(path).read_bytes())] for path in paths])
"""
COUNTS, SIZES = "--encoder features:counts", "--image file --encoder features:sizes"
FIT = "fit t.csv --label y --method lapsvc"
TEXTS = f"{FIT} --drop file {COUNTS}"
PREDICT = f"predict m t.csv --predictions q.csv {COUNTS}"
LABELS = ["u", "v"] * 30


@pytest.fixture(autouse=True)
def _module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of texts, and a module beside it; both in the working folder."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    reading.load_encoder.cache_clear()
    Path("features.py").write_text(CODE, encoding="utf-8")
    rng = np.random.default_rng(0)
    rows = []
    for k, label in enumerate(LABELS):
        words = " ".join(rng.choice((WORDS[:3], WORDS[3:6])[k % 2], 5))
        Path(f"{k}.png").write_bytes(b"x" * (10 + k % 2))
        row = {"note": f"{words} {k}", "file": f"{k}.png", "price": f"{k % 7}.5"}
        rows.append(row | {"y": label if k < 8 else ""})
    write("t.csv", rows)


def calls() -> list[int]:
    return sys.modules["features"].calls  # type: ignore[no-any-return]


def labels(path: str) -> list[str]:
    return [row["label"] for row in read(path)]


def test_texts_are_learnt_from_by_their_vectors() -> None:
    said = done(run(f"{TEXTS} --model m --predictions p.csv --report r.html"))
    assert "used 'note': free text, encoded by features:counts" in said
    assert "vectors of 6 numbers of 'note'" in said
    assert labels("p.csv") == LABELS
    assert "cat" in Path("r.html").read_text(encoding="utf-8")
    assert calls() == [60, 1, 1, 1]
    done(run(f"{TEXTS} --seed 1"))  # the vectors are beside the table
    suggest = f"suggest t.csv --label y --drop file {COUNTS} -k 2 --out next.csv"
    done(run(suggest))
    assert len(read("next.csv")) == 2
    assert calls() == [60, 1, 1, 1]
    done(run(PREDICT))
    assert labels("q.csv") == LABELS
    margins = ([float(row["margin"]) for row in read(path)] for path in ("q.csv", "p.csv"))
    np.testing.assert_allclose(*margins, rtol=1e-6)
    encoder = load_model("m").info["encoder"]
    assert (encoder["name"], encoder["width"]) == ("features:counts", 6)


def test_encoder_of_a_model_file_is_never_imported() -> None:
    done(run(f"{TEXTS} --model m"))
    reading.load_encoder.cache_clear()
    del sys.modules["features"]
    refused(
        run("predict m t.csv"),
        "m was fitted to vectors of 'note' by features:counts",
        "A model file brings no code: name the encoder again with --encoder",
    )
    assert "features" not in sys.modules
    code, _, error = run("predict m t.csv --encoder features:narrow")
    assert code == 2
    assert "it was features:counts then" in error
    assert "gives vectors of 2 numbers, and m was fitted to 6" in error
    # The name of the encoder in a file is printed escaped, and never imported.
    loaded = load_model("m")
    info = json.loads(json.dumps(loaded.info).replace("features:counts", "os:abort\\u001b[2J"))
    save_model(Model(loaded.pipeline, info), "other.lapwing")
    code, _, error = run("predict other.lapwing t.csv")
    assert (code, "os:abort" in error, "\x1b" in error) == (2, True, False)
    for damage in ({"width": "6"}, {"name": 3}, {"digest": None}):
        encoder = loaded.info["encoder"] | damage
        save_model(Model(loaded.pipeline, {**loaded.info, "encoder": encoder}), "d.lapwing")
        refused(run(f"predict d.lapwing t.csv {COUNTS}"), "d.lapwing was damaged")
    Path("features.py").write_text(f"{CODE}\n", encoding="utf-8")
    reading.load_encoder.cache_clear()
    warned(run(PREDICT), "is not what m was fitted with: it has changed since")


def test_a_model_of_words_takes_no_encoder() -> None:
    done(run(f"{FIT} --drop file --model m"))
    refused(run(PREDICT), "m was fitted without an encoder. Leave out --encoder")


def test_batches_are_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    pl.read_csv("t.csv").drop("file").write_parquet("t.parquet")
    done(run(f"fit t.parquet --label y {COUNTS} --model m"))
    monkeypatch.setattr(predicting, "_ROWS", 25)
    done(run(PREDICT.replace("csv", "parquet", 1)))
    assert labels("q.csv") == LABELS


def test_pictures_are_learnt_from_by_their_vectors() -> None:
    said = done(run(f"{FIT} {SIZES} --model m --predictions p.csv"))
    assert "used 'file': pictures, encoded by features:sizes" in said
    assert "used 'note': free text, by its words" in said
    predict = "predict m t.csv --encoder features:sizes --predictions q.csv"
    done(run(predict))
    assert labels("q.csv") == LABELS
    Path("9.png").unlink()
    told = "--encoder features:sizes fails at row 10 of 'file'"
    refused(run(predict), told, "FileNotFoundError")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--image file", "--image file: name what makes vectors of the pictures"),
        ("--encoder nothing", "--encoder nothing: there is no such folder"),
        ("--encoder features:none", "module 'features' has no attribute 'none'"),
        (f"--drop note,file {COUNTS}", "has no column of free text for --encoder"),
        (f"{COUNTS} --onnx m.onnx", "an ONNX file cannot hold the encoder"),
        (f"--image y {COUNTS}", "column 'y' cannot be --image and --label"),
        (f"--image fils {COUNTS}", "has no column 'fils' (--image)"),
        (f"{COUNTS} --weight price=2", "'price' is not a column of free text"),
    ],
)
def test_rejects_conflicting_options_of_encoders(options: str, message: str) -> None:
    refused(run(f"{FIT} {options}"), message)
    assert list(Path().glob("*.npz")) == []


@pytest.mark.parametrize(
    ("options", "shown", "width"),
    [
        ({"image": "file", "encoder": "features:sizes", "drop": ("note",)}, "picture", 3),
        ({"encoder": "features:counts", "drop": ("file",)}, "texts", 7),
    ],
)
def test_the_page_shows_what_is_encoded(options: Any, shown: str, width: int) -> None:
    request = LabelRequest(data=(Path("t.csv"),), label="y", **options)
    with labelling.start(reading.read(request), request) as server:
        assert server.session.material.points.shape == (60, width)
        assert getattr(server.session.material, shown) is not None


def test_info_encodes_some_rows_and_keeps_nothing() -> None:
    info = f"info t.csv --label y --drop file {COUNTS} --impute mean"
    told = json.loads(done(run(f"{info} --json")))
    assert calls() == [32, 1, 1, 1]
    assert (told["text"], told["encoded"], told["graph"]) == ([], ["note"], None)
    encoding = told["encoding"]
    assert (encoding["name"], encoding["width"]) == ("features:counts", 6)
    # The price and six numbers of the note.
    needed = COMMAND_METHODS["lapsvc"].forecast(FitSize(60, 7)).seconds
    assert told["forecast"]["lapsvc"]["seconds"] == needed
    assert encoding["seconds"] > 0
    assert not list(Path().glob("*.npz"))
    said = done(run(info))
    assert "Encoding by features:counts, once: about 0.1 s for 60 rows" in said
    assert "vectors of 6 numbers of 'note'" in said
    for option in ("--encoder features:counts", "--impute mean"):
        assert option in said.splitlines()[-1]
    Path("broken.py").write_text("def f(texts):\n    raise OSError('no weights')\n")
    said = done(run("info t.csv --label y --drop file --encoder broken:f"))
    assert "  error: --encoder broken:f fails at row 1 of 'note'" in said
