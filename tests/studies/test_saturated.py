"""What a server takes in at most, whichever requests it serves first."""

from typing import Any

import pytest

from sim import simulate, with_values
from sim.cost import Band
from sim.studies.load_curve import SHARES_OF_CAPACITY, at_load, loads
from sim.studies.saturated import saturated_rps
from sim.view.banners import banners
from tests.cases import BASE

ONE = {"kind": "constant", "tokens": 1}
FOUR_SLOTS = with_values(
    BASE,
    {
        "workload.types": [
            {"name": name, "share": share, "prompt": ONE, "output": {"kind": "constant", "tokens": tokens},
             "priority": priority}
            for name, share, tokens, priority in (("short", 0.9, 10, 0), ("long", 0.1, 100, 1))
        ],
        "workload.arrivals": {"kind": "poisson", "rate_rps": 1.0},
        "workload.num_requests": 20_000,
        "scheduler.max_num_seqs": 4,
        "cost.step_ms": 100.0,
        "predictor.kind": "oracle",
    },
)  # fmt: skip
TAKES_IN_RPS = 4 / (19 * 0.1)  # slots over the mean time of service
ORDERS: list[dict[str, Any]] = [
    {},
    {"scheduler.scheduling_policy": "priority"},
    *({"scheduler.order": order} for order in ("priority", "predicted", "true_length", "true_remaining", "levels")),
    {"scheduler.system": "rank", "scheduler.max_num_seqs": 4, "predictor": {"kind": "rank"}},
]


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_who_goes_first_makes_no_difference_to_what_is_taken_in(order: dict[str, Any]) -> None:
    assert saturated_rps(with_values(FOUR_SLOTS, order)) == pytest.approx(TAKES_IN_RPS, rel=0.02)


@pytest.mark.parametrize(
    ("values", "rps"),
    [  # eight seats, 0.1 s a token: 80 tokens a second
        ({}, 10.0),
        ({"workload.client_timeout_s": 3.0}, 10.0),  # of 2,000 at once nearly all would be gone before their turn
        ({"workload.types.0.cap": 4, "workload.client_retry": "rest"}, 10.0),  # two tries of four tokens
        ({"workload.types.0.cap": 4, "workload.client_retry": "again"}, 80 / 12),  # four tokens, then all eight
        ({"deployment.max_model_len": 51}, 20.0),  # of prompts from 1 to 100 tokens every other one is refused
    ],
    ids=str,
)
def test_loads_are_of_those_who_come_by_themselves(values: dict[str, Any], rps: float) -> None:
    eight = {
        "scheduler.max_num_seqs": 8,
        "cost.step_ms": 100.0,
        "workload.arrivals": {"kind": "poisson", "rate_rps": 1.0},
        "workload.num_requests": 2000,
        "workload.types.0.prompt": ONE,
        "workload.types.0.output": {"kind": "constant", "tokens": 8},
    }
    if "deployment.max_model_len" in values:
        eight["workload.types.0.prompt"] = {"kind": "uniform", "low": 1, "high": 100}
        eight["workload.types.0.output"] = {"kind": "constant", "tokens": 1}
        rps *= 8  # one token each
    server = with_values(BASE, eight | values)
    assert loads(server)[-1] == pytest.approx(SHARES_OF_CAPACITY[-1] * rps, rel=0.05)
    assert saturated_rps(server) == pytest.approx(rps, rel=0.05)


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_who_goes_first_does_not_hide_that_a_queue_grows(order: dict[str, Any]) -> None:
    """At 15 % too much only long answers are left waiting: a queue of a hundredth of the requests or two."""
    server = with_values(FOUR_SLOTS, order)
    for share, is_unstable in ((0.85, False), (1.15, True)):
        assert simulate(at_load(server, share * TAKES_IN_RPS)).summary()["flags"]["unstable"] is is_unstable


def test_work_that_waits_grows_by_what_comes_too_much() -> None:
    """Of 10,000 arrivals at 8 % too high a rate, 1 - 1 / 1.08 of the work is left: a fifth as many long answers."""
    server = with_values(FOUR_SLOTS, {"scheduler.order": "predicted"})
    summary = simulate(at_load(server, 1.08 * TAKES_IN_RPS)).summary()
    assert summary["flags"]["waiting_growth"] == pytest.approx(741 / 5, rel=0.25)
    assert summary["flags"]["waiting_work_growth"] == pytest.approx(741, rel=0.25)
    (text,) = [banner.text for banner in banners(summary, Band(10.0, "measured", True)) if banner.kind == "unstable"]
    assert f"the queue grows by the work of {summary['flags']['waiting_work_growth']:,.0f} average requests" in text
