"""Model selection and evaluation with few labels.

`LabeledKFold`, `LabeledStratifiedKFold`, `LabeledShuffleSplit` and `LeaveOneLabelOut` hold out
labelled rows only, and keep all unlabelled rows in each training set; they can be used as ``cv`` of
scikit-learn's searches and scores. `labeled_scorer` makes a scorer that ignores unlabelled rows,
and `labeled_cross_val_predict` predicts each label by a model fitted without it.

`leave_one_out` and `reproducibility` estimate the error of predictions. They fit an estimator
repeatedly to the same points, which costs little more than one fit for most families. `compare`
applies both to the families of methods to select one and to estimate its error. `rows_to_label`
chooses the rows to label next, with a model or before there is any label.
"""

from lapwing._host.modules import publish as _publish
from lapwing.model_selection.candidates import Candidate, default_candidates
from lapwing.model_selection.comparison import Comparison, compare
from lapwing.model_selection.evidence import Evidence, RegressionEvidence
from lapwing.model_selection.holding_out import (
    HeldOut,
    LabeledKFold,
    LabeledShuffleSplit,
    LabeledStratifiedKFold,
    LeaveOneLabelOut,
    labeled_cross_val_predict,
    labeled_scorer,
)
from lapwing.model_selection.next_rows import rows_to_label
from lapwing.model_selection.probabilities import SureRows, calibrate, sure_rows
from lapwing.model_selection.trials import (
    LeaveOneOut,
    Reproducibility,
    leave_one_out,
    reproducibility,
)

__all__ = [
    "Candidate",
    "Comparison",
    "Evidence",
    "HeldOut",
    "LabeledKFold",
    "LabeledShuffleSplit",
    "LabeledStratifiedKFold",
    "LeaveOneLabelOut",
    "LeaveOneOut",
    "RegressionEvidence",
    "Reproducibility",
    "SureRows",
    "calibrate",
    "compare",
    "default_candidates",
    "labeled_cross_val_predict",
    "labeled_scorer",
    "leave_one_out",
    "reproducibility",
    "rows_to_label",
    "sure_rows",
]

_publish(__name__, globals(), __all__)
