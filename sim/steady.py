"""Is a run worth reading: does the queue stay bounded, is it long enough, and which part of it is steady.

Source: metrics.md, section 2.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.metrics import cv

Floats = NDArray[np.float64]

WARM_UP = 0.1  # share of the arrivals' span left out of the steady window
FEWEST_POINTS = 8  # of the queue over the second half of the arrivals, to speak of a trend
MANY_POINTS = 64  # of a queue that is read off the requests
FEWEST_TURNS = 5  # the arrivals of an open loop span at least so many median times of service
FILLINGS = 8  # a search for a rate has arrivals that span so many times what the memory takes to fill
NEARLY = 0.9  # of a period of arrivals: the rest is trough


class Window(NamedTuple):
    """A stretch of a run, in seconds from the first arrival."""

    start_s: float
    end_s: float


def steady_window(arrival_s: Floats) -> Window | None:
    """From the end of the warm-up, a tenth of the arrivals' span, to the last arrival.

    None where all arrive at once: there is nothing between filling and draining.
    """
    last_s = float(np.nanmax(arrival_s, initial=0.0))
    return Window(WARM_UP * last_s, last_s) if last_s > 0 else None


def amount_between(amounts: Floats, bin_width_s: float, duration_s: float, window: Window) -> float:
    """Part of a binned amount that falls into a window; bins cut by its borders count by overlap.

    Parameters
    ----------
    amounts : (k,) float64
        Sum over each bin; the last bin ends with the run.
    """
    edges = np.minimum(np.arange(amounts.size + 1) * bin_width_s, duration_s)
    start, end = np.interp(window, edges, np.concatenate(([0.0], np.cumsum(amounts))))
    return float(end - start)


class Waits(NamedTuple):
    """When requests began to wait, and when they no longer did; NaN where they have not yet."""

    from_s: Floats  # (m,)
    until_s: Floats  # (m,)


class Trend(NamedTuple):
    """Growth of the number waiting over the second half of the arrivals."""

    growth: float  # requests, along the least-squares line
    noise: float  # requests, by which a queue in balance would wander
    is_unstable: bool


def waiting_trend(time_s: ArrayLike, waiting: ArrayLike, num_arrivals: int, gap_cv: float, length_cv: float) -> Trend:
    """Whether the queue grows beyond noise.

    The least-squares line through the number waiting is set against the wander of a queue that is exactly
    in balance: there the number waiting is a random walk, and m arrivals and departures spread it by
    sqrt(m * (gap_cv^2 + length_cv^2)). More growth than that (and than one request) is instability.
    Measured on 60 runs each of a 32-slot FCFS queue with Poisson arrivals, length CV 1 and m = 2,000: no alarm
    at 90 % load, 3 % of the runs at 95 %, 95 % at 110 %, all at 130 %.

    Parameters
    ----------
    time_s, waiting : (k,) float64
        Number waiting, evenly spaced over the second half of the arrivals.
    num_arrivals : int
        Arrivals in that half.
    gap_cv, length_cv : float
        Coefficients of variation of the gaps between arrivals and of the output lengths.
    """
    time, count = np.asarray(time_s, dtype=np.float64), np.asarray(waiting, dtype=np.float64)
    centred = time - time.mean()
    spread = float(centred @ centred)
    slope = float(centred @ count) / spread if spread > 0 else 0.0
    step = (time[-1] - time[0]) / (time.size - 1) if time.size > 1 else 0.0
    growth = slope * step * time.size
    noise = float(np.sqrt(num_arrivals * (gap_cv**2 + length_cv**2)))
    return Trend(growth, noise, growth > max(noise, 1.0))


def trend_of_run(waiting: Floats, bin_width_s: float, arrival_s: Floats, output_len: ArrayLike) -> Trend | None:
    """Trend of a run's queue; None where the question has no meaning.

    Parameters
    ----------
    waiting : (k,) float64
        Mean number waiting in each time bin.
    bin_width_s : float
    arrival_s : (n,) float64
        Arrivals of an open loop that the run got to see, ascending.
    output_len : (n,) int64
        Tokens.
    """
    if arrival_s.size < 2:
        return None
    half = arrival_s.size // 2
    first_bin, end_bin = np.ceil(arrival_s[half] / bin_width_s), np.floor(arrival_s[-1] / bin_width_s)
    inside = np.arange(int(first_bin), min(int(end_bin), waiting.size))  # bins that lie between the two arrivals
    if inside.size < FEWEST_POINTS:
        return None
    gap_cv = cv(np.diff(arrival_s[half:]))
    return waiting_trend(inside * bin_width_s, waiting[inside], arrival_s.size - half, gap_cv, cv(output_len))


def trend_of_waits(
    waits: Waits, arrival_s: Floats, output_len: ArrayLike, weight: ArrayLike | None = None
) -> Trend | None:
    """The same from how long each request waited to be scheduled for the first time.

    For arrivals that are over within a few time bins. And for what waits behind others: where short answers go first,
    few wait and those few are the work that is not done, so each counts as its `weight`.

    Parameters
    ----------
    waits : Waits
        Who was preempted does not wait in them, so the queue may only be longer.
    arrival_s, output_len : (n,) float64, (n,) int64
        As in `trend_of_run`; those who ask again after a cut answer are in `waits` alone.
    weight : (m,) float64, optional
        Of each wait, 1 on average. None: 1 each.
    """
    if arrival_s.size < 2 or arrival_s[-1] <= arrival_s[arrival_s.size // 2]:
        return None
    half = arrival_s.size // 2
    edges_s = np.linspace(arrival_s[half], arrival_s[-1], MANY_POINTS + 1)
    each = np.ones(waits.from_s.size) if weight is None else np.asarray(weight, np.float64)
    waited = _time_since(edges_s, waits.from_s, each) - _time_since(edges_s, waits.until_s, each)
    waiting = np.diff(waited) / np.diff(edges_s)
    return waiting_trend(edges_s[:-1], waiting, arrival_s.size - half, cv(np.diff(arrival_s[half:])), cv(output_len))


def _time_since(time_s: Floats, event_s: Floats, amounts: Floats) -> Floats:
    """Sum of the amounts of what happened before each time, each times how long before; NaN happens never."""
    order = np.argsort(event_s)  # NaN last
    event_s, amounts = event_s[order], amounts[order]
    before = np.searchsorted(event_s, time_s, "right")
    total, moment = (np.append(0.0, np.cumsum(each))[before] for each in (amounts, amounts * event_s))
    since: Floats = time_s * total - moment
    return since


def is_too_short(
    num_requests: int, users: int, last_arrival_s: float, median_service_s: float, period_s: float = 0.0
) -> bool:
    """Whether filling and draining the server outweigh what lies between.

    An open loop must last five median times of service (end to end without the queue, which in an unstable run
    grows with the run), a closed loop give each user five turns. Where the rate swings, arrivals must come to the end
    of a period: it begins with the trough, so a part of it is not what it is on average. Requests that all come at
    once are a job with an end, which no length makes more typical.
    """
    if users:
        return num_requests < FEWEST_TURNS * users
    return 0 < last_arrival_s < max(FEWEST_TURNS * median_service_s, NEARLY * period_s)


def filling_s(service_s: ArrayLike) -> float:
    """How long a server takes to fill: the mean time of service of whom one meets in it, sum of squares / sum.

    Long answers are few among those who come and many among those who are there. With heavy tails the median says
    nothing of that: on the presets heavy-tail and mixed-pool, five replications each, arrivals that spanned three to
    four such times let a search find 19 to 25 % more than arrivals that spanned forty; from seven on it was the same.

    Parameters
    ----------
    service_s : (n,) float64
        From first scheduled to finished, in s; NaN where either did not happen. 0 is returned where none did.
    """
    known = np.asarray(service_s, np.float64)
    known = known[np.isfinite(known)]
    total = float(known.sum())
    return float(known @ known) / total if total > 0 else 0.0
