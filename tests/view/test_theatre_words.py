"""A run in words: from scenarios small enough to follow by hand."""

import json

import pytest

from sim.presets import preset
from sim.scenario import with_values
from sim.studies.theatre import State
from sim.studies.theatre_play import MAX_REQUESTS, first_steps, play
from sim.view.theatre import STATE_STYLE, payload
from sim.view.theatre_words import bounds, lines, story, verdict
from sim.workload import read_trace

HEAD = "arrival_s,prompt_tokens,output_tokens\n"


def tiny(rows, **values):
    """vLLM on a handful of blocks of one token each, every iteration 10 ms."""
    settings = {
        "workload.arrivals": {"kind": "trace", "speed": 1.0},
        "workload.types": [{"name": "a"}],
        "workload.num_requests": 100,
        "cost.source": "constant",
        "cost.step_ms": 10.0,
        "deployment.block_size": 1,
        "scheduler.system": "vllm_v1",
        "scheduler.enable_prefix_caching": False,
        "scheduler.async_scheduling": False,
    }
    return play(with_values(preset("chat"), settings | values), read_trace((HEAD + rows).encode(), "t.csv"))


@pytest.fixture
def preemption():
    """Six blocks; two prompts of 2 tokens, 3 answers each.

    Step 0 computes both prompts (4 blocks) and brings a token each; step 1 takes a block for each (6 of 6) and brings
    the second. In step 2 request 0 finds no block: request 1 goes, its 3 tokens are lost; request 0 has a fourth block
    and its last token. In step 3 request 1 computes its 2 + 2 tokens, three of them again, and is done as well.
    """
    return tiny("0,2,3\n0,2,3\n", **{"deployment.num_gpu_blocks_override": 7, "deployment.max_model_len": 6})


def test_a_preemption_says_who_why_and_what_is_lost(preemption):
    assert [tuple(line) for line in lines(preemption)] == [
        (0, "requests 0 and 1 join with 4 prompt tokens"),
        (1, "2 decode"),
        (2, "no free block, request 1 preempted, 3 tokens to recompute; 1 decode; request 0 done after 3 tokens"),
        (3, "request 1 back, 4 tokens computed again; request 1 done after 3 tokens"),
    ]


def test_the_run_in_a_sentence(preemption):
    assert verdict(preemption) == (
        "2 requests in 4 steps: 1 preemption, 3 tokens computed again; worst stall: request 1 waits 20 ms for a token."
    )
    assert bounds(preemption) == "The first 2 requests of the scenario, arriving as asked; all 4 steps."


def test_a_request_has_a_story(preemption):
    assert story(preemption, 0) == (
        "Request 0: 2 prompt and 3 output tokens; arrived at 0 ms; waited 0 ms; first token after 10 ms; "
        "longest gap 10 ms; done at 30 ms."
    )
    assert "preempted once, 3 tokens computed again; longest gap 20 ms; done at 40 ms." in story(preemption, 1)


def test_the_player_is_told_where_to_jump_and_what_each_does(preemption):
    told = payload(preemption)
    assert told["jumps"] == {"preemptions": [2], "stall": [3, 1, 1]}
    assert told["steps"]["free"] == [2, 0, 2, 2]
    assert told["steps"]["end"] == [10.0, 20.0, 30.0, 40.0]
    assert told["queues"] == [[2, [1]], [3, []]]
    assert told["queueOrder"] == "first to be served first"
    lane, prompt, output, _, _, flat = told["requests"][1]
    assert (lane, prompt, output) == (1, 2, 3)
    assert flat == [
        *(0, 0, State.PREFILL, 2, 0), *(1, 1, State.DECODE, 3, 0), *(2, 2, State.PREEMPTED, 0, 0),
        *(3, 3, State.RECOMPUTE, 4, 0),
    ]  # fmt: skip
    assert json.loads(json.dumps(told)) == told
    assert len(told["states"]) == len(State) == len(STATE_STYLE)


def test_what_is_swapped_out_is_not_to_be_recomputed():
    tight = {"deployment.num_gpu_blocks_override": 7, "deployment.max_model_len": 6}
    run = tiny("0,2,3\n0,2,3\n", **tight, **{"scheduler.preemption_mode": "swap"})
    told = next(line.text for line in lines(run) if "preempted" in line.text)
    assert told.startswith("no free block, request 1 preempted, 3 tokens swapped out; 1 decode")
    assert payload(run)["queueOrder"] == "in order of arrival"
    ranked = tiny("0,2,3\n0,2,3\n", **tight, **{"scheduler.system": "srtf"})
    assert any(line.text.startswith("request 1 preempted") for line in lines(ranked))


