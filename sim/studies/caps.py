"""What an output cap costs and what it gives, with clients that take it and clients that ask again."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.metrics import p99, worth_showing
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.studies.load_curve import is_closed, load_of
from sim.studies.output_lengths import capped
from sim.studies.saturated import never_idle, plateau_tokens_per_s, replayed
from sim.studies.shortened import shortened
from sim.workload import Trace
from sim.workload.retries import Retry, questions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

CAPS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
MAX_REQUESTS = 10_000


class TypeLoss(NamedTuple):
    """What a cap takes from one task type."""

    name: str
    truncated: float  # share of first answers that are cut
    tokens_lost: float  # share of the wanted tokens that nobody gets


class CapPoint(NamedTuple):
    """One cap; shares are of all questions that can be answered, or of all tokens that these want."""

    cap: int | None  # None: the scenario's own
    retry: Retry
    truncated: float  # share of first answers that are cut
    tokens_lost: float
    types: tuple[TypeLoss, ...]
    requests_per_question: float
    answers_per_s: float  # saturated, whole or as a cap leaves them, to questions; nobody gives up
    useful_tokens_per_s: float  # saturated: kept by the client
    attainment: float  # as asked, over all tries; NaN without limits
    tpot_p99_s: float  # as asked; NaN where too few
    whole_p99_s: float  # as asked: from the question to the last token of its answer; NaN where too few
    num_whole: int  # ... of so many
    is_overloaded: bool  # more questions come than a full server answers: latencies depend on the length of the run


def cap_point(scenario: Scenario, cap: int | None, retry: Retry, trace: Trace | None = None) -> CapPoint:
    """Run one cap, as asked and saturated.

    Parameters
    ----------
    scenario : Scenario
        At most `MAX_REQUESTS` requests are drawn. A type with a lower cap keeps it.
    cap : int, optional
        Tokens. None: the scenario's own caps.
    retry : Retry
    trace : Trace, optional

    Raises
    ------
    ScenarioError
        The scenario cannot run.
    """
    full = run_capped(_full(scenario), cap, retry, trace)
    tokens_per_s, is_served = plateau_tokens_per_s(full), ~full.is_rejected
    tokens_per_answer = full.inputs.output_len.sum(where=is_served) / max((full.is_first_try & is_served).sum(), 1)
    answers_per_s = tokens_per_s / max(tokens_per_answer, 1)
    load = load_of(scenario, trace)
    result = run_capped(scenario, cap, retry, trace)
    is_first = full.is_first_try
    is_answered = ~full.is_rejected[is_first]
    first, whole = full.inputs.output_len[is_first], wanted(full)
    got = np.bincount(questions(full.info), useful(full, retry), len(is_first))[is_first]
    is_cut, of_type = first < whole, full.info.type_id[is_first]

    def loss(name: str, rows: Bools) -> TypeLoss:
        if not rows.any():
            return TypeLoss(name, 0.0, 0.0)
        return TypeLoss(name, float(is_cut[rows].mean()), float(1 - got[rows].sum() / whole[rows].sum()))

    every, names = loss("all", is_answered), enumerate(full.info.type_names)
    waits_s, is_full = whole_s(result), worth_showing(0.99, len(first))  # a few requests fill no server
    return CapPoint(
        cap,
        retry,
        every.truncated,
        every.tokens_lost,
        tuple(loss(name, rows) for i, name in names if (rows := is_answered & (of_type == i)).any()),
        is_served.sum() / max(is_answered.sum(), 1),
        answers_per_s,
        tokens_per_s * useful(full, retry).sum(where=is_served) / max(full.inputs.output_len.sum(where=is_served), 1),
        float("nan") if result.limits.is_empty else result.attainment.share,
        p99(result.tpot_s),
        p99(waits_s),
        int(np.isfinite(waits_s).sum()),
        load is not None and not is_closed(scenario) and is_full and load > answers_per_s,
    )


def _full(scenario: Scenario) -> Scenario:
    """The server that never lacks work, to the end."""
    return with_values(never_idle(scenario), {"max_sim_time_s": None})


def run_capped(scenario: Scenario, cap: int | None, retry: Retry, trace: Trace | None = None) -> Result:
    """One run under a cap, with clients of one kind; parameters as of `cap_point`."""
    server = with_values(shortened(scenario, MAX_REQUESTS), {"workload.client_retry": retry.value})
    return simulate(server if cap is None else capped(server, cap), replayed(server, trace))


def wanted(result: Result) -> Ints:
    """Tokens of the whole answer to each question, as far as the server's limit leaves room, (questions,) int64."""
    room = np.maximum(result.resolved.max_model_len - result.inputs.prompt_len, 1)
    return np.minimum(result.info.true_len, room)[result.is_first_try]


def useful(result: Result, retry: Retry) -> Ints:
    """Tokens of each request that its client keeps, (n,) int64."""
    kept: Ints = result.inputs.output_len.copy()
    if retry is Retry.AGAIN:
        kept[result.info.is_truncated & ~result.is_cut_for_good] = 0
    return kept


def whole_s(result: Result) -> Floats:
    """From each question to the last token of its last try, (questions,) float64 seconds."""
    last_s = np.full(len(result.inputs.output_len), -np.inf)
    with np.errstate(invalid="ignore"):  # NaN where a try never ends
        np.maximum.at(last_s, questions(result.info), result.finish_s)
    return (last_s - result.run.outcome.arrival_s)[result.is_first_try]


def caps_of(scenario: Scenario) -> list[int]:
    """Caps worth a look: below the longest answers that the scenario allows."""
    longest = max(task.cap or CAPS[-1] for task in scenario.workload.types)
    return [cap for cap in CAPS if cap < longest]


def in_order(points: Sequence[CapPoint], retry: Retry) -> list[CapPoint]:
    """The points of one kind of client by cap, the scenario's own cap last."""
    return sorted((each for each in points if each.retry is retry), key=lambda each: each.cap or np.inf)
