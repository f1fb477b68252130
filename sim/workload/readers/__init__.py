"""Readers of trace files: one file a layout, chosen by what the file says."""

from sim.errors import DataError
from sim.workload.readers.detect import LAYOUTS, read_trace

__all__ = ["LAYOUTS", "DataError", "read_trace"]
