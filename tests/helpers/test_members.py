"""Message about members of a registry without an example."""

from __future__ import annotations

import pytest

from tests.helpers.members import check_examples


def test_examples_are_those_of_the_members() -> None:
    where = {"registry": "KERNELS (kernels)", "place": "REFERENCES in tests/x.py"}
    check_examples({"rbf": 1, "poly": 2}, ("poly", "rbf"), **where)
    missing = r"KERNELS \(kernels\) holds 'matern', 'cauchy': add an example to REFERENCES in tests"
    with pytest.raises(AssertionError, match=missing):
        check_examples({"rbf": 1}, ["rbf", "matern", "cauchy"], **where)
    with pytest.raises(AssertionError, match=r"REFERENCES in tests/x\.py has 'matern', which KERN"):
        check_examples({"rbf": 1, "matern": 2}, ["rbf"], **where)
