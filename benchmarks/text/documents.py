"""Texts that need no download: the docstrings of NumPy, SciPy and scikit-learn.

A document is the docstring of a public function, class or method, and its class is the subpackage
of the object. Names of classes are removed from the texts.
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

# Dependencies of lapwing. "numpy" has only its own names, as its subpackages are other classes.
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
    """Documents in a fixed order.

    Attributes
    ----------
    texts : list of str
    y : ndarray of int64 of shape (n_documents,)
        Class codes, indices into `classes`.
    classes : tuple of str
    """

    texts: list[str]
    y: NDArray[np.int64]
    classes: tuple[str, ...]


def docstrings(subpackages: tuple[str, ...] = SUBPACKAGES) -> Texts:
    """Collect the documents of subpackages.

    Of documents with the same first paragraph only one is kept, and none if they belong to several
    classes: the docstrings of ``fit`` and ``transform`` do not depend on the subpackage.
    """
    with warnings.catch_warnings(action="ignore"):  # deprecation warnings
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
    """Remove code, dotted paths and the names of packages and classes from a text."""
    return _NAMED.sub(" ", _DOTTED.sub(" ", _CODE.sub(" ", text)))


def weighted(texts: list[str]) -> Any:
    """Compute tf-idf weights of words and pairs of words, sparse (n_documents, n_terms)."""
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2, max_features=50_000)
    return words.fit_transform(texts)


def _documents(name: str) -> Iterator[tuple[str, str]]:
    """Yield first paragraphs and documents in reverse order, so that a dict keeps the first."""
    module = import_module(name)
    modules = [module] if "." not in name else list(_modules(module))
    described = [each for one in modules for each in _described(one)]
    for text in reversed(described):
        short = without_names(text)
        if len(short.split()) >= LEAST_WORDS:
            yield text.partition("\n\n")[0], short


def _modules(module: ModuleType) -> Iterator[ModuleType]:
    """Yield a package and its public modules in the order of their names."""
    yield module
    for found in sorted(each.name for each in iter_modules(getattr(module, "__path__", ()))):
        if not found.startswith(_NO_MODULES):
            try:
                yield from _modules(import_module(f"{module.__name__}.{found}"))
            except ImportError:  # a module with a missing optional dependency
                continue


def _described(module: ModuleType) -> Iterator[str]:
    """Yield the docstrings of the public functions, classes and methods of a module."""
    for name in sorted(getattr(module, "__all__", dir(module))):
        try:
            one = None if name.startswith("_") else getattr(module, name)
        except (AttributeError, ImportError):  # not an attribute, although listed by `dir`
            continue
        if not callable(one):
            continue
        yield inspect.getdoc(one) or ""
        if inspect.isclass(one):
            own = sorted(each for each in vars(one) if not each.startswith("_"))
            methods = [getattr(one, each, None) for each in own]
            yield from (inspect.getdoc(each) or "" for each in methods if callable(each))
