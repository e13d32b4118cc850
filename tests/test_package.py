"""Package: version, public names, extras, pins, cost of its import."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import lapwing
from lapwing.graphs import GRAPHS
from lapwing.losses import LOSSES, UNLABELED_LOSSES
from lapwing.spaces.recipes import SPACES

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# All that users may import. Whatever is elsewhere can move.
PUBLIC = {
    "lapwing": """
        AffinityGraph AnchorGraph AnchorGraphClassifier BalancedGraphClassifier
        EigenfunctionClassifier FewLabelClassifier FewLabelRegressor
        KNNGraph Kernel Landmarks LapERLSClassifier LapERLSClassifierCV LapERLSRegressor LapESVC
        LapESVR
        LapRLSClassifier LapRLSClassifierCV LapRLSRegressor LapRLSRegressorCV LapSVC LapSVCCV LapSVR
        Linear RelevanceScaler S3VC TableEncoder TransformerGraph __version__ label report
    """,
    "lapwing.graphs": """
        AffinityGraph AnchorGraph AnchorLaplacian Anchors Eigenfunctions Eigenpairs GRAPHS
        GraphRecipe KNNGraph Laplacian Neighbors Rotation ScaledLaplacian TransformerGraph as_graph
        build_laplacian default_graph smallest_eigenpairs
    """,
    "lapwing.losses": """
        EpsilonInsensitive GaussianBump Hinge Kind LOSSES Loss ModifiedLogistic Squared SquaredHinge
        SymmetricHinge TargetKind UNLABELED_LOSSES UnlabeledLoss as_loss as_unlabeled_loss
    """,
    "lapwing.model_selection": """
        Candidate Comparison Evidence HeldOut LabeledKFold LabeledShuffleSplit
        LabeledStratifiedKFold LeaveOneLabelOut LeaveOneOut RegressionEvidence Reproducibility
        SureRows calibrate compare default_candidates labeled_cross_val_predict labeled_scorer
        leave_one_out reproducibility rows_to_label sure_rows
    """,
    "lapwing.dask": """
        DaskAnchorGraphClassifier DaskEigenfunctionClassifier DaskLapERLSClassifier
        DaskLapERLSRegressor DaskS3VC
    """,
    "lapwing.datasets": """
        group_classes load_mnist load_mnist3vs8 load_usps make_clock make_gaussian2c make_gaussian4c
        make_two_moons mask_labels open_rows
    """,
    "lapwing.plotting": """
        CalibrationDisplay ConvergenceDisplay DecisionMapDisplay GraphDisplay PALETTE PathDisplay
        PredictionIntervalDisplay decision_map scatter_predictions
    """,
    "lapwing.models": "Model ModelFileError load_model save_model texts_from",
    "lapwing.onnx_export": "OnnxExportError save_onnx to_onnx",
    "lapwing.exceptions": """
        BalanceWarning ClassPriorWarning ConstantFitWarning DaskWarning DataChangedError
        FeatureScaleWarning FewEigenvectorsWarning FewLabelsWarning LapwingWarning LongFitWarning
        LowRecallWarning ManyClassesWarning ModelVersionWarning NoClassStructureWarning
        NoImprovementWarning NothingUnlabeledWarning OutlierWarning RowOrderWarning
        SimilarLabelsWarning SingleClassWarning
        SuggestedLabelsWarning TiedPointsWarning UnlabeledComponentWarning UnlabeledMarkerWarning
    """,
}

# `import lapwing` loads NumPy, SciPy, scikit-learn and the standard library, but no other package
# and none of its own readers and pages.
IMPORT_COST = """
import sys
import numpy, scipy.sparse.csgraph, scipy.sparse.linalg, scipy.optimize
import sklearn.base, sklearn.callback, sklearn.metrics, sklearn.neighbors, sklearn.svm
import sklearn.model_selection, sklearn.utils.validation
before = {name.partition(".")[0] for name in sys.modules}
import lapwing
after = {name.partition(".")[0] for name in sys.modules}
assert after - before - sys.stdlib_module_names <= {"lapwing"}, after - before
parts = {name.split('.')[1] for name in sys.modules if name.startswith('lapwing.')}
assert not parts & {'_app', '_label', '_report', '_tables'}, sorted(parts)
assert 'report' in dir(lapwing)
assert callable(lapwing.report)
assert lapwing.report is vars(lapwing)['report']
"""


USED_BARE = """
import importlib.metadata, importlib.util, pathlib, sys
import lapwing, lapwing.datasets
assert pathlib.Path(lapwing.__file__).is_relative_to(sys.prefix), lapwing.__file__
assert pathlib.Path(lapwing.__file__).with_name("py.typed").is_file()
assert importlib.util.find_spec("typer") is None
X, y = lapwing.datasets.make_two_moons(200, random_state=0)
answers = lapwing.LapSVC().fit(X, y).transduction_
entry, = importlib.metadata.entry_points(group="console_scripts", name="lapwing")
print(importlib.metadata.version("lapwing-learn"), entry.name, len(answers))
"""


def pins() -> dict[str, Requirement]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert len({canonicalize_name(pin.name) for pin in found}) == len(found), "a name pinned twice"
    return {canonicalize_name(pin.name): pin for pin in found}


PINS = pins()


def requirements() -> Iterator[Requirement]:
    """The project's own requirements with all extras, but for the extras that only join others."""
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    for line in (line for group in groups for line in group):
        requirement = Requirement(line)
        if requirement.name != PROJECT["name"]:
            yield requirement


