"""Warnings and errors of lapwing, with a class each for filtering.

Every message describes the problem in the data and a remedy; the documentation of the class
describes them in general.

If a solver stops before it reaches ``tol``, there is a `sklearn.exceptions.ConvergenceWarning`. The
result may still be good. The message has the distance from the optimum and a remedy, such as a
larger ``max_iter`` or ``tol``. Most often the features are not standardised, or a parameter is far
from its default.
"""

__all__ = [
    "BalanceWarning",
    "ClassPriorWarning",
    "ConstantFitWarning",
    "DaskWarning",
    "DataChangedError",
    "FeatureScaleWarning",
    "FewEigenvectorsWarning",
    "FewLabelsWarning",
    "LapwingWarning",
    "LongFitWarning",
    "LowRecallWarning",
    "ManyClassesWarning",
    "ModelVersionWarning",
    "NoClassStructureWarning",
    "NoImprovementWarning",
    "NothingUnlabeledWarning",
    "OutlierWarning",
    "RowOrderWarning",
    "SimilarLabelsWarning",
    "SingleClassWarning",
    "SuggestedLabelsWarning",
    "TiedPointsWarning",
    "UnlabeledComponentWarning",
    "UnlabeledMarkerWarning",
]


class LapwingWarning(UserWarning):
    """Base class of the warnings of lapwing."""


class NothingUnlabeledWarning(LapwingWarning):
    """No row of y is unlabelled; the marker may have been read as a class.

    Without unlabelled rows the fit is supervised. If some rows have no label, set them to a missing
    value in y (None or NaN), or pass their marker: ``unlabeled='?'``.
    """


class UnlabeledMarkerWarning(LapwingWarning):
    """The marker of unlabelled rows in y is ambiguous.

    The message names the value in question. Pass the marker as ``unlabeled=``; with
    ``unlabeled=None`` only missing values are unlabelled.
    """


class SimilarLabelsWarning(LapwingWarning):
    """Two labels differ so little that one may be a typing error.

    The message names both. Correct the label, or ignore the warning if they are different classes.
    """


class ManyClassesWarning(LapwingWarning):
    """Most labels are distinct strings; they may be names of rows instead of classes.

    Use the column of the classes, or ignore the warning if there are so many classes.
    """


class UnlabeledComponentWarning(LapwingWarning):
    """A connected component of the graph has no labelled point.

    The predictions of its points depend only on the kernel or the class proportions. Label a row in
    each such component; the message names rows. If components should be connected, use more
    neighbours, such as ``graph=KNNGraph(10)``.
    """


class SingleClassWarning(LapwingWarning):
    """All unlabelled points were predicted to be in the same class.

    Often the features, the kernel or the graph have the wrong scale: standardise the features, or
    change ``gamma``. If one class has many more labels than the others, use
    ``class_weight='balanced'`` or give the class proportions.
    """


class TiedPointsWarning(LapwingWarning):
    """The result depends on the order of the columns, because directions are tied.

    Several directions are equally good, and another order of the columns gives another result. The
    message names a method without such ties.
    """


class BalanceWarning(LapwingWarning):
    """The class proportions of the balance constraint of S3VC contradict the labelled points.

    The message has the proportions that the fit used. If you know the true ones, pass them:
    ``balance={'a': 0.2, 'b': 0.8}``. Counts in a small random sample are sufficient.
    """


class ClassPriorWarning(LapwingWarning):
    """The class prior cannot be met because points are tied, or the graph contradicts it.

    Check the prior: a wrong prior is worse than none. If the class proportions are unknown, leave
    ``class_prior`` at its default.
    """


class NoClassStructureWarning(LapwingWarning):
    """The predicted classes are hardly related to the graph, or a second partition is as likely.

    The classes cut about as many edges as random ones. Check the features and their scales, try
    another graph or `S3VC`, or label more rows.
    """


class ConstantFitWarning(LapwingWarning):
    """Fitted values are almost constant although labels or targets vary, or all targets are equal.

    Scale targets to about one, or use parameters closer to the defaults, such as a smaller ``mu``
    or ``gamma_I``.
    """


class DaskWarning(LapwingWarning):
    """A Dask collection causes unnecessary work on the cluster.

    The result is correct. Persist the collection, or compute its chunk sizes before.
    """


class FeatureScaleWarning(LapwingWarning):
    """Features have very different scales, or are all too small for C.

    Distances depend on the largest features only. Standardise the features:
    ``make_pipeline(StandardScaler(), LapSVC())``.
    """


class FewEigenvectorsWarning(LapwingWarning):
    """There are fewer eigenvectors than classes.

    Virtual labels cannot separate all classes. Use more eigenvectors: ``n_eigenvectors='auto'``, or
    at least two for each class.
    """


class FewLabelsWarning(LapwingWarning):
    """There are too few labels to hold out the requested number, or any.

    Scores do not include classes with a single label. Label a second row of these classes.
    """


class LongFitWarning(LapwingWarning):
    """A fit will take minutes, while another estimator would take seconds.

    Wait, or interrupt it and use the estimator or option that the message names.
    """


class LowRecallWarning(LapwingWarning):
    """An approximate search misses many neighbours, as a better search would take too long.

    A low recall increases errors. Use an estimator without a neighbour search
    (`AnchorGraphClassifier`, `EigenfunctionClassifier`), or reduce the number of features.
    """


class RowOrderWarning(LapwingWarning):
    """X and y have the same index in different orders, and are taken row by row.

    If the index says which label belongs to which row, give ``y.loc[X.index]``. If the order does,
    give ``y.to_numpy()``, and there is no warning.
    """


class OutlierWarning(LapwingWarning):
    """A few rows are so far from all others that they determine the scale of distances.

    Correct or remove the rows that the message names. If they are right, transform the features,
    for example with `sklearn.preprocessing.QuantileTransformer`.
    """


class NoImprovementWarning(LapwingWarning):
    """A method did not improve on the supervised solution, which was returned.

    Try another ``method``, more starts (``n_init=10``), a smaller ``C_star``, or `LapSVC`.
    """


class SuggestedLabelsWarning(LapwingWarning):
    """Most labels are of rows chosen by `suggest`, so error estimates are biased.

    Suggested rows are harder than others. Label some rows drawn at random, and count the errors on
    these; `lapwing label` does this automatically.
    """


class ModelVersionWarning(LapwingWarning):
    """A model file was created with another version of scikit-learn.

    Its preprocessing may differ. Fit the model again, or install the version that the message
    names.
    """


class DataChangedError(RuntimeError):
    """A file of X was changed, truncated or removed while it was read.

    Do not change the files during a fit, and fit again.
    """
