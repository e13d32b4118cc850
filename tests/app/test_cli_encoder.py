"""Encoders of texts and pictures on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing._app import labelling, predicting, reading
from lapwing._app.requests import LabelRequest
from lapwing.models import Model, load_model, save_model
from tests.app.test_cli_answers import Main, main, read, write
from tests.helpers.commandline import refused

__all__ = ["main"]

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
FIT = ("fit", "t.csv", "--label", "y", "--method", "lapsvc")
ENCODER = ("--encoder", "features:counts")


@pytest.fixture(autouse=True)
def module(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of texts, and a module beside it; both in the working folder."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    reading._loaded.cache_clear()
    Path("features.py").write_text(CODE, encoding="utf-8")
    rng = np.random.default_rng(0)
    rows = []
    for k in range(60):
        words = rng.choice([["cat", "dog", "house"], ["tree", "river", "stone"]][k % 2], 5)
        Path(f"{k}.png").write_bytes(b"x" * (10 + k % 2))
        rows.append(
            {
                "note": f"{' '.join(words)} {k}",
                "file": f"{k}.png",
                "price": f"{k % 7}.5",
                "y": "uv"[k % 2] if k < 8 else "",
            }
        )
    write("t.csv", rows)


def done(answer: tuple[int, str, str]) -> str:
    code, said, error = answer
    assert (code, error) == (0, "")
    return said


def calls() -> list[int]:
    return sys.modules["features"].calls  # type: ignore[no-any-return]


def test_texts_are_learnt_from_by_their_vectors(main: Main) -> None:
    fit = (*FIT, "--drop", "file", *ENCODER)
    found = done(main(*fit, "--model", "m.lapwing", "--predictions", "p.csv", "--report", "r.html"))
    assert "used 'note': free text, encoded by features:counts" in found
    assert "vectors of 6 numbers of 'note'" in found
    assert [row["label"] for row in read("p.csv")] == ["u", "v"] * 30
    assert "cat" in Path("r.html").read_text(encoding="utf-8")
    assert calls() == [60, 1, 1, 1]
    done(main(*fit, "--seed", "1"))  # the vectors are beside the table
    assert calls() == [60, 1, 1, 1]
    predict = ("predict", "m.lapwing", "t.csv", "--predictions", "q.csv")
    done(main(*predict, *ENCODER))
    for mine, other in zip(read("q.csv"), read("p.csv"), strict=True):
        assert mine["label"] == other["label"]
        assert float(mine["margin"]) == pytest.approx(float(other["margin"]))
    info = load_model("m.lapwing").info
    assert info["encoder"]["name"] == "features:counts"
    assert info["encoder"]["width"] == 6


def test_a_model_brings_no_code(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    done(main(*FIT, "--drop", "file", *ENCODER, "--model", "m.lapwing"))
    reading._loaded.cache_clear()
    del sys.modules["features"]
    refused(
        main("predict", "m.lapwing", "t.csv"),
        "m.lapwing was fitted to vectors of 'note' by features:counts",
        "A model file brings no code: name the encoder again with --encoder",
    )
    assert "features" not in sys.modules
    code, _, error = main("predict", "m.lapwing", "t.csv", "--encoder", "features:narrow")
    assert code == 2
    assert "it was features:counts then" in error
    assert "gives vectors of 2 numbers, and m.lapwing was fitted to 6" in error
    # Whatever name a file tells, it is told alone.
    loaded = load_model("m.lapwing")
    info = json.loads(json.dumps(loaded.info).replace("features:counts", "os:abort\\u001b[2J"))
    save_model(Model(loaded.pipeline, info), "other.lapwing")
    code, _, error = main("predict", "other.lapwing", "t.csv")
    assert code == 2
    assert "os:abort" in error
    assert "\x1b" not in error


def test_a_damaged_description_is_told(main: Main) -> None:
    done(main(*FIT, "--drop", "file", *ENCODER, "--model", "m.lapwing"))
    loaded = load_model("m.lapwing")
    for damage in ({"width": "6"}, {"name": 3}, {"digest": None}):
        encoder = loaded.info["encoder"] | damage
        save_model(Model(loaded.pipeline, {**loaded.info, "encoder": encoder}), "d.lapwing")
        refused(main("predict", "d.lapwing", "t.csv", *ENCODER), "d.lapwing was damaged")


def test_an_encoder_that_has_changed_is_told(main: Main) -> None:
    done(main(*FIT, "--drop", "file", *ENCODER, "--model", "m.lapwing"))
    Path("features.py").write_text(f"{CODE}\n", encoding="utf-8")
    reading._loaded.cache_clear()
    code, _, error = main("predict", "m.lapwing", "t.csv", *ENCODER, "--predictions", "q.csv")
    assert code == 0
    assert "is not what m.lapwing was fitted with: it has changed since" in error


def test_a_model_of_words_takes_no_encoder(main: Main) -> None:
    done(main(*FIT, "--drop", "file", "--model", "m.lapwing"))
    refused(
        main("predict", "m.lapwing", "t.csv", *ENCODER),
        "m.lapwing was fitted without an encoder. Leave out --encoder",
    )


def test_batches_are_encoded(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    pl = pytest.importorskip("polars")
    pl.read_csv("t.csv").drop("file").write_parquet("t.parquet")
    done(main("fit", "t.parquet", *FIT[2:], *ENCODER, "--model", "m.lapwing"))
    monkeypatch.setattr(predicting, "_ROWS", 25)
    done(main("predict", "m.lapwing", "t.parquet", *ENCODER, "--predictions", "q.csv"))
    assert [row["label"] for row in read("q.csv")] == ["u", "v"] * 30


def test_pictures_are_learnt_from_by_their_vectors(main: Main) -> None:
    pictures = ("--image", "file", "--encoder", "features:sizes")
    found = done(main(*FIT, *pictures, "--model", "m.lapwing", "--predictions", "p.csv"))
    assert "used 'file': pictures, encoded by features:sizes" in found
    assert "used 'note': free text, by its words" in found
    predict = ("predict", "m.lapwing", "t.csv", "--encoder", "features:sizes")
    done(main(*predict, "--predictions", "q.csv"))
    assert [row["label"] for row in read("q.csv")] == ["u", "v"] * 30
    Path("9.png").unlink()
    refused(
        main(*predict, "--predictions", "q.csv"),
        "--encoder features:sizes fails at row 10 of 'file'",
        "FileNotFoundError",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--image", "file"), "--image file: name what makes vectors of the pictures"),
        (("--encoder", "nothing"), "--encoder nothing: there is no such folder"),
        (("--encoder", "features:none"), "module 'features' has no attribute 'none'"),
        (("--drop", "note,file", *ENCODER), "has no column of free text for --encoder"),
        ((*ENCODER, "--onnx", "m.onnx"), "an ONNX file cannot hold the encoder"),
        (("--image", "y", *ENCODER), "the --image column 'y' has another role already"),
        (("--image", "fils", *ENCODER), "has no column 'fils' (--image)"),
        ((*ENCODER, "--weight", "price=2"), "'price' is not a column of free text"),
    ],
)
def test_what_does_not_go_together_is_refused(
    options: tuple[str, ...], message: str, main: Main
) -> None:
    refused(main(*FIT, *options), message)
    assert [path.name for path in Path().glob("*.npz")] == []


def test_rows_to_label_and_comparisons_take_encoders(main: Main) -> None:
    rows = ("--drop", "file", *ENCODER)
    done(main("suggest", "t.csv", "--label", "y", "-k", "2", "--out", "next.csv", *rows))
    assert len(read("next.csv")) == 2
    assert calls() == [60, 1, 1, 1]


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


# --- info -----------------------------------------------------------------------------------------


def test_info_encodes_some_rows_and_keeps_nothing(main: Main) -> None:
    info = ("info", "t.csv", "--label", "y", "--drop", "file", *ENCODER, "--impute", "mean")
    found = json.loads(done(main(*info, "--json")))
    assert calls() == [32, 1, 1, 1]
    assert (found["text"], found["encoded"]) == ([], ["note"])
    assert (found["encoding"]["name"], found["encoding"]["width"]) == ("features:counts", 6)
    assert found["encoding"]["seconds"] > 0
    assert found["graph"] is None
    assert not list(Path().glob("*.npz"))
    said = done(main(*info))
    assert "Encoding by features:counts, once: about 0.1 s for 60 rows" in said
    assert "vectors of 6 numbers of 'note'" in said
    assert "--encoder features:counts" in said.splitlines()[-1]
    assert "--impute mean" in said.splitlines()[-1]


def test_info_tells_what_an_encoder_does_wrong(main: Main) -> None:
    Path("broken.py").write_text("def f(texts):\n    raise OSError('no weights')\n")
    found = done(main("info", "t.csv", "--label", "y", "--drop", "file", "--encoder", "broken:f"))
    assert "  error: --encoder broken:f fails at row 1 of 'note'" in found
