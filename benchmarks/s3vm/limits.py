"""Expectations of the S3VM benchmark: errors in %, seconds on two cores."""

from __future__ import annotations

# C = C* = 100: Table 1 of the continuation paper, up to the choice of the optimiser.
ERROR_LIMITS: dict[str, dict[str, float]] = {
    "uspst": {"continuation": 3.0, "gradient": 4.6},
    "text": {"continuation": 5.4, "gradient": 6.2},
}
HYBRID = 1.9
# QN-S3VM paper, Table 1, TEXT with 48, 97, 194 and 389 labels. With 48 labels the paper's method
# has 21.2 if parameters are selected on the labels; the target is 10.4, the best result of the
# others.
TEXT_ON_TEST = (8.2, 5.3, 4.9, 4.0)
TEXT_ON_LABELS = (10.4, 8.3, 5.4, 4.5)
QUASI_NEWTON_SECONDS = 0.1
CONTINUATION_SECONDS = 0.2
# Fits with default parameters, by the name of the setting.
MANY_CLASSES_SECONDS = {
    "ten digits, 6000 points": 10.0,
    "twenty topics, 5000 texts": 15.0,
    "sixty classes, 300 points": 60.0,
}
EVALUATION_RATIO = 1.5
LANDMARK_SECONDS = 2.0
LANDMARK_LOSS = 0.3

_BALANCE = (
    "the balance, which is estimated by the mean of few random labels. With the true balance and "
    "otherwise the same settings, the errors by test on the same six partitions are 5.7, 4.7 and "
    "4.9 % for 48, 97 and 194 labels instead of 11.9, 6.3 and 5.5; with 48 labels the estimate "
    "is off by 0.07 to 0.41."
)
# Reasons for missed expectations, by the name of the check; printed only if it is missed.
NOTES: dict[str, str] = {
    "error U, hybrid, Uspst, best gamma_I": (
        "one split of ten has 3.1 %, the other nine 1.6 to 2.2 (mean 1.8): a standard error of "
        "0.15, and the paper's own figure, 1.8, is within it."
    ),
    "error U, gradient, Uspst": (
        "the random draw of labels, and local minima. The means of the ten splits are between "
        "3.0 and 10.3 %, with a standard error of 0.7; the paper's run with 100 slow steps has "
        "4.9 %."
    ),
    **{
        f"TEXT, {labels} labels, parameters by {how}": _BALANCE
        for labels in (48, 97, 194)
        for how in ("test", "labels")
    },
}
