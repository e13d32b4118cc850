"""Docstrings say what the code does: numpydoc's checks on all that is public.

What a user meets (`FOR_USERS`) is documented in full. The parts inside are checked for what they do
say: a documented parameter exists, in its place, and is explained.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType

import numpy as np
import pytest
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate
from sklearn.base import is_classifier

import lapwing
from lapwing.graphs import GRAPHS
from lapwing.kernels import KERNELS
from lapwing.losses import TargetKind
from lapwing.losses.registry import loss_names
from lapwing.solvers.manifold.registry import SOLVERS

# Checks of numpydoc.validate by their codes. Left out are matters of taste (GL01, SS05, SS06: where
# a summary starts and in which mood), and the wish for See Also and Examples everywhere.
CONSISTENT = frozenset(
    {
        "GL03",  # double blank lines
        "GL06",  # unknown section
        "GL07",  # sections out of order
        "GL08",  # no docstring
        "SS01",  # no summary
        "SS03",  # summary without its period
        "PR02",  # documents a parameter that does not exist
        "PR03",  # parameters out of order
        "PR04",  # parameter without type
        "PR05",  # type ends in a period
        "PR10",  # no space before the colon
    }
)
COMPLETE = CONSISTENT | {
    "PR01",  # a parameter of the signature is missing
    "PR07",  # parameter without description
    "RT01",  # returns something and does not say what
    "RT03",  # return value without description
    "YD01",  # the same for generators
}

CLASS_LOSSES = loss_names(TargetKind.SIGNS)

# The modules that users import by name; whatever else is public is a part of the house.
FOR_USERS = ("lapwing", "lapwing.datasets", "lapwing.plotting")


def public_modules() -> Iterator[ModuleType]:
    yield lapwing
    for info in pkgutil.walk_packages(lapwing.__path__, "lapwing."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            yield importlib.import_module(info.name)


def documented(module: ModuleType) -> Iterator[str]:
    """Dotted names of the classes and functions that a module exports, and of their methods."""
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        # What is exported more than once is looked at once: for users, or else where it is defined.
        defined_in = getattr(thing, "__module__", None)
        if module.__name__ not in FOR_USERS and (
            module.__name__ != defined_in or name in lapwing.__all__
        ):
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


def names(for_users: bool) -> list[str]:
    modules = [m for m in public_modules() if (m.__name__ in FOR_USERS) == for_users]
    return sorted({name for module in modules for name in documented(module)})


def failures(name: str, checks: frozenset[str]) -> list[str]:
    return [f"{code}: {message}" for code, message in validate(name)["errors"] if code in checks]


def estimators() -> list[str]:
    found = (getattr(lapwing, name) for name in lapwing.__all__)
    return [c.__name__ for c in found if inspect.isclass(c) and hasattr(c, "predict")]


@pytest.mark.parametrize("name", names(for_users=True))
def test_what_users_meet_is_documented_in_full(name: str) -> None:
    assert failures(name, COMPLETE) == []


@pytest.mark.parametrize("name", names(for_users=False))
def test_what_parts_say_is_true(name: str) -> None:
    # A protocol documents its methods once for all its members, hence no GL08 for methods.
    is_method = name.rpartition(".")[0] not in sys.modules
    assert failures(name, CONSISTENT - ({"GL08"} if is_method else set())) == []


@pytest.mark.parametrize("name", estimators())
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.LapwingWarning")
def test_fitted_attributes_are_documented(name: str) -> None:
    estimator = getattr(lapwing, name)()
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.where(X[:, 0] > 0, 1.0, 0.0)
    y[10:] = -1 if is_classifier(estimator) else np.nan
    estimator.fit(X, y)
    fitted = {key for key in vars(estimator) if key.endswith("_") and not key.startswith("_")}
    described = {
        attribute.strip()
        for entry in ClassDoc(type(estimator))["Attributes"]
        for attribute in entry.name.split(",")
    }
    assert sorted(fitted - described) == []


@pytest.mark.parametrize(
    ("parameter", "registry"),
    [("kernel", KERNELS), ("graph", GRAPHS), ("solver", SOLVERS), ("loss", CLASS_LOSSES)],
    ids=["kernel", "graph", "solver", "loss"],
)
def test_parameters_name_all_of_their_registry(parameter: str, registry: Iterable[str]) -> None:
    """What can be written for a parameter stands in its description, parts that are new too."""
    (entry,) = (p for p in ClassDoc(lapwing.LapSVC)["Parameters"] if p.name == parameter)
    text = "\n".join([entry.type, *entry.desc])
    assert [name for name in registry if not re.search(rf"['`]{name}['`]", text)] == []


def test_the_checks_see_a_wrong_docstring(monkeypatch: pytest.MonkeyPatch) -> None:
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
    codes = {line[:4] for line in failures("lapwing.wrong", COMPLETE)}
    assert codes >= {"PR01", "PR02", "RT01"}
