"""Texts that are there without a download: the docstrings of NumPy, SciPy and scikit-learn.

A document is what a public function, class or method says of itself, and its class the subpackage
that it is in. Whatever names the class is taken out.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

# All of them come with lapwing. NumPy is its names alone, for its subpackages are other classes.
SUBPACKAGES = (
    *("numpy", "numpy.polynomial", "scipy.interpolate", "scipy.linalg"),
    *("scipy.ndimage", "scipy.signal", "scipy.sparse", "scipy.spatial"),
    *("scipy.special", "scipy.stats", "sklearn.linear_model", "sklearn.metrics"),
)
LEAST_WORDS = 30
_NAMES = {part for name in SUBPACKAGES for part in name.split(".")} | {"np", "scikit"}
_NO_MODULES = ("_", "test", "conftest", "setup")
_CODE = re.compile(r"^\s*(>>>|\.\.\. |(from|import) \w).*$", re.MULTILINE)
_DOTTED = re.compile(r"\b[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_NAMED = re.compile(rf"\b({'|'.join(sorted(_NAMES))})\b", re.IGNORECASE)


class Texts(NamedTuple):
    """Documents, always in the same order.

    Attributes
    ----------
    texts : list of str
    y : ndarray of int64 of shape (n_documents,)
        Codes of their classes, in the order of `classes`.
    classes : tuple of str
    """

    texts: list[str]
    y: NDArray[np.int64]
    classes: tuple[str, ...]


def docstrings(subpackages: tuple[str, ...] = SUBPACKAGES) -> Texts:
    """Documents of subpackages.

    Of those that begin with the same paragraph one is taken, and none where they are of several
    classes: ``fit`` and ``transform`` say nothing of where they are.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are on their way out
        found = [dict(_documents(name)) for name in subpackages]
    texts, codes = [], []
    for code, mine in enumerate(found):
        others = [other for other in found if other is not mine]
        for first, text in mine.items():
            if not any(first in other for other in others):
                texts.append(text)
                codes.append(code)
    return Texts(texts, np.array(codes, dtype=np.int64), subpackages)


def without_names(text: str) -> str:
    """A text without code, dotted paths and the names of packages and classes."""
    return _NAMED.sub(" ", _DOTTED.sub(" ", _CODE.sub(" ", text)))


def weighted(texts: list[str]) -> Any:
    """Words and pairs of words, (n_documents, n_terms), sparse."""
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2, max_features=50_000)
    return words.fit_transform(texts)


def _documents(name: str) -> Iterator[tuple[str, str]]:
    """First paragraphs and documents, the last names first: of equal ones the first name counts."""
    module = import_module(name)
    modules = [module] if "." not in name else list(_modules(module))
    described = [each for one in modules for each in _described(one)]
    for text in reversed(described):
        short = without_names(text)
        if len(short.split()) >= LEAST_WORDS:
            yield text.partition("\n\n")[0], short


def _modules(module: ModuleType) -> Iterator[ModuleType]:
    """A package and its public modules, in the order of their names."""
    yield module
    for found in sorted(each.name for each in iter_modules(getattr(module, "__path__", ()))):
        if not found.startswith(_NO_MODULES):
            try:
                yield from _modules(import_module(f"{module.__name__}.{found}"))
            except ImportError:  # one that needs what is not installed
                continue


def _described(module: ModuleType) -> Iterator[str]:
    """Docstrings of the functions, classes and methods that a module shows."""
    for name in sorted(getattr(module, "__all__", dir(module))):
        try:
            one = None if name.startswith("_") else getattr(module, name)
        except (AttributeError, ImportError):  # one that must be asked for otherwise
            continue
        if not callable(one):
            continue
        yield inspect.getdoc(one) or ""
        if inspect.isclass(one):
            own = sorted(each for each in vars(one) if not each.startswith("_"))
            methods = [getattr(one, each, None) for each in own]
            yield from (inspect.getdoc(each) or "" for each in methods if callable(each))