def applies(requirement: Requirement, extras: Iterable[str] = ("",)) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)


def needed(wanted: Iterable[Requirement]) -> set[str]:
    """The names of requirements and of all that these need on this Python, as installed here."""
    left, seen = list(filter(applies, wanted)), set()
    while left:
        requirement = left.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras or [""])
        # Another version than the pinned one may need other things, not this list's to hold.
        if (name, extras) not in seen and is_the_pinned_one(name):
            inner = map(Requirement, importlib.metadata.requires(name) or [])
            left += [one for one in inner if applies(one, extras)]
        seen.add((name, extras))
    return {name for name, _ in seen}


def is_the_pinned_one(name: str) -> bool:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return name in PINS and PINS[name].specifier.contains(version)


def run(*command: str | Path, cwd: Path | None = None, code: int = 0) -> str:
    """Run a command that ends with this code; return its output, or its errors."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("CITATION.cff", r"^version: {}$"),
        ("README.md", r"unlabelled points\. Version {}\.$"),
        ("CHANGELOG.md", r"\b{}\b"),
    ],
)
def test_documents_name_the_version(name: str, words: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert re.search(words.format(re.escape(lapwing.__version__)), text, re.MULTILINE)


def test_the_installed_version_is_that_of_the_source() -> None:
    try:
        installed = importlib.metadata.version(PROJECT["name"])
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("lapwing is imported from its source folder and not installed")
    assert installed == lapwing.__version__


def test_public_names_exist_and_classes_have_public_modules() -> None:
    """Pickles and model files hold these names, so that no file of lapwing is part of them."""
    for module in PUBLIC:
        public = importlib.import_module(module)
        assert len(public.__all__) == len(set(public.__all__)), module
        for name in public.__all__:
            thing = getattr(public, name, None)
            assert thing is not None, f"{module}.{name} does not exist"
            if isinstance(thing, type):
                assert thing.__module__ in PUBLIC, f"{module}.{name} is of {thing.__module__}"
                assert getattr(importlib.import_module(thing.__module__), name) is thing


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_are_those_of_the_list(module: str) -> None:
    """A name that users can see stays: it may be added here on purpose, and taken out never."""
    names, written = set(importlib.import_module(module).__all__), set(PUBLIC[module].split())
    assert names == written, (
        f"PUBLIC in tests/test_package.py and {module}.__all__ differ by {names ^ written}: change "
        "one of them, and tell users in CHANGELOG.md if a name is removed"
    )


def test_registered_parts_are_public() -> None:
    """Messages name them and model files hold them, so that users can import them too."""
    parts = [*GRAPHS.values(), *SPACES.values(), *LOSSES.values(), *UNLABELED_LOSSES.values()]
    hidden = [f"{part.__module__}.{part.__qualname__}" for part in parts]
    hidden = [name for name in hidden if name.rpartition(".")[0] not in PUBLIC]
    assert not hidden, (
        f"registries hold {hidden}, which no public module exports: import them in __init__.py of "
        "their folders and add them to __all__ there"
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the source distribution, as an index would serve both."""
    folder = tmp_path_factory.mktemp("dist")

    def built(what: str, source: Path) -> Path:
        build = f"import sys; from hatchling.build import *; print({what}(sys.argv[1]))"
        return folder / run(sys.executable, "-c", build, str(folder), cwd=source).strip()

    sdist = built("build_sdist", ROOT)
    assert sdist.name == f"lapwing_learn-{lapwing.__version__}.tar.gz"
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return built("build_wheel", folder / sdist.name.removesuffix(".tar.gz"))


