"""Warnings that lapwing gives, so that each can be filtered by its class, and its own error.

Not converging is scikit-learn's own `sklearn.exceptions.ConvergenceWarning`.
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
    "ModelVersionWarning",
    "NoClassStructureWarning",
    "NoImprovementWarning",
    "NothingUnlabeledWarning",
    "OutlierWarning",
    "SimilarLabelsWarning",
    "SingleClassWarning",
    "TiedPointsWarning",
    "UnlabeledComponentWarning",
    "UnlabeledMarkerWarning",
]


class LapwingWarning(UserWarning):
    """Base class of lapwing's warnings."""


class NothingUnlabeledWarning(LapwingWarning):
    """No row of y is unlabelled: perhaps the marker is counted as a class."""


class UnlabeledMarkerWarning(LapwingWarning):
    """What marks the unlabelled rows of y may not be what was meant."""


class SimilarLabelsWarning(LapwingWarning):
    """A label of few rows is written almost as one of many: perhaps it is a slip."""


class UnlabeledComponentWarning(LapwingWarning):
    """Some connected component of the graph holds no labelled point.

    No label reaches its points through the graph: their answers rest on the kernel, or on the sizes
    of the classes, alone. Label one row in each such component; the message names rows. If a
    component should not be one, more neighbours join it, such as ``graph=KNNGraph(10)``.
    """


class SingleClassWarning(LapwingWarning):
    """All unlabelled points were given the same class."""


class TiedPointsWarning(LapwingWarning):
    """Answers follow the order of the columns, as nothing else tells points or directions apart."""


class BalanceWarning(LapwingWarning):
    """The shares of the classes that S3VC was to hold contradict the labelled points."""


class ClassPriorWarning(LapwingWarning):
    """Class volumes cannot meet the prior, as points are tied, or the graph contradicts it."""


class NoClassStructureWarning(LapwingWarning):
    """The classes that were found cut about as many edges of the graph as chance would."""


class ConstantFitWarning(LapwingWarning):
    """Fitted values hardly vary where the labels or targets do."""


class DaskWarning(LapwingWarning):
    """A Dask collection makes the cluster work more than it has to."""


class FeatureScaleWarning(LapwingWarning):
    """Features differ so much in scale that distances see only a few; or all are tiny beside C."""


class FewEigenvectorsWarning(LapwingWarning):
    """Virtual labels have fewer eigenvectors than there are classes to tell apart."""


class FewLabelsWarning(LapwingWarning):
    """There are too few labels to hold out as many as was asked for, or any."""


class LongFitWarning(LapwingWarning):
    """A fit that takes minutes is about to begin, and another estimator takes seconds."""


class LowRecallWarning(LapwingWarning):
    """An approximate search misses many neighbours, as finding more would take too long."""


class OutlierWarning(LapwingWarning):
    """A few rows lie so far off that distances between all others hardly count."""


class NoImprovementWarning(LapwingWarning):
    """A method found nothing better than the supervised solution, which it returned."""


class ModelVersionWarning(LapwingWarning):
    """A model file was made with another scikit-learn than the one that reads it."""


class DataChangedError(RuntimeError):
    """A file of X was changed, cut short or removed while it was read."""
