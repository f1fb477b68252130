"""Counterfactual worlds: two requests by hand, same tokens everywhere, intervals by hand."""

import math

import numpy as np
import pytest

from sim.presets import preset
from sim.scenario import with_values
from sim.studies.counterfactuals import (
    NO_ROOM,
    SHARED,
    Cell,
    Impossible,
    Measured,
    Point,
    World,
    cells,
    gain,
    gain_of,
    has_all,
    is_offered,
    measure,
    run_world,
)
from sim.workload import read_trace

TOGETHER = "arrival_s,prompt_tokens,output_tokens\n0,1,10\n0,1,30\n"
APART = "arrival_s,prompt_tokens,output_tokens\n0,1,10\n10,1,30\n"


@pytest.fixture
def pair():
    """Static batching of whatever is there, every iteration 10 ms, any trace."""
    values = {
        "workload.arrivals": {"kind": "trace", "speed": 1.0},
        "workload.types": [{"name": "a", "prompt": {"kind": "constant", "tokens": 1}}],
        "scheduler.system": "static",
        "cost.source": "constant",
        "cost.step_ms": 10.0,
    }
    return with_values(preset("textbook-straggler"), values)


@pytest.fixture
def tight():
    return with_values(preset("memory-pressure"), {"workload.num_requests": 400, "replications": 2})


def as_asked(scenario, world, text):
    return measure(scenario, Cell(world, Point.AS_ASKED, 0), read_trace(text.encode(), "pair.csv"))


def test_without_variance_a_batch_ends_with_its_mean(pair):
    # 40 tokens: in 30 iterations of 10 ms, or twice 20 in 20 iterations.
    assert as_asked(pair, World.AS_IS, TOGETHER).output_tokens_per_s == pytest.approx(40 / 0.3)
    assert as_asked(pair, World.NO_VARIANCE, TOGETHER).output_tokens_per_s == pytest.approx(40 / 0.2)


def test_a_backlog_that_never_empties_leaves_no_time_idle(pair):
    # As asked the first answer is out at 0.1 s and the second runs from 10 s to 10.3 s. Together, 4 of the 40 tokens
    # are out after 2 iterations and 36 after 26: ten with two tokens each, then one each.
    assert as_asked(pair, World.AS_IS, APART).output_tokens_per_s == pytest.approx(40 / 10.3)
    found = as_asked(pair, World.BACKLOG, APART).output_tokens_per_s
    assert found == pytest.approx(32 / 0.24, rel=0.02)  # a bin of the run is 2 % wide


def test_joining_lets_the_second_start_while_the_first_runs(pair):
    one_seat_late = "arrival_s,prompt_tokens,output_tokens\n0,1,30\n0.055,1,10\n"
    # A closed batch: 0.3 s, then 0.1 s. Joined after the sixth iteration, at 0.06 s, it is done within the first's.
    assert as_asked(pair, World.AS_IS, one_seat_late).output_tokens_per_s == pytest.approx(40 / 0.4)
    assert as_asked(pair, World.JOINING, one_seat_late).output_tokens_per_s == pytest.approx(40 / 0.3)


def test_exact_margin_admits_when_the_true_future_fits():
    """Six blocks of one token; two prompts of 2 tokens with 3 answers each, every iteration 10 ms.

    As it is both start, request 1 is thrown out in step 2 and comes back in step 3: four steps. By true lengths both
    would come to 4 blocks. In step 2 request 0 takes its last token: 4 blocks and then none, so that request 1, with
    2, 3 and 4 blocks, fits from then on: steps 2, 3 and 4, five in all, and nobody is thrown out.
    """
    values = {
        "workload.arrivals": {"kind": "trace", "speed": 1.0}, "workload.types": [{"name": "a"}],
        "cost.source": "constant", "cost.step_ms": 10.0, "deployment.block_size": 1,
        "deployment.num_gpu_blocks_override": 7, "deployment.max_model_len": 6, "scheduler.watermark": 0.1,
    }  # fmt: skip
    scenario = with_values(preset("chat"), values)
    trace = read_trace(b"arrival_s,prompt_tokens,output_tokens\n0,2,3\n0,2,3\n", "pair.csv")
    exact = run_world(scenario, Cell(World.EXACT_MARGIN, Point.AS_ASKED, 0), trace)
    assert exact.run.duration_s == pytest.approx(0.05)
    assert exact.run.counters["preemptions"] == 0
    plain = run_world(with_values(scenario, {"scheduler.watermark": 0.0}), Cell(World.AS_IS, Point.AS_ASKED, 0), trace)
    assert plain.run.duration_s == pytest.approx(0.04)
    assert plain.run.counters["preemptions"] == 1


