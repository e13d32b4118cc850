"""Model files: exact and reproducible, and loaded without running code of the file.

Attacks are written into valid archives with correct checksums, so that they reach the check that
must stop them.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

import lapwing
from lapwing import S3VC, AffinityGraph, BalancedGraphClassifier, KNNGraph, Landmarks, LapSVC
from lapwing._report.record import ReportData
from lapwing.exceptions import ModelVersionWarning
from lapwing.losses import GaussianBump, SquaredHinge
from lapwing.model_selection import LabeledStratifiedKFold
from lapwing.models import Model, ModelFileError, load_model, save_model
from lapwing.models.files import FORMAT, one_line
from tests.helpers.columns import CODES, LABELED, NEW, NUMBERS, THREE, X, Y, frame, mixed

TEXTS = np.where(LABELED, np.where(CODES == 1, "yes", "no"), "").astype(object)
DOCUMENTS = [
    f"{'ship sea' if code else 'moon star'} word{i % 7} day{i % 5}" for i, code in enumerate(CODES)
]
AFFINITY = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))


def before(step: Any) -> Pipeline:
    return make_pipeline(step, LapSVC())


def case(estimator: Any, points: Any = X, y: Any = Y, new: Any = NEW) -> tuple[Any, ...]:
    """Return an estimator, its points and labels, and points to predict."""
    return estimator, points, y, new


def of_texts(*steps: Any) -> tuple[Any, ...]:
    return case(make_pipeline(*steps, LapSVC()), DOCUMENTS, new=DOCUMENTS[:9])


TRUTHS = [bool(v) if v >= 0 else None for v in Y]
LOSSES = S3VC(C=5.0, loss=SquaredHinge(), unlabeled_loss=GaussianBump(2.0))
CENTERS = S3VC(C=5.0, space=Landmarks(centers=X[:9]), balance={0: 0.4, 1: 0.6})
FEW_WORDS = CountVectorizer(min_df=2, stop_words=["sea"])
PROJECTION = TruncatedSVD(4, random_state=0)
CASES = {
    "class prior": case(LapSVC(class_prior=np.array([1, 2, 3])), y=THREE),
    "interval": case(S3VC(C=5.0, balance=(0.3, 0.6), random_state=0)),
    "losses as objects": case(LOSSES),
    "given landmarks": case(CENTERS),
    "votes": case(BalancedGraphClassifier(n_votes=5, class_prior={0: 1, 1: 1})),
    "laplacian kernel": case(LapSVC("laplacian")),
    "sparse": case(LapSVC(), sp.csr_array(X * (np.abs(X) > 0.5)), new=sp.csr_array(NEW)),
    "float32": case(LapSVC(), X.astype(np.float32), new=NEW.astype(np.float32)),
    "text classes": case(LapSVC(unlabeled=""), y=TEXTS),
    "truth values": case(LapSVC(unlabeled=None), y=TRUTHS),
    "frame": case(LapSVC(), frame()[["b", "c"]], new=frame()[["b", "c"]]),
    "knn graph": case(LapSVC(graph=KNNGraph(4), class_weight={0: 1.0, 1: 2.0})),
    "given graph": case(LapSVC(graph=AffinityGraph(AFFINITY))),
    "precomputed": case(
        LapSVC("precomputed", graph=AffinityGraph(AFFINITY)), AFFINITY, new=AFFINITY[:7]
    ),
    "ufunc weights": case(LapSVC(graph=KNNGraph(3, weights=np.reciprocal)), X + 9, new=NEW + 9),
    "random state": case(LapSVC(random_state=np.random.RandomState(3))),
    "scaled": case(before(StandardScaler())),
    "as they are": case(before(FunctionTransformer())),
    "ufunc": case(before(FunctionTransformer(np.cbrt))),
    "projected": case(before(PCA(2))),
    "unit length": case(before(Normalizer())),
    "mixed columns": case(
        make_pipeline(mixed(["a", "b"], ["color"], "passthrough"), LapSVC()), frame(), new=frame()
    ),
    "texts": of_texts(TfidfVectorizer()),
    "texts, few words": of_texts(FEW_WORDS, TfidfTransformer()),
    "texts, projected": of_texts(TfidfVectorizer(), PROJECTION, Normalizer()),
}


def fitted(name: str) -> tuple[Any, Any]:
    """Return the fitted estimator of a case, and points to predict."""
    estimator, points, y, new = CASES[name]
    return clone(estimator).fit(points, y), new


def answers(model: Any, points: Any) -> list[np.ndarray]:
    names = [name for name in ("decision_function", "predict") if hasattr(model, name)]
    return [getattr(model, name)(points) for name in names]


def same(a: Any, b: Any) -> bool:
    """Return whether arrays are equal, with their types."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()


