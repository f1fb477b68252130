"""What an output cap costs and what it gives, with clients that take it and clients that ask again.

An open loop decides when requests come before it runs, but a retry comes when the answer before it has ended. So the
run is made again and again, each retry where the run before puts it, until the arrivals hardly move. Every pass settles
more of them for good, as nothing that comes later changes what was before.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.deployment import resolve
from sim.errors import ScenarioError
from sim.metrics import percentile, worth_showing
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.simulate import simulate_requests
from sim.studies.load_curve import load_of
from sim.studies.output_lengths import capped
from sim.studies.saturated import plateau_tokens_per_s, replayed, saturated
from sim.workload import Trace, make_requests
from sim.workload.retries import NOBODY, Retry, Tries, arranged, tries

Floats = NDArray[np.float64]

CAPS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
MAX_REQUESTS = 10_000
MAX_PASSES = 8
SETTLED = 0.01  # of the mean time of a try: average move of an arrival that is small enough
UNSETTLED = 0.05  # what moves more than that is rough
THINK_S = 1.0  # between reading a cut answer and asking again


class Asked(NamedTuple):
    """One run with its retries."""

    result: Result
    made: Tries
    order: NDArray[np.int64]  # (m,) row of `made` at each row of the result
    moved: float  # how far tries would move in one more pass, over the mean time of a try


class TypeLoss(NamedTuple):
    """What a cap takes from one task type."""

    name: str
    truncated: float  # share of first answers that are cut
    tokens_lost: float  # share of the wanted tokens that nobody gets


class CapPoint(NamedTuple):
    """One cap; shares are of all questions or of all tokens."""

    cap: int | None  # None: the scenario's own
    retry: Retry
    truncated: float  # share of first answers that are cut
    tokens_lost: float
    types: tuple[TypeLoss, ...]
    requests_per_question: float
    answers_per_s: float  # saturated
    useful_tokens_per_s: float  # saturated: kept by the client
    attainment: float  # as asked, over all tries; NaN without limits
    tpot_p99_s: float  # as asked; NaN where too few
    whole_p99_s: float  # as asked: from the question to the last token of its answer
    is_overloaded: bool  # more questions come than a full server answers: latencies depend on the length of the run
    moved: float


def cap_point(scenario: Scenario, cap: int | None, retry: Retry, trace: Trace | None = None) -> CapPoint:
    """Run one cap, as asked and saturated.

    Parameters
    ----------
    scenario : Scenario
        At most `MAX_REQUESTS` of its requests are run. A type with a lower cap keeps it.
    cap : int, optional
        Tokens. None: the scenario's own caps.
    retry : Retry
    trace : Trace, optional

    Raises
    ------
    ScenarioError
        The scenario cannot run, or is a closed loop.
    """
    if scenario.workload.arrivals.kind == "closed_loop":
        raise ScenarioError("workload.arrivals.kind is 'closed_loop'; an open loop is needed, such as poisson")
    full = run_capped(saturated(scenario), cap, retry, trace, is_queue=True)
    tokens_per_s = plateau_tokens_per_s(full.result)
    answers_per_s = (
        tokens_per_s / full.result.run.outcome.emitted.mean() / len(full.made.question) * len(full.made.wanted)
    )
    load = load_of(scenario, trace)
    is_overloaded = load is None or load > answers_per_s
    asked = run_capped(scenario, cap, retry, trace, is_queue=is_overloaded)
    if asked.moved > UNSETTLED and not is_overloaded:  # near its capacity a server is in between
        asked = min(asked, run_capped(scenario, cap, retry, trace, is_queue=True), key=lambda each: each.moved)
    made, result = asked.made, asked.result
    n = len(made.wanted)
    first, wanted = made.requests.output_len[:n], made.wanted
    got = np.bincount(made.question, made.useful, n)
    is_cut = first < wanted
    p99 = percentile(result.tpot_s, 0.99)
    return CapPoint(
        cap,
        retry,
        float(is_cut.mean()),
        float(1 - got.sum() / wanted.sum()),
        tuple(
            TypeLoss(name, float(is_cut[rows].mean()), float(1 - got[rows].sum() / wanted[rows].sum()))
            for i, name in enumerate(made.info.type_names)
            if (rows := made.info.type_id[:n] == i).any()
        ),
        len(made.question) / n,
        answers_per_s,
        tokens_per_s * made.useful.sum() / made.requests.output_len.sum(),
        float("nan") if result.limits.is_empty else result.attainment.share,
        p99.value if worth_showing(0.99, p99.m) else float("nan"),
        percentile(whole_s(asked), 0.99).value,
        is_overloaded,
        asked.moved,
    )


def run_capped(
    scenario: Scenario, cap: int | None, retry: Retry, trace: Trace | None = None, *, is_queue: bool = False
) -> Asked:
    """One run under a cap, with every retry after the try before it.

    Parameters
    ----------
    scenario, cap, retry, trace
        As in `cap_point`.
    is_queue : bool
        Whether requests wait for as long as the run goes on; times of retries are then sought in another way.
    """
    server = with_values(scenario, {"workload.num_requests": min(scenario.workload.num_requests, MAX_REQUESTS)})
    longest, rows = resolve(server).max_model_len, replayed(server, trace)
    whole, _ = make_requests(server, rows, max_model_len=longest)
    under = server if cap is None else capped(server, cap)
    requests, info = make_requests(under, rows, max_model_len=longest)
    made = tries(requests, info, whole, retry)
    arrival_s, moved = due_s(made, np.zeros(len(made.question)), None), 0.0
    for _ in range(MAX_PASSES):
        ordered, details, order = arranged(made, arrival_s, scenario.tail_quantile)
        result = simulate_requests(under, ordered, details)
        lasted_s = np.empty(len(order))
        lasted_s[order] = np.nan_to_num(result.e2e_s)  # of what the run left unfinished nobody asks for more
        before_s, arrival_s = arrival_s, due_s(made, lasted_s, arrival_s if is_queue else None)
        moved = float(np.abs(arrival_s - before_s).mean() / max(lasted_s.mean(), 1e-9))
        if moved < SETTLED:
            break
    return Asked(result, made, order, moved)


def due_s(made: Tries, lasted_s: Floats, began_s: Floats | None) -> Floats:
    """When each try comes: a retry, once the try before it has ended and its answer has been read.

    Parameters
    ----------
    made : Tries
    lasted_s : (m,) float64
        Seconds from the arrival of each try to its last token.
    began_s : (m,) float64, optional
        When the tries came that lasted so long. With it a try ends when it ended in that run; without it, so long after
        it is now due. The first is right where a queue decides (a full server goes through it in the same time,
        whoever comes when), the second where there is none and whole chains of tries move together.

    Returns
    -------
    (m,) float64
    """
    arrival_s = made.requests.arrival_s.copy()
    retries = np.flatnonzero(made.after != NOBODY)
    before = made.after[retries]
    steps = lasted_s[before] + THINK_S
    if began_s is not None:
        arrival_s[retries] = began_s[before] + steps
    elif len(retries):
        since_first = np.cumsum(steps)
        first = np.maximum.accumulate(np.where(before < len(made.wanted), np.arange(len(retries)), 0))
        arrival_s[retries] = arrival_s[made.question[retries]] + since_first - (since_first - steps)[first]
    return arrival_s


def whole_s(asked: Asked) -> Floats:
    """From each question to the last token of its last try, (n,) float64 seconds."""
    finish_s = np.empty(len(asked.order))
    finish_s[asked.order] = asked.result.finish_s
    n = len(asked.made.wanted)
    last_s = np.full(n, -np.inf)
    np.maximum.at(last_s, asked.made.question, finish_s)
    arrival_s = np.empty(len(asked.order))
    arrival_s[asked.order] = asked.result.run.outcome.arrival_s
    return last_s - arrival_s[:n]


def caps_of(scenario: Scenario) -> list[int]:
    """Caps worth a look: below the longest answers that the scenario allows."""
    longest = max(task.cap or CAPS[-1] for task in scenario.workload.types)
    return [cap for cap in CAPS if cap < longest]


def in_order(points: Sequence[CapPoint], retry: Retry) -> list[CapPoint]:
    """The points of one kind of client by cap, the scenario's own cap last."""
    return sorted((each for each in points if each.retry is retry), key=lambda each: each.cap or np.inf)
