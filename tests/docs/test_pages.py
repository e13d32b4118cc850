"""Sources of the site, without building it."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from pydoc import locate
from types import ModuleType

import pytest

from tests.test_documents import DOCS_PAGES as PAGES
from tests.test_package import PUBLIC

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LIST = re.compile(
    r"^\.\. currentmodule:: (\S+)\n\n\.\. autosummary::\n   :toctree: .*\n\n((?:   \w+\n)+)",
    re.MULTILINE,
)
NAMES = {f"{module}.{name}" for module, names in PUBLIC.items() for name in names.split()}
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$`])\$(?!\s)([^$\n]+?)\$", re.DOTALL)


@pytest.fixture
def extension(monkeypatch: pytest.MonkeyPatch) -> object:
    """Import a module of `docs/_ext`, whose folder only Sphinx has on its path."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))

    def load(name: str) -> ModuleType:
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return load


def listed() -> set[str]:
    """The names in the lists of `docs/api`, with their modules."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("api/*.rst"))
    return {f"{module}.{name}" for module, names in LIST.findall(text) for name in names.split()}


def test_public_names_are_in_the_api() -> None:
    """A name that two modules export stands under one of them."""
    things = {id(locate(name)) for name in listed()}
    missing = [name for name in NAMES - {"lapwing.__version__"} if id(locate(name)) not in things]
    assert not missing, f"add {missing} to a list of docs/api/*.rst"


def test_api_pages_know_all_public_modules(extension: object) -> None:
    pages = extension("api_pages")
    modules = {module.__name__ for module in pages.public_modules()}
    assert set(PUBLIC) <= modules, "add the module to PUBLIC_PARTS in docs/_ext/api_pages.py"
    assert set(pages.aliases()) >= NAMES


def test_page_of_a_class_lists_members_of_lapwing_only(extension: object) -> None:
    page = extension("api_pages").stub("lapwing.LapSVC", locate("lapwing.LapSVC"))
    for member in ("fit", "predict_proba", "add_labels", "score"):
        assert f".. automethod:: LapSVC.{member}" in page
    assert "get_params" not in page


def test_pages_of_registries_and_kinds_list_their_entries(extension: object) -> None:
    """Their docstrings are those of Python's dict, tuple and str."""
    for name, entry in (
        ("lapwing.losses.LOSSES", "- ``'hinge'``: `Hinge`"),
        ("lapwing.plotting.PALETTE", "#3f90da"),
        ("lapwing.losses.Kind", "``Kind.SMOOTH``: smooth"),
    ):
        assert entry in extension("api_pages").stub(name, locate(name))


@pytest.mark.parametrize(
    ("written", "escaped"),
    [
        ("exp(-gamma |x - z|^2)", r"exp(-gamma \|x - z\|^2)"),
        ("as n_iter_ says ([1]_, (7))", r"as n_iter\_ says ([1]_, (7))"),
        ("``|x|`` and `n_iter_`", "``|x|`` and `n_iter_`"),
    ],
)
def test_norms_and_attributes_are_escaped(extension: object, written: str, escaped: str) -> None:
    block = [".. math:: |x|", "", "    |y|_", "", ".. code-block:: python", "", "    z_ = 1", ""]
    lines = [*block, written, ">>> model.n_iter_"]
    extension("api_pages").escape(None, "class", "LapSVC", None, None, lines)
    assert lines == [*block, escaped, ">>> model.n_iter_"]


@pytest.mark.parametrize(
    ("code", "page"),
    [
        ("LapSVC('precomputed', graph=affinity)", "lapwing.LapSVC"),
        ("lapwing.graphs.KNNGraph", "lapwing.KNNGraph"),
        ("leave_one_out", "lapwing.model_selection.leave_one_out"),
        ("FewLabelsWarning", "lapwing.exceptions.FewLabelsWarning"),
        ("label", None),  # the option of the command line
        ("model.fit(X, y)", None),
        ("SVC", None),
    ],
)
def test_names_link_to_their_pages(extension: object, code: str, page: str | None) -> None:
    assert extension("api_pages").page_of(code) == page


def test_all_formulas_of_the_pages_can_be_translated(extension: object) -> None:
    mathml = extension("mathml")
    found = [
        ("".join(formula), path)
        for path in PAGES
        for formula in FORMULA.findall(without_code(path.read_text(encoding="utf-8")))
    ]
    assert len(found) > 100
    for text, path in found:
        assert "<math" in mathml.translate(text, block=True), f"{path}: {text}"


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]+`", "", text, flags=re.DOTALL)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\Big(-\frac{d}{2}\Big)", r"\Bigl(-\frac{d}{2}\Bigr)"),
        (r"\tfrac12 \Big[x\Big]", r"\tfrac{1}{2} \Bigl[x\Bigr]"),
        (r"\frac1{cV}", r"\frac{1}{cV}"),
        (r"\big\{a\big\}", r"\bigl\{a\bigr\}"),
        (r"\Bigl(x\Bigr)", r"\Bigl(x\Bigr)"),
    ],
)
def test_formulas_are_rewritten_for_docutils(extension: object, written: str, read: str) -> None:
    assert extension("mathml").plain(written) == read


def test_norms_do_not_stretch(extension: object) -> None:
    assert extension("mathml").translate(r"\|h\|^2", block=False).count('stretchy="false">‖') == 2


def test_all_drawn_pictures_are_shown() -> None:
    """The directive refuses one without words; here every picture that is drawn is also shown."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    drawn = {path.stem for path in DOCS.glob("draw/[!_]*.py")}
    shown = set(re.findall(r":::\{picture\} (\w+)", text))
    assert drawn == shown
