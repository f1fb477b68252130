"""Simulator against measurements: whatever of a known set of files a folder holds."""

from sim.studies.validation.report import as_json, validate

__all__ = ["as_json", "validate"]