def test_exact_margin_lifts_the_batch_limit_and_never_throws_out(tight):
    few = with_values(tight, {"scheduler.max_num_seqs": 4})
    exact = run_world(few, Cell(World.EXACT_MARGIN, Point.SATURATED, 0))
    assert exact.summary()["metrics"]["effective_batch"] > 8
    assert exact.run.counters["preemptions"] == 0
    as_it_is = run_world(few, Cell(World.AS_IS, Point.SATURATED, 0))
    assert as_it_is.summary()["metrics"]["effective_batch"] <= 4


def test_exact_margin_changes_nothing_where_nobody_waits():
    light = with_values(preset("chat"), {"workload.num_requests": 200, "workload.arrivals.rate_rps": 1.0})
    plain, exact = (run_world(light, Cell(world, Point.AS_ASKED, 0)) for world in (World.AS_IS, World.EXACT_MARGIN))
    np.testing.assert_array_equal(plain.finish_s, exact.finish_s)


def test_exact_margin_of_a_held_batch_reserves_what_each_comes_to(pair):
    # 40 blocks of 1 token: with caps of 30 two members would need 2 x 31 = 62 blocks, with true lengths 11 + 31 = 42.
    values = {"deployment.block_size": 1, "deployment.max_model_len": 41, "workload.types.0.cap": 30}
    tight = with_values(pair, values | {"deployment.num_gpu_blocks_override": 43})
    assert as_asked(tight, World.AS_IS, TOGETHER).output_tokens_per_s == pytest.approx(40 / 0.4)  # one after the other
    assert as_asked(tight, World.EXACT_MARGIN, TOGETHER).output_tokens_per_s == pytest.approx(40 / 0.3)


def test_exact_margin_is_not_tried_where_it_would_not_be_exact_or_cannot_be():
    shared = with_values(preset("shared-prefix"), {"workload.num_requests": 50})
    assert measure(shared, Cell(World.EXACT_MARGIN, Point.AS_ASKED, 0)) == Impossible(SHARED)
    ranked = with_values(preset("chat"), {"scheduler.system": "sjf", "workload.num_requests": 50})
    found = measure(ranked, Cell(World.ALL, Point.AS_ASKED, 0))
    assert isinstance(found, Impossible)
    assert "displace" in found.reason


def test_a_tail_without_room_among_the_others_is_no_world(pair):
    trace = read_trace(("arrival_s,prompt_tokens,output_tokens\n" + "0,1,100\n" * 31 + "0,1,2000\n").encode(), "t.csv")
    assert measure(pair, Cell(World.TAIL_CUT, Point.AS_ASKED, 0), trace) == Impossible(NO_ROOM)
    assert measure(pair, Cell(World.ALL, Point.SATURATED, 0), trace) == Impossible(NO_ROOM)


@pytest.mark.parametrize("point", list(Point))
def test_every_world_has_the_same_requests_and_tokens(tight, point):
    by_world = {world: run_world(tight, Cell(world, point, 1)) for world in World if is_offered(world, tight)}
    base = by_world[World.AS_IS]
    for run in by_world.values():
        assert run.inputs.output_len.sum() == base.inputs.output_len.sum() == run.delivered_tokens
        np.testing.assert_array_equal(run.inputs.prompt_len, base.inputs.prompt_len)
    equal = by_world[World.NO_VARIANCE].inputs.output_len
    assert equal.max() - equal.min() <= 1
    for cut in (World.TAIL_CUT, World.ALL):
        assert by_world[cut].inputs.output_len.max() <= np.quantile(base.inputs.output_len, 0.95)


@pytest.mark.parametrize("retry", ["rest", "again"])
def test_clients_that_ask_again_want_the_same_tokens_in_every_world(retry):
    """Under a cap of 100 an answer of 250 takes tries of 100, 100 and 50, or of 100 and 250."""
    text = "arrival_s,prompt_tokens,output_tokens\n" + "0,1,250\n0,1,30\n0,1,40\n" * 10
    asked = with_values(
        preset("chat"), {"workload.client_retry": retry, "workload.types.0.cap": 100, "tail_quantile": 0.76}
    )
    for world in (World.AS_IS, World.NO_VARIANCE, World.TAIL_CUT):
        result = run_world(asked, Cell(world, Point.SATURATED, 0), read_trace(text.encode(), "cut.csv"))
        assert len(result.inputs.output_len) == 10 * (5 if retry == "rest" else 4)
        assert result.delivered_tokens == 10 * (320 if retry == "rest" else 420)
        if (
            world is World.NO_VARIANCE
        ):  # 320 / 5; or no first try above its cap of 100, so (420 - 300) / 1 for the other
            assert set(result.inputs.output_len.tolist()) == ({64} if retry == "rest" else {100, 120})


