"""Plots of fits, in the style of scikit-learn's displays.

They need matplotlib (the extra ``plot``). ``Display.from_estimator`` draws into the given Axes, or
into a new figure of pyplot: ``plt.show()`` shows it, ``display.figure_.savefig(...)`` saves it and
``plt.close(display.figure_)`` frees its memory. No global setting is changed. The colours of text
and lines suit light and dark backgrounds.
"""

from lapwing._host.modules import publish as _publish
from lapwing.plotting.calibration import CalibrationDisplay
from lapwing.plotting.convergence import ConvergenceDisplay
from lapwing.plotting.decision import DecisionMapDisplay, decision_map, scatter_predictions
from lapwing.plotting.drawing import PALETTE
from lapwing.plotting.graph import GraphDisplay
from lapwing.plotting.intervals import PredictionIntervalDisplay
from lapwing.plotting.path import PathDisplay

__all__ = [
    "PALETTE",
    "CalibrationDisplay",
    "ConvergenceDisplay",
    "DecisionMapDisplay",
    "GraphDisplay",
    "PathDisplay",
    "PredictionIntervalDisplay",
    "decision_map",
    "scatter_predictions",
]

_publish(__name__, globals(), [name for name in __all__ if not name.isupper()])