@cache
def sound() -> bytes:
    """Return the file of a small model."""
    return saved(Model(make_pipeline(StandardScaler(), LapSVC()).fit(X, Y), {"method": "lapsvc"}))


def saved(model: Model) -> bytes:
    return lapwing.models.files._encode(model)


def rewritten(change: Callable[[dict[str, bytes]], object], how: int = zipfile.ZIP_STORED) -> bytes:
    """Change the members of the small model's file, with correct checksums."""
    with zipfile.ZipFile(io.BytesIO(sound())) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def edited(member: str, change: Callable[[Any], object]) -> bytes:
    """Edit a JSON member of the small model's file."""

    def edit(members: dict[str, bytes]) -> None:
        value = json.loads(members[member])
        change(value)
        members[member] = json.dumps(value).encode()

    return rewritten(edit)


def packed(write: Callable[..., object], *arrays: Any, **named: Any) -> bytes:
    buffer = io.BytesIO()
    write(buffer, *arrays, **named)
    return buffer.getvalue()


def header(**changes: Any) -> bytes:
    return edited("lapwing.json", lambda known: known.update(changes))


def members(change: Callable[[str, bytes], bytes]) -> bytes:
    """Change every member of the small model's file."""

    def edit(known: dict[str, bytes]) -> None:
        known |= {name: change(name, content) for name, content in known.items()}

    return rewritten(edit)


def with_member(name: str, content: bytes) -> bytes:
    return rewritten(lambda known: known.update({name: content}))


def refusal(folder: Path, content: bytes) -> str:
    """Return the message with which a file is refused, in one line."""
    path = folder / "given.lapwing"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


@pytest.mark.parametrize("name", CASES)
def test_round_trip_is_exact_and_bytes_are_the_same(name: str, tmp_path: Path) -> None:
    model, points = fitted(name)
    path = tmp_path / "model.lapwing"
    save_model(Model(model, {"seed": 0}), path)
    content = path.read_bytes()
    loaded = load_model(path).pipeline
    # The loaded model is equal, although at other addresses in memory.
    assert saved(Model(loaded, {"seed": 0})) == content
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == len(set(archive.namelist()))
    assert type(loaded) is type(model)
    for before, after in zip(answers(model, points), answers(loaded, points), strict=True):
        assert same(before, after)
    before, after = (m[-1] if isinstance(m, Pipeline) else m for m in (model, loaded))
    assert vars(before).keys() == vars(after).keys()
    assert same(before.transduction_, after.transduction_)
    if hasattr(before, "classes_"):
        assert same(before.classes_, after.classes_)


def test_equal_parameters_give_the_same_bytes_whether_they_are_one_object_or_two() -> None:
    small, word = 1e-4, "scale"
    other_small, other_word = float("1e-4"), "".join(["sc", "ale"])
    one = LapSVC(gamma_A=small, tol=small, gamma=word, unlabeled=word, gamma_I=0)
    two = LapSVC(gamma_A=small, tol=other_small, gamma=word, unlabeled=other_word, gamma_I=0)
    texts = np.where(LABELED, np.where(CODES == 1, "yes", "no"), word).astype(object)
    assert saved(Model(one.fit(X, texts))) == saved(Model(two.fit(X, texts)))


