"""Choosing with few labels: how far an answer can be trusted, without a held-out set."""

from lapwing._host.publish import publish as _publish
from lapwing.model_selection.leave_one_out import LeaveOneOut, leave_one_out
from lapwing.model_selection.reproducibility import Reproducibility, reproducibility

__all__ = ["LeaveOneOut", "Reproducibility", "leave_one_out", "reproducibility"]

_publish(__name__, globals(), __all__)
