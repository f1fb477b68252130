"""What comes to the server: requests drawn from a scenario, or read from a trace."""

from sim.errors import DataError
from sim.workload.readers import read_trace
from sim.workload.requests import RequestInfo, make_requests, with_outputs
from sim.workload.trace import Trace

__all__ = ["DataError", "RequestInfo", "Trace", "make_requests", "read_trace", "with_outputs"]
