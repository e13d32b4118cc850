"""Schema of model files: allowed types, and canonical form.

skops describes a model as a tree of nodes in JSON, each with its type and its loader. skops trusts
all of scikit-learn; here only types of preprocessing and of lapwing's estimators are allowed, and
the tree is checked before skops loads it. The same check is made when a model is saved, so that
every file written can be read.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from zipfile import ZipFile

import numpy as np

from lapwing import estimators
from lapwing._arrays import Array
from lapwing.graphs import GRAPHS, Anchors, Eigenfunctions, Rotation
from lapwing.kernels import Kernel
from lapwing.losses.registry import LOSSES, UNLABELED_LOSSES
from lapwing.model_selection import Candidate, Comparison, Evidence, RegressionEvidence
from lapwing.model_selection.few_label import FewLabelClassifier, FewLabelRegressor
from lapwing.model_selection.relevance_scaler import RelevanceScaler
from lapwing.spaces.recipes import SPACES

# Allowed types of each loader of skops. Loaders that are not allowed: bound methods, partials,
# operators and others that call functions with arguments from the file; trees and losses, whose
# compiled code does not check indices.
_NUMBERS = r"numpy\.(bool_?|str_|u?int\d+|float\d+)"
_SKLEARN = (
    r"sklearn\.(pipeline|compose\._column_transformer|impute\._base|decomposition\._(pca"
    r"|truncated_svd)|preprocessing\._(data|discretization|encoders|function_transformer)"
    r"|neighbors\._graph)\.\w+"
    r"|sklearn\.feature_extraction\.text\.(CountVectorizer|TfidfTransformer|TfidfVectorizer)"
)
_VECTORIZERS = ("CountVectorizer", "TfidfVectorizer")
_ALLOWED = {
    "JsonNode": r"builtins\.str",
    "DictNode": r"builtins\.dict",
    "ListNode": r"builtins\.list",
    "TupleNode": r"builtins\.tuple",
    "SliceNode": r"builtins\.slice",
    "NdArrayNode": rf"numpy\.ndarray|{_NUMBERS}",
    "DTypeNode": r"numpy\.dtype",
    "TypeNode": rf"builtins\.(bool|float|int|str)|{_NUMBERS}",
    "RandomStateNode": r"numpy\.random\.mtrand\.RandomState",
    "SparseMatrixNode": r"scipy\.sparse\._(csr|csc|coo)\.(csr|csc|coo)_(array|matrix)",
    "FunctionNode": r"numpy\.\w+",  # skops allows only the ufuncs of these
}
_SPARSE = tuple(
    f"scipy.sparse._{kind}.{kind}_{form}"
    for kind in ("csr", "csc", "coo")
    for form in ("array", "matrix")
)


# Given by its name, as importing the class would import the readers of tables.
TABLE_ENCODER = "lapwing.TableEncoder"


def _own_types() -> tuple[str, ...]:
    """Return the types of lapwing by public names, which remain valid when private modules move."""
    classes = [getattr(estimators, name) for name in estimators.__all__]
    classes += [*GRAPHS.values(), *SPACES.values(), Kernel, Anchors, Eigenfunctions, Rotation]
    classes += [*LOSSES.values(), *UNLABELED_LOSSES.values()]
    classes += [FewLabelClassifier, FewLabelRegressor, Candidate, RelevanceScaler]
    classes += [Comparison, Evidence, RegressionEvidence]
    return (*(f"{c.__module__}.{c.__name__}" for c in classes), TABLE_ENCODER)


OWN_TYPES = _own_types()
_TEXTS = "lapwing.models.texts_from"


def trusted_types() -> list[str]:
    """Return the types that skops trusts beyond its own list."""
    return [*OWN_TYPES, *_SPARSE, "numpy.dtype", _TEXTS]


def forbidden(schema: Mapping[str, Any]) -> str | None:
    """Return the first type of a tree that is not allowed, or None.

    Every mapping that names a loader counts as a node, wherever it is.
    """
    for node in _nodes(schema):
        loader = node["__loader__"]
        name = f"{node['__module__']}.{node['__class__']}"
        if loader == "ObjectNode":
            fine = name in OWN_TYPES or bool(re.fullmatch(_SKLEARN, name))
        elif loader == "ConstructorFromReduceNode":
            fine = name == _TEXTS
        else:
            fine = bool(re.fullmatch(_ALLOWED.get(loader, "(?!)"), name))
        if not fine:
            return name
        # skops reads keys back with key_type("text"), and bool("False") is True.
        if loader == "DictNode" and any(
            key["__class__"] == "bool" for key in node["key_types"]["content"]
        ):
            return "builtins.dict with keys True and False"
    return None


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    pending = [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                yield part
            pending += part.values()
        elif isinstance(part, list):
            pending += part


def canonical_nodes(dump: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Rewrite the output of skops so that equal models give equal bytes.

    skops names arrays and objects by their addresses in memory. Here arrays are named by their
    content, which also stores equal ones once, and objects that occur more than once are counted.

    Parameters
    ----------
    dump : bytes
        Result of `skops.io.dumps`.

    Returns
    -------
    schema : dict
        The tree.
    members : dict of str to bytes
        Contents of its files by name.
    """
    members: dict[str, bytes] = {}
    with ZipFile(io.BytesIO(dump)) as archive:
        schema: dict[str, Any] = json.loads(archive.read("schema.json"))
        for node in _nodes(schema):
            _drop_address(node)
        names: dict[str, str] = {}
        for node in _nodes(schema):
            if "file" in node and node["file"] not in names:
                names[node["file"]] = _add(
                    members, archive.read(node["file"]), node["file"].rpartition(".")[2]
                )
    for node in _nodes(schema):
        if "file" in node:
            node["file"] = names[node["file"]]
    for node in list(_nodes(schema)):
        _pack_texts(node, members)
    _number_objects(schema)
    return schema, members


