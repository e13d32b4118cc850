"""Pictures of fits, in the manner of scikit-learn's displays."""

from lapwing.plotting.displays import PALETTE, decision_map, scatter_predictions

__all__ = ["PALETTE", "decision_map", "scatter_predictions"]
