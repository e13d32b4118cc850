"""Solvers: functions (objective, start, options) -> Result."""

from lapwing.solvers.base import Iteration, Result, Status
from lapwing.solvers.dual import dual
from lapwing.solvers.newton import newton
from lapwing.solvers.pcg import pcg

__all__ = ["Iteration", "Result", "Status", "dual", "newton", "pcg"]
