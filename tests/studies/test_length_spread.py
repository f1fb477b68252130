"""Spread of output lengths at equal mean: a pair by hand, and what it must and must not move."""

import pytest

from sim.presets import preset
from sim.scenario import with_values
from sim.studies.length_spread import in_order, spread_point
from sim.workload import read_trace

PAIR = "arrival_s,prompt_tokens,output_tokens\n0,1,10\n0,1,30\n"


@pytest.fixture
def pair():
    values = {
        "workload.arrivals": {"kind": "trace", "speed": 1.0},
        "workload.types": [{"name": "a", "prompt": {"kind": "constant", "tokens": 1}}],
    }
    return with_values(preset("textbook-straggler"), values)  # static batching, every iteration 10 ms


def test_a_batch_lasts_as_long_as_its_longest(pair):
    trace = read_trace(PAIR.encode(), "pair.csv")
    own, equal = (spread_point(pair, cv, trace) for cv in (None, 0.0))
    assert (own.cv, equal.cv) == (0.5, 0.0)
    assert own.output_tokens_per_s == pytest.approx(40 / 0.3)
    assert equal.output_tokens_per_s == pytest.approx(40 / 0.2)


def test_wider_spread_serves_fewer_tokens_more_slowly():
    tight = with_values(preset("memory-pressure"), {"workload.num_requests": 2000})
    points = in_order([spread_point(tight, cv) for cv in (2.0, 0.0, 0.5)])
    assert points["cv"].tolist() == sorted(points["cv"])
    assert points["saturated_tokens_per_s"][0] > 1.2 * points["saturated_tokens_per_s"][2]
    assert points["tpot_p99_s"][2] > 1.5 * points["tpot_p99_s"][0]


def test_no_points_yet():
    assert all(len(column) == 0 for column in in_order([]).values())