def _drop_address(node: dict[str, Any]) -> None:
    """Drop the memory address of a vectoriser's stop words."""
    if node["__loader__"] != "ObjectNode" or node["__class__"] not in _VECTORIZERS:
        return
    attributes = node["content"]
    if attributes["content"].pop("_stop_words_id", None) is not None:
        attributes["key_types"]["content"].pop()  # names of attributes are always strings


def _add(members: dict[str, bytes], content: bytes, suffix: str) -> str:
    name = f"{hashlib.sha256(content).hexdigest()[:32]}.{suffix}"
    members[name] = content
    return name


def _number_objects(schema: dict[str, Any]) -> None:
    """Number shared objects only, because identities of texts depend on the interpreter."""
    known = [node for node in _nodes(schema) if node["__loader__"] not in ("JsonNode", "TypeNode")]
    times = Counter(node.get("__id__") for node in known)
    numbers: dict[Any, int] = {}
    for node in _nodes(schema):
        identity = node.pop("__id__", None)
        if identity is not None and times[identity] > 1:
            node["__id__"] = numbers.setdefault(identity, len(numbers) + 1)


def _pack_texts(node: dict[str, Any], members: dict[str, bytes]) -> None:
    """Replace an array of Python strings, one node each in skops, by one array."""
    if node["__loader__"] != "NdArrayNode" or node.get("type") != "json":
        return
    items = node["content"]
    shape = [json.loads(size["content"]) for size in node["shape"]["content"]]
    if len(shape) != 1 or any(item.get("__loader__") != "JsonNode" for item in items):
        return
    texts = [json.loads(item["content"]) for item in items]
    if not texts or not all(isinstance(text, str) for text in texts):
        return
    width, total = max(map(len, texts)), sum(map(len, texts))
    # A long text would widen all short ones; NumPy drops trailing NULs.
    if width * len(texts) > 16 * total + 1024 or any(text.endswith("\0") for text in texts):
        return
    buffer = io.BytesIO()
    np.save(buffer, np.array(texts, dtype=f"<U{max(1, width)}"), allow_pickle=False)
    module, _, name = _TEXTS.rpartition(".")
    array = {
        "__class__": "ndarray",
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "type": "numpy",
        "file": _add(members, buffer.getvalue(), "npy"),
    }
    identity = node.get("__id__")
    node.clear()
    node.update(
        __class__=name,
        __module__=module,
        __loader__="ConstructorFromReduceNode",
        content={
            "__class__": "tuple",
            "__module__": "builtins",
            "__loader__": "TupleNode",
            "content": [array],
        },
        __id__=identity,
    )


def texts_from(array: Array) -> Array:
    """Convert an array of NumPy strings to Python strings; model files name this function.

    Parameters
    ----------
    array : ndarray of str
        Strings of fixed length.

    Returns
    -------
    ndarray of object
        The same strings.

    Raises
    ------
    ValueError
        If the array does not have strings.
    """
    if array.dtype.kind != "U":
        raise ValueError("an array of texts holds something else")
    return array.astype(object)
