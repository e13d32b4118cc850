"""Docstrings: numpydoc's checks of all that is public.

Public names (`FOR_USERS`) are documented completely. Internal ones need not be, but documented
parameters must exist, in the right order, with a description.
"""

from __future__ import annotations

import ast
import doctest
import enum
import importlib
import inspect
import pkgutil
import pydoc
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc, get_doc_object
from numpydoc.validate import Validator, validate
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import BaseCrossValidator

import lapwing
from lapwing.estimators._docs import document
from lapwing.graphs import GRAPHS
from lapwing.kernels import KERNELS
from lapwing.losses import TargetKind
from lapwing.losses.base import Loss, UnlabeledLoss
from lapwing.losses.registry import loss_names
from lapwing.model_selection import Candidate
from lapwing.plotting.drawing import Display
from lapwing.solvers.manifold.registry import SOLVERS
from tests.helpers.low_density import ONE_DESCENT
from tests.test_package import PUBLIC

# Checks of numpydoc.validate by their codes. Left out are matters of taste (GL01, SS05, SS06: where
# a summary starts and in which mood), and the wish for See Also and Examples everywhere.
CONSISTENT = frozenset(
    [
        *("GL03", "GL06", "GL07", "GL08"),  # blank lines, sections, their order, no docstring
        *("SS01", "SS03"),  # no summary, or none with a period
        *("PR02", "PR03"),  # parameters that do not exist, or are out of order
        *("PR04", "PR05", "PR10"),  # no type, one with a period, or no space before its colon
    ]
)
COMPLETE = CONSISTENT | {
    *("PR01", "PR07"),  # parameters of the signature are missing, or without description
    *("RT01", "RT03", "YD01"),  # the same for what is returned or yielded
}

# What can be written for some parameters.
CLASS_LOSSES = loss_names(TargetKind.SIGNS)
REGISTRIES = {"kernel": KERNELS, "graph": GRAPHS, "solver": SOLVERS, "loss": CLASS_LOSSES}

# The modules that users import by name; whatever else has no underscore is a part of the house.
FOR_USERS = tuple(module for module in PUBLIC if find_spec(module) is not None)


@cache
def public_modules() -> tuple[ModuleType, ...]:
    names = (info.name for info in pkgutil.walk_packages(lapwing.__path__, "lapwing."))
    found = (name for name in names if not any(part[0] == "_" for part in name.split(".")))
    return (lapwing, *map(importlib.import_module, found))


def documented(module: ModuleType) -> Iterator[str]:
    """Dotted names of the classes and functions that a module exports, and of their methods."""
    own = [name for name in vars(module) if not name.startswith("_")]
    for name in getattr(module, "__all__", own):
        thing = getattr(module, name)
        # Check names with several exports once: where users import them, or where they are defined.
        defined_in = getattr(thing, "__module__", None)
        if module.__name__ != (defined_in or module.__name__):
            continue
        if inspect.isclass(thing):
            yield f"{module.__name__}.{name}"
            yield from (f"{module.__name__}.{name}.{method}" for method in own_methods(thing))
        elif inspect.isfunction(thing):
            yield f"{module.__name__}.{name}"


def own_methods(thing: type) -> Iterator[str]:
    """The public methods and properties that lapwing, not a base from elsewhere, gives a class."""
    found = {
        name: member
        for base in reversed(thing.__mro__)
        if base.__module__.partition(".")[0] == "lapwing"
        for name, member in vars(base).items()
    }
    for name, member in found.items():
        if not name.startswith("_") and (
            inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod)
        ):
            yield name


def names(part: str, for_users: bool) -> list[str]:
    """Documented names of a part of the package, from the modules for users or from the others."""
    return sorted(
        {
            name
            for module in public_modules()
            if f"{module.__name__}.".split(".")[1] == part
            and (module.__name__ in FOR_USERS) == for_users
            for name in documented(module)
        }
    )


# "" is lapwing/__init__.py.
PARTS = ["", *(info.name for info in pkgutil.iter_modules(lapwing.__path__))]
PARTS = [part for part in PARTS if not part.startswith("_")]


class Docstring(Validator):
    """Without the line of its definition: no comment there switches a check off, and to find it
    takes half of the time."""

    source_file_def_line = None

    def __init__(self, obj_name: str) -> None:
        super().__init__(get_doc_object(self._load_obj(obj_name)))


def failures(name: str, checks: frozenset[str]) -> list[str]:
    errors = validate(name, Docstring)["errors"]
    return [f"{name}: {code}: {message}" for code, message in errors if code in checks]


def estimators() -> list[str]:
    found = (getattr(lapwing, name) for name in lapwing.__all__)
    return [c.__name__ for c in found if inspect.isclass(c) and hasattr(c, "predict")]


