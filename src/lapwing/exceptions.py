"""Warnings that lapwing gives, so that each can be filtered by its class, and its own error.

Each message says what was seen in your data and what to do; the page of a class says it in general.

Not converging is scikit-learn's own `sklearn.exceptions.ConvergenceWarning`: a solver stopped
before its answer was as exact as ``tol`` asks for. The answer may be good all the same. The message
says how far it is from the optimum and what to change, such as a larger ``max_iter`` or ``tol``.
Most often the features are not standardised, or a weight is far from its default.
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
    "SimilarLabelsWarning",
    "SingleClassWarning",
    "SuggestedLabelsWarning",
    "TiedPointsWarning",
    "UnlabeledComponentWarning",
    "UnlabeledMarkerWarning",
]


class LapwingWarning(UserWarning):
    """Base class of lapwing's warnings."""


class NothingUnlabeledWarning(LapwingWarning):
    """No row of y is unlabelled: perhaps the marker is counted as a class.

    A fit without unlabelled rows is a supervised one. If some rows have no label, leave them
    missing in y (None or NaN), or name what marks them: ``unlabeled='?'``.
    """


class UnlabeledMarkerWarning(LapwingWarning):
    """What marks the unlabelled rows of y may not be what was meant.

    The message names the value that is in doubt. Pass ``unlabeled=`` with the value that marks
    rows without a label; ``unlabeled=None`` says that only missing values do.
    """


class SimilarLabelsWarning(LapwingWarning):
    """A label is written almost as another one: perhaps it is a slip.

    The message names both. Correct it, or leave this warning aside if they are two classes.
    """


class ManyClassesWarning(LapwingWarning):
    """Most labels are texts of their own: perhaps they are names of rows and no classes.

    Give the column of the classes, or ignore this warning if there really are so many.
    """


class UnlabeledComponentWarning(LapwingWarning):
    """Some connected component of the graph holds no labelled point.

    No label reaches its points through the graph: their answers rest on the kernel, or on the sizes
    of the classes, alone. Label one row in each such component; the message names rows. If a
    component should not be one, more neighbours join it, such as ``graph=KNNGraph(10)``.
    """


class SingleClassWarning(LapwingWarning):
    """All unlabelled points were given the same class.

    The features, the kernel or the graph are often on the wrong scale: standardise the
    features, or change ``gamma``. Where labels of one class far outnumber the others, give
    ``class_weight='balanced'`` or the sizes of the classes.
    """


class TiedPointsWarning(LapwingWarning):
    """Answers depend on the order of the columns, as directions tie.

    Directions are equally good, and another order of the columns gives another answer. The
    message names a method that has no such ties.
    """


class BalanceWarning(LapwingWarning):
    """The shares of the classes that S3VC was to hold contradict the labelled points.

    The message says which shares the fit used. If you know the true ones, give them:
    ``balance={'a': 0.2, 'b': 0.8}``. A count in a small random sample is enough.
    """


class ClassPriorWarning(LapwingWarning):
    """Class volumes cannot meet the prior, as points are tied, or the graph contradicts it.

    The sizes were met as far as they can be. Check them: sizes that are wrong cost more than
    none. Without knowledge of them leave ``class_prior`` at its default.
    """


class NoClassStructureWarning(LapwingWarning):
    """The classes found cut the graph about as chance would, or a second answer is as likely.

    The graph says little of these classes. Check the features and their scales, try another
    graph or `S3VC`, or label more rows.
    """


class ConstantFitWarning(LapwingWarning):
    """Fitted values hardly vary where the labels or targets do, or all targets are one number.

    Rows do not differ, or by rounding only. Scale targets to about one, take weights of
    the objective nearer to the defaults, or a smaller ``mu`` or ``gamma_I``.
    """


class DaskWarning(LapwingWarning):
    """A Dask collection makes the cluster work more than it has to.

    The answer is right. Persist the collection, or compute its chunk sizes first, as the
    message says.
    """


class FeatureScaleWarning(LapwingWarning):
    """Features differ so much in scale that distances see only a few; or all are tiny beside C.

    Standardise first: ``make_pipeline(StandardScaler(), LapSVC())``.
    """


class FewEigenvectorsWarning(LapwingWarning):
    """Virtual labels have fewer eigenvectors than there are classes to tell apart.

    Use more eigenvectors: ``n_eigenvectors='auto'``, or at least two for each class.
    """


class FewLabelsWarning(LapwingWarning):
    """There are too few labels to hold out as many as was asked for, or any.

    What could be held out was; scores say nothing of classes with one label. Label a second row
    of these classes.
    """


class LongFitWarning(LapwingWarning):
    """A fit that takes minutes is about to begin, and another estimator takes seconds.

    Interrupt it and take the estimator or the option that the message names, or wait.
    """


class LowRecallWarning(LapwingWarning):
    """An approximate search misses many neighbours, as finding more would take too long.

    Errors follow the recall. Take an estimator that searches no neighbours
    (`AnchorGraphClassifier`, `EigenfunctionClassifier`), or reduce the features to fewer
    components.
    """


class OutlierWarning(LapwingWarning):
    """A few rows lie so far off that distances between all others hardly count.

    Look at the rows that the message names: correct or remove them. If they are right,
    transform the features, as `sklearn.preprocessing.QuantileTransformer` does.
    """


class NoImprovementWarning(LapwingWarning):
    """A method found nothing better than the supervised solution, which it returned.

    The unlabelled points taught nothing. Try another ``method``, more starts (``n_init=10``) or
    a smaller ``C_star``, or `LapSVC`.
    """


class SuggestedLabelsWarning(LapwingWarning):
    """Most labels are of rows that `suggest` chose, and tell little of the error on the others.

    Suggested rows are harder than others. Label some rows that are drawn at random, and count the
    errors on these: `lapwing label` does so by itself.
    """


class ModelVersionWarning(LapwingWarning):
    """A model file was made with another scikit-learn than the one that reads it.

    Its preprocessing may differ. Fit the model again, or install the version that the message
    names.
    """


class DataChangedError(RuntimeError):
    """A file of X was changed, cut short or removed while it was read.

    Leave the files of a fit alone until it has ended, and fit again.
    """