@pytest.mark.slow
def test_another_process_writes_the_same_bytes() -> None:
    code = (
        "import sys; from tests.models import test_models as t\n"
        "sys.stdout.buffer.write(t.saved(t.Model(t.fitted('mixed columns')[0])) + t.sound())\n"
    )
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    written = subprocess.check_output([sys.executable, "-c", code], env=environment)
    assert written == saved(Model(fitted("mixed columns")[0])) + sound()


def test_the_archive_has_no_time_and_packs_no_array() -> None:
    with zipfile.ZipFile(io.BytesIO(sound())) as archive:
        assert archive.namelist()[0] == "lapwing.json"
        for entry in archive.infolist():
            assert entry.date_time == (1980, 1, 1, 0, 0, 0)
            is_array = entry.filename.endswith((".npy", ".npz"))
            assert (entry.compress_type == zipfile.ZIP_STORED) == is_array


def test_skops_reads_the_pipeline_too() -> None:
    content = sound()
    types = skops.io.get_untrusted_types(data=content)
    assert all(name.startswith(("lapwing.", "scipy.sparse.")) for name in types)
    loaded = skops.io.loads(content, trusted=types)
    assert same(loaded.decision_function(NEW), fitted("scaled")[0].decision_function(NEW))


def test_many_texts_are_stored_compactly_and_exactly(tmp_path: Path) -> None:
    model = LapSVC().fit(X, Y)
    for texts in (
        ["yes", "no", ""] * 2000,
        ["a\0", "b", "a" * 4000] * 20,
        ["\ud800", "é", "日本"] * 30,
        ["a", None, 1.5],
    ):
        model.transduction_ = np.array(texts, dtype=object)
        save_model(Model(model), tmp_path / "m")
        back = load_model(tmp_path / "m").pipeline.transduction_
        assert back.dtype == object
        assert back.tolist() == texts
        assert [type(v) for v in back] == [type(v) for v in texts]
        assert (tmp_path / "m").stat().st_size < 150_000


