"""Pictures of fits, in the manner of scikit-learn's displays."""

from lapwing.plotting.displays import *  # noqa: F403
from lapwing.plotting.displays import __all__

__all__ = [*__all__]