def found_at(name: str) -> tuple[Any, Any]:
    """The thing of a dotted name, and its class if it is a member of one."""
    owner, _, last = name.rpartition(".")
    if owner in sys.modules:
        return getattr(sys.modules[owner], last), None
    module, _, kind = owner.rpartition(".")
    cls = getattr(sys.modules[module], kind)
    return inspect.getattr_static(cls, last), cls


def documented_elsewhere(name: str) -> set[str]:
    """Codes of checks that do not see where else a thing is documented."""
    thing, owner = found_at(name)
    if owner is not None:
        # What overrides a documented member keeps its promise; to repeat it would drift apart.
        bases = [vars(base).get(name.rpartition(".")[2]) for base in owner.__mro__]
        return {"GL08"} if any(getattr(member, "__doc__", None) for member in bases) else set()
    if not inspect.isclass(thing):
        return set()
    if issubclass(thing, enum.Enum) or getattr(thing, "_is_protocol", False):
        return {"PR01"}  # never called by users
    # Values have fields, which are the parameters and the attributes in one.
    fields = set(getattr(thing, "_fields", getattr(thing, "__dataclass_fields__", ())))
    described = fields and set(inspect.signature(thing).parameters) <= attributes_of(thing)
    return {"PR01"} if described else set()


def attributes_of(cls: type) -> set[str]:
    """The attributes that the docstring of a class describes, those of one entry as well."""
    return set(re.split(r",\s*", ",".join(entry.name for entry in ClassDoc(cls)["Attributes"])))


def raises_in_silence(name: str) -> bool:
    """Whether a function raises by itself, in its own lines, and does not say what."""
    thing = getattr(found_at(name)[0], "__func__", found_at(name)[0])
    if not inspect.isfunction(thing):
        return False
    tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    raises = any(isinstance(node, ast.Raise) for node in ast.walk(tree))
    return raises and not FunctionDoc(thing)["Raises"]


@pytest.mark.parametrize("part", PARTS)
def test_public_names_are_documented_completely_and_others_consistently(part: str) -> None:
    wrong = []
    for name in names(part, for_users=True):
        wrong += failures(name, COMPLETE - documented_elsewhere(name))
        wrong += [f"{name} does not document what it raises"] * raises_in_silence(name)
    for name in names(part, for_users=False):
        # A protocol documents its methods once for all its members, hence no GL08 for methods.
        is_method = name.rpartition(".")[0] not in sys.modules
        wrong += failures(name, CONSISTENT - ({"GL08"} if is_method else set()))
    assert wrong == []


def test_help_shows_parameters_without_internals() -> None:
    classes = [found_at(name)[0] for part in PARTS for name in names(part, for_users=True)]
    classes = [one for one in classes if inspect.isclass(one)]
    kinds, losses = (BaseEstimator, BaseCrossValidator, Display), (Loss, UnlabeledLoss)
    # Losses are frozen values, dataclasses to their users as well.
    made = [one for one in classes if issubclass(one, kinds) and not issubclass(one, losses)]
    made.remove(lapwing.AffinityGraph)  # whose parameter has the name of its method
    assert len(made) > 20
    for cls in made:
        signature = inspect.signature(cls)
        assert "dataclass" not in pydoc.plain(pydoc.render_doc(cls)), cls
        for name, one in signature.parameters.items():
            assert one.annotation is one.empty, (cls, name)
            assert name not in vars(cls), (cls, name)
        entries = ", ".join(entry.name for entry in FunctionDoc(cls)["Parameters"])
        assert ", ".join(signature.parameters) == entries, cls


def test_every_part_is_checked() -> None:
    of_parts = {name for part in PARTS for who in (True, False) for name in names(part, who)}
    assert of_parts == {name for module in public_modules() for name in documented(module)}
    assert len(of_parts) > 1000


# A comparison of one candidate by little evidence has all attributes.
FEW = [Candidate("graph", lapwing.LapRLSClassifier(), "-")]
LITTLE: dict[str, dict[str, Any]] = {
    "S3VC": ONE_DESCENT,
    "FewLabelClassifier": {"candidates": FEW, "n_draws": 1, "max_left_out": 0},
}