def test_prompts_that_never_fit_have_no_length_that_could_be_changed():
    """Of 20 answers of 10 and 30 tokens half could never fit: without variance the others have 20, and hold all."""
    text = "arrival_s,prompt_tokens,output_tokens\n" + "0,1,10\n0,1,30\n0,900,77\n0,900,77\n" * 10
    asked = with_values(preset("chat"), {"deployment.max_model_len": 900, "tail_quantile": 0.5})
    rows = read_trace(text.encode(), "narrow.csv")
    as_is, equal, cut = (
        run_world(asked, Cell(world, Point.SATURATED, 0), rows)
        for world in (World.AS_IS, World.NO_VARIANCE, World.TAIL_CUT)
    )
    assert sorted(set(as_is.answer_len.tolist())) == [10, 30]
    assert as_is.inputs.is_straggler.sum() == 10  # longer than 20, the median of the answers
    assert set(equal.answer_len.tolist()) == {20} == set(cut.answer_len.tolist())
    assert as_is.delivered_tokens == equal.delivered_tokens == cut.delivered_tokens == 400


def test_only_without_variance_the_scheduler_expects_the_truth(tight):
    known, unknown = (
        run_world(tight, Cell(world, Point.SATURATED, 0)).inputs for world in (World.NO_VARIANCE, World.TAIL_CUT)
    )
    np.testing.assert_array_equal(known.cap, known.output_len)
    assert (unknown.cap > unknown.output_len).all()


def test_an_order_does_not_make_variance_look_like_a_gain():
    """Shortest first: a stretch of the run is of short answers or of long ones; the rate is that of the whole run."""
    text = "arrival_s,prompt_tokens,output_tokens\n" + "0,1,10\n0,900,190\n" * 100
    asked = with_values(
        preset("chat"),
        {"scheduler.system": "rank", "predictor.kind": "oracle", "scheduler.max_num_seqs": 4, "replications": 1},
    )
    rows = read_trace(text.encode(), "two.csv")
    for world in (World.AS_IS, World.NO_VARIANCE):
        cell = Cell(world, Point.SATURATED, 0)
        result = run_world(asked, cell, rows)
        whole = result.run.outcome.emitted.sum() / result.run.duration_s
        assert measure(asked, cell, rows).output_tokens_per_s == pytest.approx(whole)


def test_another_replication_has_other_requests(tight):
    first, second = (run_world(tight, Cell(World.AS_IS, Point.AS_ASKED, i)).inputs for i in range(2))
    assert (first.output_len != second.output_len).any()


def test_cells_by_replication_and_without_what_cannot_differ(tight):
    found = cells(tight)
    assert len(found) == len(set(found)) == 2 * (6 * 2 - 1)
    assert {cell.replication for cell in found[:7]} == {0}
    assert {cell.world for cell in found[14:]} == {World.EXACT_MARGIN, World.ALL}
    assert World.JOINING not in {cell.world for cell in found}
    assert World.JOINING in {cell.world for cell in cells(preset("textbook-straggler"))}
    assert {cell.replication for cell in cells(tight, read_trace(APART.encode(), "pair.csv"))} == {0}


def test_a_world_is_known_once_all_its_runs_and_those_as_it_is_are_there(tight):
    found = {cell: Impossible("") for cell in cells(tight) if cell.world in (World.AS_IS, World.NO_VARIANCE)}
    assert has_all(found, World.NO_VARIANCE, tight)
    assert not has_all(found, World.TAIL_CUT, tight)
    del found[Cell(World.AS_IS, Point.SATURATED, 1)]
    assert not has_all(found, World.NO_VARIANCE, tight)


def test_interval_is_students_of_the_logarithms():
    # ratios e^0.1 and e^0.3: mean log 0.2, standard error 0.1, and t(1) at 97.5 % is 12.7062
    found = gain_of([math.exp(0.1), math.exp(0.3)])
    assert found.mean == pytest.approx(math.exp(0.2) - 1)
    assert found.low == pytest.approx(math.exp(0.2 - 1.27062) - 1, rel=1e-5)
    assert found.high == pytest.approx(math.exp(0.2 + 1.27062) - 1, rel=1e-5)
    assert found.replications == 2


def test_one_replication_has_no_interval():
    found = gain_of([1.5])
    assert found.mean == pytest.approx(0.5)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_gains_pair_replications_and_leave_out_what_is_missing():
    def row(tokens):
        return Measured(tokens, math.nan, 1.0, 0.0)

    found = {
        Cell(World.AS_IS, Point.SATURATED, 0): row(100.0),
        Cell(World.AS_IS, Point.SATURATED, 1): row(200.0),
        Cell(World.TAIL_CUT, Point.SATURATED, 0): row(110.0),
        Cell(World.NO_VARIANCE, Point.SATURATED, 0): Impossible("why not"),
    }
    assert gain(found, World.TAIL_CUT, Point.SATURATED, "output_tokens_per_s").mean == pytest.approx(0.1)
    assert gain(found, World.TAIL_CUT, Point.SATURATED, "output_tokens_per_s").replications == 1
    assert gain(found, World.TAIL_CUT, Point.SATURATED, "tpot_p99_s") is None
    assert gain(found, World.TAIL_CUT, Point.SATURATED, "goodput_rps") is None  # from nothing
    assert gain(found, World.NO_VARIANCE, Point.SATURATED, "output_tokens_per_s") is None
