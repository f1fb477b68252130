"""Measured points that contradict what they say about themselves, so that no model of a server can meet them."""

from sim.arrivals_spec import ClosedLoop
from sim.cost.closed_form import latencies, load_of
from sim.cost.coefficients import Coefficients
from sim.cost.measured_point import MeasuredPoint
from sim.scenario import Scenario

DATASHEET = Coefficients(0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, p=20)  # no overhead, full speed, reading behind computing
MORE_USERS, NO_SLOWER = 8, 1.05

TOO_FAST = "faster than the datasheet allows at that concurrency"
TOO_FEW_SEATS = "as fast as with an eighth of the users: the server had fewer seats than users"


def implausible(base: Scenario, points: list[MeasuredPoint], budget: int) -> list[str | None]:
    """For every point of a server, why it cannot be used; None where nothing speaks against it."""
    narrow = base.deployment.model_copy(update={"kv_cache_dtype": "fp8"})  # whatever the row says: the fastest
    bounds_ms = latencies(load_of(narrow, points, budget), DATASHEET, 0.0).tpot_ms
    reasons: list[str | None] = []
    for point, bound_ms in zip(points, bounds_ms.tolist(), strict=True):
        if point.tpot_ms < bound_ms:
            reasons.append(TOO_FAST)
        else:
            reasons.append(TOO_FEW_SEATS if any(_is_no_slower(point, other) for other in points) else None)
    return reasons


def _is_no_slower(point: MeasuredPoint, other: MeasuredPoint) -> bool:
    """Whether `point` has many times the users of `other` under the same lengths, and the same TPOT."""
    if not (isinstance(point.arrivals, ClosedLoop) and isinstance(other.arrivals, ClosedLoop)):
        return False
    is_same_work = (point.prompt, point.output) == (other.prompt, other.output)
    has_more = point.arrivals.concurrency >= MORE_USERS * other.arrivals.concurrency
    return is_same_work and has_more and point.tpot_ms < NO_SLOWER * other.tpot_ms
