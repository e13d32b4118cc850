"""Solvers: functions (objective, settings) -> Result; see `lapwing.solvers.base`."""
