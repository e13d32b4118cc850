"""Choosing and judging a model where most rows have no label.

`LabeledKFold`, `LabeledStratifiedKFold`, `LabeledShuffleSplit` and `LeaveOneLabelOut` hold out
labelled rows only, and keep all unlabelled rows in each training side; scikit-learn's searches and
scores take them as ``cv``. `labeled_scorer` makes a scorer that leaves unlabelled rows out, and
`labeled_cross_val_predict` answers for each label by a model that was not told it.
"""

from lapwing._host.publish import publish as _publish
from lapwing.model_selection.held_out import HeldOut, labeled_cross_val_predict
from lapwing.model_selection.scorers import labeled_scorer
from lapwing.model_selection.splitters import (
    LabeledKFold,
    LabeledShuffleSplit,
    LabeledStratifiedKFold,
    LeaveOneLabelOut,
)

__all__ = [
    "HeldOut",
    "LabeledKFold",
    "LabeledShuffleSplit",
    "LabeledStratifiedKFold",
    "LeaveOneLabelOut",
    "labeled_cross_val_predict",
    "labeled_scorer",
]

_publish(__name__, globals(), __all__)
