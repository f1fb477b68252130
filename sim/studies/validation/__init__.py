"""Simulator against measurements: whatever of a known set of files a folder holds."""

from sim.studies.validation.report import as_json, validate
from sim.studies.validation.shipped import shipped

__all__ = ["as_json", "shipped", "validate"]
