"""Queueing theory holds for the general loop: one slot, no memory limit, Poisson arrivals, a token a millisecond.

A prompt of one token and an answer of n take n iterations, so that the server is an M/G/1 queue whose service time is
the answer's length. Means of independent replications are held against the formulas by a 99.9 % Student interval.
"""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sim.deployment import resolve
from sim.engine.inputs import Requests, StepTime
from sim.scenario import Scenario
from sim.systems.build import plan_of
from sim.systems.run import run_plan
from sim.workload.requests import RequestInfo

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEP_S = 0.001
MEAN = 50  # tokens
REPLICATIONS = 30
FCFS = {"system": "orca", "reserve": "truth"}
SJF = {"system": "mc_sf"}  # the shortest is next, nobody is displaced
SRPT = {"system": "srtf"}


def lengths(cv: float) -> tuple[Ints, Floats]:
    """Answer lengths and their probabilities: a few values, so that the formulas are exact sums."""
    if cv < 1:
        values = np.array([MEAN // 2, MEAN, MEAN * 3 // 2 + MEAN // 2])
        # mean MEAN: a/2 + b + 2c = 1 with a + b + c = 1 gives a = 2c; variance (a/4 + c) * MEAN^2 = cv^2 * MEAN^2
        c = cv**2 / 1.5
        return values, np.array([2 * c, 1 - 3 * c, c])
    short = MEAN // 5
    # two values, the short one with probability p: mean and variance decide the long one
    distance = MEAN - short
    p = (cv * MEAN) ** 2 / ((cv * MEAN) ** 2 + distance**2)
    long = short + distance / (1 - p)
    return np.array([short, round(long)]), np.array([p, 1 - p])


def sample(cv: float, rho: float, seed: int, n: int) -> Requests:
    rng = np.random.default_rng(seed)
    values, shares = lengths(cv)
    output = rng.choice(values, n, p=shares).astype(np.int64)
    mean = float(values @ shares) * STEP_S
    arrivals = np.cumsum(rng.exponential(mean / rho, n))
    ones, zeros, none = np.ones(n, np.int64), np.zeros(n, np.int64), np.zeros(0, np.int64)
    start = np.zeros(n + 1, np.int64)
    return Requests(arrivals - arrivals[0], ones, output, output, zeros, zeros, start, none, none, 0)


def responses(requests: Requests, scheduler: dict[str, Any]) -> Floats:
    """(n,) seconds from arrival to the last token, on one slot."""
    scenario = Scenario(
        version=1,
        deployment={"num_gpu_blocks_override": 200_000, "block_size": 16, "max_model_len": 4096},
        scheduler={**scheduler, "max_num_seqs": 1},
        predictor={"kind": "oracle"},
    )
    n = len(requests.cap)
    no = np.zeros(n, bool)
    info = RequestInfo(requests.output_len, np.zeros(n, np.int64), ("all",), no, no, np.full(n, -1, np.int64))
    step = StepTime(np.full(2, STEP_S), 0.0, 0.0, 0.0)
    outcome = run_plan(plan_of(scenario, resolve(scenario), requests, info, step), requests, step).outcome
    return outcome.last_token_s - outcome.arrival_s


def formula(order: str, cv: float, rho: float) -> float:
    """Mean response time of M/G/1, seconds, for lengths of a few values.

    FCFS: Pollaczek and Khinchine. SJF: Phipps (1956), the non-preemptive queue in which every length is a class. SRPT:
    Schrage and Miller (1966), with who has as much left as a newcomer brings going first.
    """
    values, shares = lengths(cv)
    sizes = values * STEP_S
    rate = rho / float(sizes @ shares)
    waiting = rate * float(sizes**2 @ shares) / 2  # mean work in service met by an arrival
    if order == "fcfs":
        return waiting / (1 - rho) + float(sizes @ shares)
    total = 0.0
    for size, share in zip(sizes, shares, strict=True):
        below = rate * float((sizes * shares)[sizes < size].sum())
        up_to = rate * float((sizes * shares)[sizes <= size].sum())
        if order == "sjf":
            total += share * (waiting / ((1 - below) * (1 - up_to)) + size)
            continue
        moment = float((sizes**2 * shares)[sizes <= size].sum()) + size**2 * float(shares[sizes > size].sum())
        residence, low = 0.0, 0.0
        for high in sizes[sizes <= size]:  # with y left, only shorter ones come between
            residence += (high - low) / (1 - rate * float((sizes * shares)[sizes < high].sum()))
            low = float(high)
        total += share * (rate * moment / 2 / ((1 - below) * (1 - up_to)) + residence)
    return total


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("rho", [0.5, 0.8])
def test_srpt_is_no_slower_than_sjf_and_sjf_no_slower_than_fcfs_on_every_sample(seed: int, rho: float) -> None:
    for cv in (0.5, 1.0, 2.0):
        requests = sample(cv, rho, seed, 300)
        srpt, sjf, fcfs = (responses(requests, each).mean() for each in (SRPT, SJF, FCFS))
        assert srpt <= sjf + 1e-9
        assert sjf <= fcfs + 1e-9


@pytest.mark.parametrize("cv", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("rho", [0.5, 0.8])
@pytest.mark.parametrize(("order", "scheduler"), [("fcfs", FCFS), ("sjf", SJF), ("srpt", SRPT)])
def test_mean_response_is_that_of_the_formula(order: str, scheduler: dict[str, Any], rho: float, cv: float) -> None:
    means = []
    for seed in range(REPLICATIONS):
        all_of_them = responses(sample(cv, rho, 1000 + seed, 12_000), scheduler)
        means.append(all_of_them[2_000:].mean())  # the queue starts empty
    half = stats.t.ppf(0.9995, REPLICATIONS - 1) * np.std(means, ddof=1) / math.sqrt(REPLICATIONS)
    # an arrival in mid-iteration waits for its end: at most one iteration more than in continuous time
    assert np.mean(means) - half - STEP_S <= formula(order, cv, rho) <= np.mean(means) + half + STEP_S