def test_info_versions_and_report_come_back(tmp_path: Path) -> None:
    info = {"method": "lapsvc", "parameters": {"gamma_I": 1.0}, "classes": ["a", "b"], "seed": None}
    values = {"values": [1.5, None, float(np.pi)]}
    figures: dict[str, Any] = dict.fromkeys(ReportData.__dataclass_fields__, values)
    notes = [{"level": "note", "text": "ä"}]
    report = ReportData.from_dict(figures | {"kind": "regression", "notes": notes})
    save_model(Model(lapwing.LapSVR().fit(X, NUMBERS), info, report), tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.report == report
    assert {name: loaded.info[name] for name in info} == info
    assert loaded.info["lapwing_version"] == lapwing.__version__
    assert loaded.info["numpy_version"] == np.__version__
    save_model(Model(loaded.pipeline, {"sklearn_version": "of the fit"}), tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert (again.info["sklearn_version"], again.report) == ("of the fit", None)


def test_reports_of_an_older_format_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "m.lapwing"
    path.write_bytes(header(format=1))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("report.json", '{"keys": "of an older version"}')
    loaded = load_model(path)
    assert loaded.report is None
    assert len(loaded.pipeline.predict(X)) == len(X)


def holding_in_an_array(part: Any) -> LapSVC:
    model = LapSVC().fit(X, Y)
    model.parts_ = np.empty(1, dtype=object)
    model.parts_[0] = part
    return model


def search(**options: Any) -> GridSearchCV:
    cv = LabeledStratifiedKFold(2)
    return GridSearchCV(LapSVC(), {"gamma_A": [1e-2, 1e-4]}, cv=cv, **options).fit(X, Y)


def prior_as_series(index: Any) -> LapSVC:
    return LapSVC(class_prior=pd.Series([0.7, 0.3], index=index)).fit(X, Y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: LapSVC(lambda A, B: A @ B.T).fit(X, Y), r"holds .*lambda.*a kernel, weights"),
        (lambda: LapSVC().fit(X, Y).set_callbacks(ProgressBar()), r"callbacks"),
        (lambda: LogisticRegression().fit(X, CODES), r"holds sklearn\.linear_model.*Logistic"),
        (lambda: before(FunctionTransformer(np.asarray)).fit(X, Y), r"holds numpy\.asarray"),
        (
            lambda: LapSVC(class_weight={True: 1.0, False: 2.0}, unlabeled=None).fit(X, TRUTHS),
            r"holds builtins\.dict with keys True and False",
        ),
        (lambda: make_pipeline(LapSVC(), memory="cache"), r"cache; set memory=None"),
        (lambda: before(TfidfVectorizer(tokenizer=str.split)), r"holds builtins\.method_d"),
        (lambda: before(HashingVectorizer()), r"holds sklearn\.feature_.*\.HashingVectorizer"),
        (
            lambda: before(CountVectorizer(input="filename")),
            r"CountVectorizer\(input='filename'\), which opens files; set input='content'",
        ),
        (lambda: search(refit=False), r"GridSearchCV has no best_estimator_.*refit=True"),
        (lambda: prior_as_series([0, 1]), "saved: class_prior is a pandas Series"),
        (lambda: make_pipeline(prior_as_series(None)), "saved: lapsvc__class_prior is a pandas Se"),
        (lambda: {"not": "a model"}, r"cannot predict"),
        (lambda: StandardScaler().fit(X), r"cannot predict"),
        (lambda: holding_in_an_array(make_pipeline(PCA(), memory="cache")), r"cache; set memory"),
        (lambda: Model(LapSVC(), {"classes": {1, 2}}), r"info must be serialisable as JSON: .*set"),
    ],
)
def test_rejects_models_that_could_not_be_loaded(
    model: Callable[[], Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "m"
    path.write_text("old")
    made = model()
    with pytest.raises(ValueError, match=message) as caught:
        save_model(made if isinstance(made, Model) else Model(made), path)
    assert "\n" not in str(caught.value)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["m"]


def test_rejects_files_with_vectorizers_that_open_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = before(TfidfVectorizer(input="file"))
    with monkeypatch.context() as patch:
        patch.setattr(lapwing.models.files, "_check_pipeline", lambda *_: None)
        content = saved(Model(model))
    assert "holds TfidfVectorizer(input='file'), which opens files" in refusal(tmp_path, content)


def test_vocabularies_are_stored_compactly() -> None:
    words = CountVectorizer(max_features=1500).fit([f"word{i}" for i in range(2000)] + DOCUMENTS)
    content = saved(Model(make_pipeline(words, LapSVC().fit(words.transform(DOCUMENTS), Y))))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert len(archive.namelist()) < 60
    assert load_or_refuse(content)[0].vocabulary_ == words.vocabulary_


def test_saves_the_best_estimator_of_a_search(tmp_path: Path) -> None:
    found, pipeline = search(), make_pipeline(StandardScaler(), search()).fit(X, Y)
    for model, own in ((found, found), (Model(found, {"seed": 0}), found), (pipeline, pipeline)):
        with pytest.warns(UserWarning, match=r"GridSearchCV is saved as its best_estimator_"):
            save_model(model, tmp_path / "m")
        loaded = load_model(tmp_path / "m").pipeline
        best = loaded[-1] if own is pipeline else loaded
        assert type(best) is LapSVC
        assert best.gamma_A == found.best_params_["gamma_A"]
        assert same(loaded.decision_function(NEW), own.decision_function(NEW))
    assert type(pipeline[-1]) is GridSearchCV, "the user's own is as it was"


def test_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for use in (partial(save_model, Model(LapSVC())), load_model):
        with pytest.raises(ImportError, match=r"needs 'skops'.*'lapwing-learn\[model\]'"):
            use(tmp_path / "m")


def test_rejects_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no folder"):
        save_model(Model(LapSVC().fit(X, Y)), tmp_path / "none" / "m")
    with pytest.raises(ModelFileError, match=r"there is no model file .*none\.lapwing\."):
        load_model(tmp_path / "none.lapwing")
    with pytest.raises(ModelFileError, match="is a folder, not a model file"):
        load_model(tmp_path)


def misled(name: str, content: bytes) -> bytes:
    """Set an index of a sparse matrix out of range, which compiled code does not check."""
    if not name.endswith(".npz"):
        return content
    with np.load(io.BytesIO(content)) as archive:
        arrays = dict(archive)
    arrays["indices"][0] = 2**30
    return packed(np.savez, **arrays)


def grown(name: str, content: bytes) -> bytes:
    """Declare a huge shape of an array."""
    return content.replace(b"(60, 4), }    ", b"(60, 4000000)}") if "npy" in name else content


DAMAGED_MODELS: dict[str, list[Callable[[], bytes]]] = {
    "is empty": [lambda: b""],
    "is not a model file": [
        lambda: b"id,label\n1,2\n",
        lambda: bytes(range(1, 256)) * 9,
        lambda: b"\0" * 5000,
        lambda: b"[" * 100_000,
    ],
    "but not a model file of lapwing": [
        lambda: packed(np.savez, X=X),
        lambda: skops.io.dumps(StandardScaler().fit(X)),
        lambda: rewritten(lambda known: known.pop("schema.json")),
    ],
    "cut or damaged": [
        lambda: b"P",
        lambda: b"PK\x03\x04",
        *(
            lambda part=part: sound()[: int(len(sound()) * part)]
            for part in (0.02, 0.3, 0.6, 0.95, 0.999)
        ),
        lambda: members(grown),
    ],
    f"newer than this one ({lapwing.__version__}): update lapwing": [
        lambda: header(lapwing_version="99.1.0"),
        lambda: header(format=FORMAT + 1),
    ],
    "damaged": [
        lambda: edited("lapwing.json", lambda known: known.clear()),
        lambda: header(info=3),
        lambda: header(sklearn_version=None),
        lambda: header(lapwing_version=None),
        lambda: header(format="1"),
        lambda: with_member("report.json", b'{"kind": "none"}'),
        lambda: with_member("schema.json", b"[" * 200_000 + b"]" * 200_000),
        lambda: members(misled),
    ],
}


@pytest.mark.parametrize(
    ("message", "content"),
    [(message, content) for message in DAMAGED_MODELS for content in DAMAGED_MODELS[message]],
)
def test_invalid_model_files(message: str, content: Callable[[], bytes], tmp_path: Path) -> None:
    assert content() != sound()
    assert message in refusal(tmp_path, content())


class Attack:
    """Object that writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_never_loaded(protocol: int, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    content = pickle.dumps(Attack(touched), protocol=protocol)
    message = refusal(tmp_path, content)
    assert ("is a pickle" if protocol >= 2 else "is not a model file") in message
    array = packed(np.save, np.array([Attack(touched)], dtype=object), allow_pickle=True)
    planted = members(lambda name, old: array if name.endswith(".npy") else old)
    assert "cut or damaged" in refusal(tmp_path, planted)
    assert not touched.exists()
    pickle.loads(content)
    assert touched.exists()  # the attack works on who loads it


def node(loader: str, name: str, **more: Any) -> dict[str, Any]:
    module, _, kind = name.rpartition(".")
    return {"__class__": kind, "__module__": module, "__loader__": loader, **more}


def text(value: Any) -> dict[str, Any]:
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def arguments(*values: Any) -> dict[str, Any]:
    return node("TupleNode", "builtins.tuple", content=[text(value) for value in values])


def mapping(**values: Any) -> dict[str, Any]:
    keys = [node("TypeNode", "builtins.str") for _ in values]
    types = node("ListNode", "builtins.list", content=keys)
    return node("DictNode", "builtins.dict", content=values, key_types=types)


SCALER = "sklearn.preprocessing._data.StandardScaler"
TOUCH = arguments("touch touched")
PARTIAL = {"func": node("FunctionNode", "os.system"), "args": TOUCH}
PARTIAL |= {"kwds": mapping(), "namespace": mapping()}
METHOD = {"func": "fit", "obj": node("ObjectNode", SCALER)}
TREE = {"content": mapping(), "__reduce__": {"args": arguments()}}
# The module `trap` exists in the test only; importing it would leave a file.
ATTACKS: dict[str, dict[str, Any]] = {
    "function": node("FunctionNode", "os.system"),
    "type": node("TypeNode", "trap.Trap"),
    "object": node("ObjectNode", "trap.Trap", content=mapping(a=text(1))),
    "bare object": node("ObjectNode", "trap.Trap"),
    "call": node("ConstructorFromReduceNode", "os.system", content=TOUCH),
    "trusted call": node(
        "ConstructorFromReduceNode", "lapwing.estimators.lapsvm.LapSVC", content=arguments("rbf")
    ),
    "partial": node("PartialNode", "functools.partial", content=PARTIAL),
    "method": node("MethodNode", SCALER, content=METHOD),
    "operator": node("OperatorFuncNode", "operator.methodcaller", attrs=arguments("fit")),
    "tree": node("TreeNode", "sklearn.tree._tree.Tree", **TREE),
    "other estimator": node("ObjectNode", "sklearn.svm._classes.SVC", content=mapping()),
    "text helper": node("ObjectNode", "sklearn.feature_extraction.text.defaultdict"),
    "own helper": node("ObjectNode", "lapwing.models.files.Model", content=mapping()),
    "prefix": node("ObjectNode", "sklearn.pipeline.Pipeline.fit", content=mapping()),
    "as json": node("JsonNode", "trap.Trap", content="1"),
    "as array": node("NdArrayNode", "trap.Trap", type="json", content=[]),
    "as dict": mapping() | {"__module__": "trap", "__class__": "Trap"},
    "old protocol": node("FunctionNode", "os.system", content={"module_path": "os"}),
    "unknown loader": node("TrapNode", "trap.Trap"),
}


@pytest.mark.parametrize("place", ["kernel_", "new", "root"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_foreign_types_are_not_loaded(
    attack: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trap.py").write_text("open('touched', 'w').close()\nclass Trap: pass\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def plant(schema: dict[str, Any]) -> None:
        if attack == "old protocol":
            schema["protocol"] = 0
        steps = schema["content"]["content"]["steps"]["content"]
        attributes = steps[1]["content"][1]["content"]
        if place == "root":
            schema.update({"__reduce__": {}, **ATTACKS[attack]})
        elif place == "new":
            attributes["content"]["extra"] = ATTACKS[attack]
            attributes["key_types"]["content"].append(node("TypeNode", "builtins.str"))
        else:
            attributes["content"][place] = ATTACKS[attack]

    message = refusal(tmp_path, edited("schema.json", plant))
    assert "which does not belong to a model of lapwing; it was not loaded" in message
    assert not (tmp_path / "touched").exists()
    assert "trap" not in sys.modules


@pytest.mark.parametrize("version", ["0.0.9", "0.1.0.dev3", "0.1.0+local.99"])
def test_an_older_file_is_loaded(version: str) -> None:
    assert load_or_refuse(header(lapwing_version=version)) is not None


def test_another_scikit_learn_warns_once(tmp_path: Path) -> None:
    def older(schema: Any) -> None:
        scaler = schema["content"]["content"]["steps"]["content"][0]["content"][1]
        scaler["content"]["content"]["_sklearn_version"]["content"] = '"1.0"'

    def both(members: dict[str, bytes]) -> None:
        header, schema = (json.loads(members[n]) for n in ("lapwing.json", "schema.json"))
        older(schema)
        members["lapwing.json"] = json.dumps(header | {"sklearn_version": "1.0"}).encode()
        members["schema.json"] = json.dumps(schema).encode()

    (tmp_path / "m").write_bytes(rewritten(both))
    with pytest.warns(ModelVersionWarning, match=r"made with scikit-learn 1\.0 .*") as caught:
        load_model(tmp_path / "m")
    assert len(caught) == 1


def test_rejects_files_larger_than_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed_arrays = rewritten(lambda known: None, zipfile.ZIP_DEFLATED)
    assert "its array" in refusal(tmp_path, packed_arrays), "whatever they are"
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "100k")
    assert "are available" in refusal(tmp_path, sound())
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "10m")
    blank = with_member("lapwing.json", b" " * 2**20)  # refused before it is read
    assert "are available" in refusal(tmp_path, blank)
    (tmp_path / "m").write_bytes(sound())
    load_model(tmp_path / "m")
    zeros = packed(np.savez_compressed, data=np.zeros(2**21))
    inner = members(lambda name, old: zeros if name.endswith(".npz") else old)
    assert "are available" in refusal(tmp_path, inner)

    def renamed(known: dict[str, bytes]) -> None:
        (name,) = (n for n in known if n.endswith(".npz"))
        del known[name]
        known["other.npy"] = zeros
        known["schema.json"] = known["schema.json"].replace(name.encode(), b"other.npy")

    assert "are available" in refusal(tmp_path, rewritten(renamed))


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO(sound())
    with zipfile.ZipFile(buffer, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("schema.json", "{}")
    assert "two files of one name" in refusal(tmp_path, buffer.getvalue())


def load_or_refuse(content: bytes) -> Any:
    """Return the pipeline, or None if the file is refused in one line."""
    try:
        model, _ = lapwing.models.files._decode(skops.io, io.BytesIO(content), "it")
    except ModelFileError as error:
        message = str(error)
    else:
        return model.pipeline
    assert "\n" not in message
    return None


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    content = bytearray(sound())
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(content) - 1))
        length = draw(st.sampled_from([1, 1, 1, 4, 50, 2000]))
        new = draw(st.binary(max_size=4)) if draw(st.booleans()) else bytes(length)
        content[at : at + draw(st.sampled_from([0, len(new), length]))] = new
    return bytes(content)


@settings(max_examples=200)
@given(mutations())
def test_mutated_bytes_are_refused_or_change_nothing(content: bytes) -> None:
    loaded = load_or_refuse(content)
    if loaded is not None:
        original = load_or_refuse(sound())
        assert same(loaded.decision_function(NEW), original.decision_function(NEW))


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Return all containers of a tree with their keys."""
    found, pending = [], [tree]
    while pending:
        part = pending.pop()
        keys = part.keys() if isinstance(part, dict) else range(len(part))
        found += [(part, key) for key in keys]
        pending += [part[key] for key in keys if isinstance(part[key], (dict, list))]
    return found


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2**40),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    st.sampled_from(
        ["ndarray", "dict", "numpy", "builtins", "float64", "JsonNode", "DictNode", "TupleNode"]
    ),
    st.sampled_from(list(ATTACKS.values())),
    st.just({}),
    st.just([]),
)


@settings(max_examples=150)
@given(st.data())
def test_mutated_trees_are_refused_or_loaded(data: st.DataObject) -> None:
    """Wrong contents with correct checksums may load as another model, but raise no other error."""

    def mutate(schema: Any) -> None:
        for _ in range(data.draw(st.integers(1, 2))):
            container, key = data.draw(st.sampled_from(places(schema)))
            container[key] = deepcopy(data.draw(VALUES))

    load_or_refuse(edited(data.draw(st.sampled_from(["schema.json", "lapwing.json"])), mutate))


def test_errors_are_quoted_in_one_short_line() -> None:
    assert one_line("a\n  b.") == "a b"
    assert one_line(ValueError()) == "ValueError"
    assert one_line("b" * 161) == "b" * 159 + "…"


def test_missing_attributes_of_a_model_name_its_pipeline() -> None:
    model = Model(LapSVC())
    with pytest.raises(AttributeError, match=r"no attribute 'predict'.*pipeline\.predict\(X\)"):
        model.predict(X)
    assert deepcopy(model) == model or deepcopy(model).info == {}
