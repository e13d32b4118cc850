"""Message about members of a registry without an example."""

from __future__ import annotations

import pytest

from tests.helpers.members import check_examples

WHERE = {"registry": "KERNELS (lapwing.kernels)", "place": "REFERENCES in tests/test_kernels.py"}


def test_what_is_complete_passes() -> None:
    check_examples({"rbf": 1, "poly": 2}, ("poly", "rbf"), **WHERE)


def test_a_member_without_an_example_is_told_where_to_put_one() -> None:
    message = (
        r"KERNELS \(lapwing\.kernels\) holds 'matern', 'cauchy': "
        r"add an example to REFERENCES in tests/test_kernels\.py"
    )
    with pytest.raises(AssertionError, match=message):
        check_examples({"rbf": 1}, ["rbf", "matern", "cauchy"], **WHERE)


def test_an_example_of_nothing_is_reported() -> None:
    message = r"REFERENCES in tests/test_kernels\.py has 'matern', which KERNELS .* does not hold"
    with pytest.raises(AssertionError, match=message):
        check_examples({"rbf": 1, "matern": 2}, ["rbf"], **WHERE)
