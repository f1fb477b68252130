"""Step time of a deployment, and how far to trust it."""

from sim.cost.band import Band, band
from sim.cost.step_time import stage_times, step_time

__all__ = ["Band", "band", "stage_times", "step_time"]