def test_a_long_prompt_comes_in_chunks():
    run = tiny("0,10,2\n", **{"scheduler.max_num_batched_tokens": 4, "scheduler.max_num_seqs": 4})
    assert [tuple(line) for line in lines(run)] == [
        (0, "request 0 joins with 4 prompt tokens, 4 of 10 done"),
        (1, "request 0: 4 prompt tokens, 8 of 10 done"),
        (2, "request 0: 2 prompt tokens, 10 of 10 done"),
        (3, "1 decode; request 0 done after 2 tokens"),
    ]
    assert "no preemption" in verdict(run)


def test_many_are_counted_and_quiet_steps_share_a_line():
    run = tiny("0,1,9\n" * 5)
    assert [tuple(line) for line in lines(run)] == [
        (0, "5 requests join with 5 prompt tokens"),
        (1, "5 decode"),
        (8, "5 decode; 5 requests done"),
    ]


def test_members_of_a_held_batch_are_counted():
    batch = {"scheduler.system": "static", "scheduler.hold": True, "workload.types": [{"name": "a", "cap": 4}]}
    run = tiny("0,1,1\n0,1,3\n", **batch)
    assert [tuple(line) for line in lines(run)] == [
        (0, "requests 0 and 1 join with 2 prompt tokens; request 0 done after 1 token"),
        (1, "1 decode; 1 finished but held"),
        (2, "1 decode; 1 finished but held; request 1 done after 3 tokens"),
    ]
    assert run.stall is None  # all tokens of an answer come at once
    assert verdict(run) == "2 requests in 3 steps: no preemption; 2 slot-steps of finished members in held batches."


def test_a_prefix_that_is_there_already_is_said():
    shared = {"name": "a", "prompt": {"kind": "constant", "tokens": 8}, "output": {"kind": "constant", "tokens": 1},
              "shared_prefix_tokens": 6}  # fmt: skip
    scenario = with_values(
        preset("chat"),
        {
            "workload.types": [shared], "workload.num_requests": 2, "deployment.block_size": 2,
            "workload.arrivals": {"kind": "poisson", "rate_rps": 0.01},
            "scheduler.enable_prefix_caching": True, "scheduler.async_scheduling": False,
            "cost.source": "constant",
        },
    )  # fmt: skip
    told = [line.text for line in lines(play(scenario))]
    assert told[0] == "request 0 joins with 8 prompt tokens; request 0 done after 1 token"
    assert told[1].startswith("request 1 joins with 2 prompt tokens, 8 of 8 done, 6 found in the prefix cache")


def test_a_rejected_request_says_so():
    run = tiny("0,50,3\n0,2,1\n", **{"deployment.max_model_len": 16})
    assert story(run, 0).endswith("rejected, it could never fit.")
    assert run.found[0].segments == []
    assert payload(run)["requests"][0][0] == -1


def test_only_the_first_requests_of_a_scenario_are_played():
    run = play(with_values(preset("chat"), {"workload.num_requests": 5000}), num_requests=5000)
    assert len(run.found) == MAX_REQUESTS
    trace = read_trace((HEAD + "".join(f"{i},5,2\n" for i in range(40))).encode(), "t.csv")
    asked = with_values(preset("chat"), {"workload.arrivals": {"kind": "trace", "speed": 1.0}})
    assert len(play(asked, trace, num_requests=20).found) == 20
    assert len(play(asked, trace, num_requests=20, is_saturated=True).found) == 20


def test_a_long_run_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr("sim.studies.theatre_play.MAX_STEPS", 3)
    run = tiny("0,1,9\n0,1,2\n")
    assert bounds(run).endswith("its first 3 of 9 steps.")
    assert [life.finished for life in run.found] == [-1, 1]
    assert lines(run)[-1].text == "1 decode"
    assert run.found[0].segments[-1].last == 2
    cut = first_steps(run.table, 2)
    assert len(cut.scheduled) == cut.scheduled_start[-1] == 4
    assert cut.finished.tolist() == [1]


def test_who_is_displaced_waits_with_its_memory_as_the_table_counts_it():
    shown = play(with_values(preset("burst"), {"scheduler": {"system": "rank"}}), num_requests=60)
    line = next(each.text for each in reversed(lines(shown)) if each.first <= 31)
    assert (shown.table.running[31], shown.table.waiting[31]) == (1, 6)
    assert "6 wait with KV in memory" in line
    assert "without a token" not in line