@pytest.mark.parametrize("name", estimators())
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.LapwingWarning")
def test_documented_attributes_equal_those_of_fits(name: str) -> None:
    """Some need a kernel, a graph, a prior or named features: each occurs in one of the fits."""
    make = getattr(lapwing, name)
    known = make().get_params(deep=False)
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.arange(30) % 3 if is_classifier(make()) else X[:, 0]
    y = np.where(np.arange(30) < 10, y, -1 if is_classifier(make()) else np.nan)
    met: set[str] = set()
    options = {
        **{"kernel": "linear", "class_prior": "labels", "refine": "cut"},
        **{"gamma_I": 0.5, "gamma_Is": (0.5,)},  # a graph that a choice might leave out
    }
    given = LITTLE.get(name, {})
    if "candidates" in given:
        del options["class_prior"]  # only default candidates get it
    met |= set(vars(make(**given).fit(pd.DataFrame(X, columns=["one", "two"]), y)))
    for key in options.keys() & known.keys():
        met |= set(vars(make(**given | {key: options[key]}).fit(X, y)))
    if not is_classifier(make()):
        met |= set(vars(make().fit(X, np.column_stack([y, y]))))  # several targets
    described = attributes_of(make)
    assert sorted(described - met) == []
    fitted = {key for key in met if key.endswith("_") and not key.startswith("_")}
    assert sorted(fitted - described) == []


@pytest.mark.parametrize("parameter", REGISTRIES)
def test_parameters_list_all_names_of_their_registry(parameter: str) -> None:
    """What can be written for a parameter stands in its description, parts that are new too."""
    (entry,) = (p for p in ClassDoc(lapwing.LapSVC)["Parameters"] if p.name == parameter)
    text = "\n".join([entry.type, *entry.desc])
    assert [name for name in REGISTRIES[parameter] if not re.search(rf"['`]{name}['`]", text)] == []


def test_wrong_docstring_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(first: int, second: int) -> int:
        """Add.

        Parameters
        ----------
        first : int
            One.
        third : int
            Does not exist.
        """
        return first + second

    monkeypatch.setattr(lapwing, "wrong", wrong, raising=False)
    codes = {line.split(": ")[1] for line in failures("lapwing.wrong", COMPLETE)}
    assert codes >= {"PR01", "PR02", "RT01"}


# Entries in which an estimator on a cluster differs from the one in memory.
ON_CLUSTER = frozenset(
    {"graph", "kernel", "space", "method", "unlabeled_loss", "n_eigenvectors"}
    | {"alpha_", "coef_", "X_fit_", "n_iter_", "transduction_", "transduction_proba_"}
    | {"virtual_labels_"}
)


@pytest.mark.parametrize("name", PUBLIC["lapwing.dask"].split())
def test_cluster_estimators_share_docstring_entries(name: str) -> None:
    pytest.importorskip("distributed", reason="lapwing.dask needs dask and distributed")
    remote = getattr(importlib.import_module("lapwing.dask"), name)

    def entries(of: Any) -> dict[str, list[str]]:
        doc = ClassDoc(of)
        return {entry.name: entry.desc for entry in doc["Parameters"] + doc["Attributes"]}

    here, there = entries(remote), entries(getattr(lapwing, name.removeprefix("Dask")))
    shared = (here.keys() & there.keys()) - ON_CLUSTER
    assert len(shared) > 5
    assert {entry: here[entry] for entry in shared} == {entry: there[entry] for entry in shared}


class Home:
    """A class.

    Parameters
    ----------
    a : float, default=1.0
        A number.

        - And a list.
    b : int
        Another one.

    Notes
    -----
    No entry.
    """


A = "a : float, default=1.0\n        A number.\n\n        - And a list."
B = "b : int\n        Another one."


class Other:
    """Another class.

    Parameters
    ----------
    a : str
        A text.
    """


@pytest.mark.parametrize(
    ("homes", "line", "expected"),
    [
        ((Home, Other), "{a}", A),
        ((Other, Home), "{a}", "a : str\n        A text."),
        ((Home, Other), "{Other.a}", "a : str\n        A text."),
        ((Other, Home), "{b}", B),
        ((Other, Home), "{a to b}", f"{A}\n    {B}"),
    ],
)
def test_entries_come_from_the_first_or_named_class(homes: Any, line: str, expected: str) -> None:
    made = type("Made", (), {"__doc__": f"Made.\n\n    {line}\n"})
    assert document(*homes)(made).__doc__ == f"Made.\n\n    {expected}\n"


@pytest.mark.parametrize("line", ["{c}", "{Third.a}", "{a to c}", "{b to a}", "{Home.a to Home.b}"])
def test_missing_entry_is_an_error(line: str) -> None:
    made = type("Made", (), {"__doc__": f"Made.\n\n    {line}\n"})
    with pytest.raises(KeyError, match=f"Made: {line} has no entry in Home, Other, CHOICES"):
        document(Home, Other)(made)


EXAMPLES = [
    f"{module}.{name}"
    for module in FOR_USERS
    if module != "lapwing.plotting"  # see tests/plotting/test_displays.py
    for name in PUBLIC[module].split()
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_print_their_results(name: str) -> None:
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(pydoc.locate(name), name, globs={}):
        runner.run(test)
    assert runner.summarize().failed == 0
