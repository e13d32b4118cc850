"""Solvers: functions (objective, settings) -> Result; see `lapwing.solvers.base`."""

from lapwing.solvers.base import Result, Settings, Status
from lapwing.solvers.manifold.dual import dual
from lapwing.solvers.manifold.newton import newton
from lapwing.solvers.manifold.pcg import pcg

__all__ = ["Result", "Settings", "Status", "dual", "newton", "pcg"]