@pytest.fixture(scope="module")
def bare_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of scripts of an environment with the wheel and its requirements, without extras."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home, symlinks=True)
    place = {"base": str(home), "platbase": str(home)}
    scripts = Path(sysconfig.get_path("scripts", "venv", place))
    packages = Path(sysconfig.get_path("purelib", "venv", place))
    for name in needed(map(Requirement, PROJECT["dependencies"])):
        _link(name, packages)
    pip = (sys.executable, "-m", "pip", "--python", scripts / "python", "install", wheel)
    run(*pip, "--no-index", "--no-deps", "--no-compile", "--quiet")
    return scripts


def _link(name: str, packages: Path) -> None:
    """Put an installed distribution into another environment, without network and in no time."""
    installed = importlib.metadata.distribution(name)
    tops = {Path(file).parts[0] for file in installed.files or ()} - {"..", "__pycache__"}
    for top in tops:
        (packages / top).symlink_to(str(installed.locate_file(top)))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_wheel_works_with_its_requirements_only(bare_environment: Path) -> None:
    said = run(bare_environment / "python", "-I", "-c", USED_BARE)
    assert said.split() == [lapwing.__version__, "lapwing", "200"]
    said = run(bare_environment / "lapwing", "--help", code=2)
    assert "'lapwing-learn[cli]'" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_import_loads_no_other_packages_readers_and_pages() -> None:
    run(sys.executable, "-c", IMPORT_COST)


def test_extras_used_in_the_source_exist() -> None:
    source = "\n".join(p.read_text(encoding="utf-8") for p in ROOT.glob("src/lapwing/**/*.py"))
    used = set(re.findall(r'\bextra="(\w+)"', source))
    assert used
    assert used <= set(PROJECT["optional-dependencies"])


def test_every_requirement_is_pinned() -> None:
    assert sorted(needed(requirements()) - set(PINS)) == []


def test_pins_satisfy_the_project() -> None:
    for requirement in requirements():
        (pin,) = PINS[canonicalize_name(requirement.name)].specifier
        assert pin.operator == "=="
        assert requirement.specifier.contains(pin.version), requirement


def test_every_pin_is_needed() -> None:
    build = {"editables", "hatchling", "pathspec", "pluggy", "tomlkit", "trove-classifiers"}
    names = needed(requirements())
    here = {name for name, pin in PINS.items() if pin.marker is None or pin.marker.evaluate()}
    unknown = [name for name in sorted(names) if not is_the_pinned_one(name)]
    if unknown:
        pytest.skip(f"not installed as pinned, so their needs are unknown: {', '.join(unknown)}")
    assert sorted(here - names - build) == []
