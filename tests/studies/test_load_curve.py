"""The load curve: from light to beyond capacity, same requests at every load."""

import numpy as np
import pytest

from sim.presets import preset
from sim.scenario import with_values
from sim.simulate import simulate
from sim.studies.load_curve import at_load, curve, full_load, load_of, loads, point, point_of, without_load
from sim.studies.saturated import plateau_tokens_per_s, replayed, saturated
from sim.workload import read_trace

ROWS = "arrival_s,prompt_tokens,output_tokens\n" + "".join(f"{0.5 * i},{200 + i},{20 + i}\n" for i in range(201))


@pytest.fixture
def chat():
    return with_values(preset("chat"), {"workload.num_requests": 2000})


def test_scenarios_that_differ_in_load_alone_share_a_curve(chat):
    other = with_values(chat, {"workload.arrivals.rate_rps": 3.0})
    assert without_load(other) == without_load(chat)
    assert without_load(saturated(chat)) == without_load(chat)
    assert without_load(with_values(chat, {"seed": 1})) != without_load(chat)


def test_loads_reach_from_light_to_beyond_capacity(chat):
    base = without_load(chat)
    lightest, heaviest = (point(base, load) for load in (loads(base)[0], loads(base)[-1]))
    assert not lightest.is_unstable
    assert heaviest.is_unstable
    assert heaviest.p99_tpot_s > 2 * lightest.p99_tpot_s
    assert heaviest.output_tokens_per_s < 1.3 * loads(base)[-1] * 256


def test_a_point_is_the_run_at_that_load(chat):
    base = without_load(chat)
    found = point(base, 8.0)
    result = simulate(chat)
    assert found == point_of(result, 8.0)
    assert found.output_tokens_per_s == result.summary()["metrics"]["output_tokens_per_s"]
    assert found.p99_tpot_s == result.summary()["metrics"]["tpot_p99_s"]


def test_light_points_have_fewer_requests_but_the_same_ones(chat):
    longer = with_values(chat, {"workload.num_requests": 5_000})
    assert point(without_load(longer), 1.0, full_load=2.5) == point(without_load(chat), 1.0, full_load=1.0)


def test_in_a_closed_loop_load_is_the_number_of_users():
    scenario = with_values(preset("closed-loop"), {"workload.num_requests": 500})
    assert load_of(scenario) == 64
    assert loads(scenario)[:3] == (1, 2, 4)
    assert full_load(scenario, loads(scenario)) == 256
    assert point(scenario, 64).output_tokens_per_s > 5 * point(scenario, 4).output_tokens_per_s


def test_a_trace_is_replayed_faster_and_slower():
    trace = read_trace(ROWS.encode(), "rows.csv")
    scenario = with_values(preset("chat"), {"workload.arrivals": {"kind": "trace", "speed": 1.0}})
    assert load_of(scenario, trace) == pytest.approx(201 / 100)
    assert at_load(scenario, 4.02, trace).workload.arrivals.speed == pytest.approx(2)
    assert replayed(scenario, trace) is trace
    assert replayed(saturated(scenario), trace).arrival_s is None


def test_all_at_once_stands_nowhere_on_the_axis(chat):
    assert load_of(saturated(chat)) is None


def test_points_come_back_in_order_of_load(chat):
    base = without_load(chat)
    assert curve([point(base, 8.0), point(base, 2.0)]).load.tolist() == [2, 8]
    assert len(curve([]).load) == 0


def test_the_plateau_leaves_out_filling_and_draining():
    result = simulate(preset("textbook-straggler"))
    # 32 requests: 31 of 100 tokens and one of 2000, all delivered in steps of 10 ms; 5,100 tokens in all.
    # 10 % are out after 510 / 3200 s; 90 %, 4,590 tokens, after 1 s + (4,590 - 3,200) / 100 s.
    expected = 0.8 * 5100 / ((1 + 13.9) - 510 / 3200)
    assert plateau_tokens_per_s(result) == pytest.approx(expected, rel=0.02)  # bins of the run are 2 % wide


def test_saturation_changes_arrivals_alone(chat):
    full = saturated(chat)
    assert full.workload.arrivals.kind == "all_at_once"
    assert with_values(full, {"workload.arrivals": chat.workload.arrivals.model_dump()}) == chat
    lengths = [simulate(each).inputs.output_len for each in (chat, full)]
    assert np.array_equal(*lengths)
