"""Solvers: functions (objective, settings) -> Result."""

from lapwing.solvers.base import Iteration, Result, Status
from lapwing.solvers.manifold.dual import dual
from lapwing.solvers.manifold.newton import newton
from lapwing.solvers.manifold.pcg import pcg

__all__ = ["Iteration", "Result", "Status", "dual", "newton", "pcg"]
