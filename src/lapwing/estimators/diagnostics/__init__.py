"""Warnings about inputs and answers that would mislead, each with its cause and its cure.

One file a family of them; `diagnostics.warn_x` is what estimators call.
"""

from lapwing.estimators.diagnostics.answers import (
    check_finite_answers,
    hardly_vary,
    tell_single_class,
    warn_constant_values,
    warn_empty_expansion,
    warn_lost_class,
    warn_outvoted_classes,
    warn_single_class,
    warn_single_class_of_function,
)
from lapwing.estimators.diagnostics.convergence import (
    warn_descent_not_converged,
    warn_embedding_not_solved,
    warn_imprecise,
    warn_no_improvement,
    warn_not_converged,
    warn_partition_not_at_rest,
)
from lapwing.estimators.diagnostics.duration import (
    warn_long_columns,
    warn_long_fit,
    warn_long_pairs,
    warn_long_path,
)
from lapwing.estimators.diagnostics.graph import (
    drowned,
    smoothed_away,
    tell_unlabeled_components,
    warn_drowned_labels,
    warn_few_eigenvectors,
    warn_fewer_eigenvectors_than_classes,
    warn_labels_not_found_again,
    warn_no_class_structure,
    warn_smoothed_away,
    warn_unlabeled_components,
)
from lapwing.estimators.diagnostics.inputs import (
    check_linear_scale,
    check_target_scale,
    warn_calibrated_marker,
    warn_doubt,
    warn_feature_scales,
    warn_nothing_held_out,
    warn_outlying_rows,
    warn_unreached_margins,
)
from lapwing.estimators.diagnostics.kernel import check_kernel, check_kernel_matrix
from lapwing.estimators.diagnostics.shares import (
    warn_contradicted_balance,
    warn_contradicted_prior,
    warn_missed_prior,
)

__all__ = [
    "check_finite_answers",
    "check_kernel",
    "check_kernel_matrix",
    "check_linear_scale",
    "check_target_scale",
    "drowned",
    "hardly_vary",
    "smoothed_away",
    "tell_single_class",
    "tell_unlabeled_components",
    "warn_calibrated_marker",
    "warn_constant_values",
    "warn_contradicted_balance",
    "warn_contradicted_prior",
    "warn_descent_not_converged",
    "warn_doubt",
    "warn_drowned_labels",
    "warn_embedding_not_solved",
    "warn_empty_expansion",
    "warn_feature_scales",
    "warn_few_eigenvectors",
    "warn_fewer_eigenvectors_than_classes",
    "warn_imprecise",
    "warn_labels_not_found_again",
    "warn_long_columns",
    "warn_long_fit",
    "warn_long_pairs",
    "warn_long_path",
    "warn_lost_class",
    "warn_missed_prior",
    "warn_no_class_structure",
    "warn_no_improvement",
    "warn_not_converged",
    "warn_nothing_held_out",
    "warn_outlying_rows",
    "warn_outvoted_classes",
    "warn_partition_not_at_rest",
    "warn_single_class",
    "warn_single_class_of_function",
    "warn_smoothed_away",
    "warn_unlabeled_components",
    "warn_unreached_margins",
]
