"""Class priors as users give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lapwing.classes.volumes import is_prior_like, read_prior

CODES = np.array([0, 0, 2, -1, 1, -1])
NAMES = np.array(["a", "b", "c"])


@pytest.mark.parametrize(
    ("class_prior", "parts"),
    [
        ("labels", [0.5, 0.25, 0.25]),
        ("uniform", [1 / 3] * 3),
        ([10, 30, 60], [0.1, 0.3, 0.6]),
        ([0.1, 0.3, 0.6 + 1e-7], [0.1, 0.3, 0.6]),
        ((1, 3, 6), [0.1, 0.3, 0.6]),
        ([1e308] * 3, [1 / 3] * 3),
        ({"c": 6, "a": 1, "b": 3}, [0.1, 0.3, 0.6]),
        (pd.Series({"c": 6, "a": 1, "b": 3}), [0.1, 0.3, 0.6]),
        (pd.Series([1, 3, 6]), [0.1, 0.3, 0.6]),  # counts its entries: in order
        (None, None),
        ("unknown", None),
    ],
)
def test_priors_are_read_from_every_form(class_prior: Any, parts: Any) -> None:
    assert is_prior_like(class_prior)
    found = read_prior(class_prior, CODES, NAMES)
    if parts is None:
        assert found is None
    else:
        np.testing.assert_allclose(found, parts, rtol=2e-7)


@pytest.mark.parametrize(
    ("class_prior", "message"),
    [
        *((other, "must be 'labels', 'uniform', 'unk") for other in (0.5, True)),
        ("balanced", "class_prior='balanced' must be 'labels', 'uniform', 'unknown', None, a dict"),
        ([0.5, 0.5], r"its shape is \(2,\), but there are 3 classes"),
        ([0.5, 0.6, -0.1], "holds -0.1 for the class 'c'"),
        ({"c": -1, "a": 1, "b": 3}, "holds -1 for the class 'c'"),
        ([0.5, 0.5, np.nan], "holds NaN or infinite"),
        ([0.5, 0.5, np.inf], "holds NaN or infinite"),
        ([0, 0, 0], "it is 0 for every class"),
        ([0.5, 0.5, 0.2], "or counts: they sum to 1.2"),
        ({"a": 0.5, "b": 0.3, "c": 0.1}, "they sum to 0.9"),
        ([1, 2, 0.5], "they sum to 3.5"),
        ([0.5, 0, 0.5], r"is 0 for the class 'b', which has labels \(1\)"),
        (["x", "y", "z"], "is not an array of numbers"),
        ({"a": 1, "b": 2}, r"has no proportion for \['c'\]. Give every class a prop"),
        ({"a": 1, "b": 2, "c": 3, "?": 9}, r"names \['\?'\], which are not classes"),
        (pd.Series({"a": 1, "b": 2}), r"has no proportion for \['c'\]"),
    ],
)
def test_wrong_priors(class_prior: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_prior(class_prior, CODES, NAMES)


def test_priors_where_a_class_or_every_point_has_no_label() -> None:
    np.testing.assert_array_equal(read_prior([1, 1, 0], np.array([0, 1, -1]), NAMES), [0.5, 0.5, 0])
    with pytest.raises(ValueError, match="counts labels, but no point has one"):
        read_prior("labels", np.full(4, -1), NAMES)
