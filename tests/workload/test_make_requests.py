"""From a scenario or a trace to the engine's rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.engine.inputs import SHARED_TEXT
from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.workload import make_requests, read_trace
from sim.workload.prefixes import Segments

ROOM = 1_000_000  # max_model_len that cuts nothing


def scenario(arrivals=None, types=None, num_requests=200, mix="random", **values):
    workload = {"num_requests": num_requests, "mix": mix, "types": types or [task()]}
    workload["arrivals"] = arrivals or {"kind": "poisson", "rate_rps": 2}
    return Scenario.model_validate({"workload": workload, **values})


def task(name="chat", prompt=None, output=None, **values):
    return {
        "name": name,
        "prompt": prompt or {"kind": "lognormal", "mean": 500, "cv": 1},
        "output": output or {"kind": "lognormal", "mean": 100, "cv": 1},
        **values,
    }


def lengths_by_hand(tokens):
    """Lengths that run through `tokens`, equally likely, so that every one of them comes up."""
    return {"kind": "uniform", "low": min(tokens), "high": max(tokens)}


def trace(*rows, header="arrival_s,prompt_tokens,output_tokens"):
    return read_trace("\n".join([header, *rows]).encode())


@given(rate=st.floats(0.1, 1000))
def test_rate_keeps_the_length_of_every_request(rate):
    requests, info = make_requests(scenario(), max_model_len=ROOM)
    faster, faster_info = make_requests(scenario({"kind": "poisson", "rate_rps": rate}), max_model_len=ROOM)
    assert np.array_equal(requests.prompt_len, faster.prompt_len)
    assert np.array_equal(info.true_len, faster_info.true_len)


@given(cv=st.floats(0.1, 5), prompt_mean=st.floats(10, 5000), correlation=st.floats(-1, 1))
def test_cv_keeps_the_rank_of_every_request(cv, prompt_mean, correlation):
    before = scenario(types=[task(correlation=correlation)])
    changed = task(
        output={"kind": "lognormal", "mean": 100, "cv": cv},
        prompt={"kind": "lognormal", "mean": prompt_mean, "cv": 1},
        correlation=correlation,
    )
    one = make_requests(before, max_model_len=ROOM)[1].true_len
    other = make_requests(scenario(types=[changed]), max_model_len=ROOM)[1].true_len
    assert np.all(np.diff(other[np.lexsort((other, one))]) >= 0)


def test_more_requests_leave_the_first_ones_as_they_are():
    types = [task("a", share=3), task("b", correlation=0.5, shared_prefix_tokens=50, num_prefixes=4)]
    few, few_info = make_requests(scenario(types=types, num_requests=50), max_model_len=ROOM)
    many, many_info = make_requests(scenario(types=types, num_requests=80), max_model_len=ROOM)
    for name in ("arrival_s", "prompt_len", "output_len", "cap"):
        assert np.array_equal(getattr(few, name), getattr(many, name)[:50])
    assert np.array_equal(few_info.type_id, many_info.type_id[:50])
    assert np.array_equal(few_info.prefix_group, many_info.prefix_group[:50])


def test_same_scenario_gives_the_same_requests_and_another_replication_gives_others():
    first, again, other = (make_requests(scenario(), max_model_len=ROOM, replication=k)[0] for k in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert np.mean(first.prompt_len == other.prompt_len) < 0.1
    assert not np.array_equal(first.arrival_s, other.arrival_s)


def test_changing_one_type_leaves_the_other_type_alone():
    a, b = task("a"), task("b")
    changed = task("b", output={"kind": "constant", "tokens": 7})
    before, info = make_requests(scenario(types=[a, b]), max_model_len=ROOM)
    after, _ = make_requests(scenario(types=[a, changed]), max_model_len=ROOM)
    is_a = info.type_id == 0
    assert np.array_equal(before.output_len[is_a], after.output_len[is_a])
    assert np.all(after.output_len[~is_a] == 7)


def test_cap_cuts_long_answers_and_marks_them():
    output = lengths_by_hand([8, 9, 10, 11, 12])
    requests, info = make_requests(scenario(types=[task(output=output, cap=10)]), max_model_len=ROOM)
    assert set(info.true_len) == {8, 9, 10, 11, 12}
    assert np.array_equal(requests.output_len, np.minimum(info.true_len, 10))
    assert np.array_equal(info.is_truncated, info.true_len > 10)
    assert np.all(requests.cap == 10)


def test_max_model_len_cuts_answers_and_rejects_prompts_without_room():
    types = [task(prompt=lengths_by_hand([98, 99, 100, 101]), output={"kind": "constant", "tokens": 2})]
    requests, info = make_requests(scenario(types=types), max_model_len=100)
    by_prompt = {
        prompt: (out, cap, bool(rejected), bool(truncated))
        for prompt, out, cap, rejected, truncated in zip(
            requests.prompt_len, requests.output_len, requests.cap, info.is_rejected, info.is_truncated, strict=True
        )
    }
    assert by_prompt == {
        98: (2, 2, False, False),
        99: (1, 1, False, True),
        100: (1, 1, True, False),
        101: (1, 1, True, False),
    }


def test_without_a_cap_the_scheduler_must_expect_the_longest_answer_there_is_room_for():
    types = [task(prompt={"kind": "constant", "tokens": 300})]
    requests, _ = make_requests(scenario(types=types), max_model_len=1000)
    assert np.all(requests.cap == 700)


def test_stragglers_lie_strictly_above_the_tail_quantile():
    types = [task("short", {"kind": "constant", "tokens": 1}, {"kind": "constant", "tokens": 100}, share=31)]
    types.append(task("long", {"kind": "constant", "tokens": 1}, {"kind": "constant", "tokens": 2000}))
    requests, info = make_requests(scenario(types=types, num_requests=32, mix="exact"), max_model_len=ROOM)
    assert requests.is_straggler.sum() == 1
    assert requests.output_len[requests.is_straggler == 1] == [2000]
    assert info.type_names[info.type_id[requests.is_straggler == 1][0]] == "long"
    everyone_alike = scenario(types=types[:1], num_requests=32)
    assert make_requests(everyone_alike, max_model_len=ROOM)[0].is_straggler.sum() == 0


def test_straggler_limit_moves_with_the_tail_quantile():
    for quantile in (0.5, 0.9):
        requests, _ = make_requests(scenario(tail_quantile=quantile), max_model_len=ROOM)
        limit = np.sort(requests.output_len)[int(np.ceil(199 * quantile))]  # 200 requests, position 199 q
        assert np.array_equal(requests.is_straggler == 1, requests.output_len >= limit)


def test_priority_is_that_of_the_type():
    types = [task("urgent", priority=-5), task("later", priority=3)]
    requests, info = make_requests(scenario(types=types), max_model_len=ROOM)
    assert np.array_equal(requests.priority, np.where(info.type_id == 0, -5, 3))


def test_shared_prefix_becomes_the_prompts_first_segment():
    types = [task(prompt={"kind": "constant", "tokens": 80}, shared_prefix_tokens=64, num_prefixes=3)]
    requests, info = make_requests(scenario(types=types), max_model_len=ROOM)
    assert np.array_equal(requests.segment_start, np.arange(201))
    assert np.all(requests.segment_len == 64)
    assert np.array_equal(requests.segment_content, SHARED_TEXT + info.prefix_group)
    assert set(info.prefix_group) == {0, 1, 2}


def test_closed_loop_hands_over_users_and_think_times():
    arrivals = {"kind": "closed_loop", "concurrency": 8, "think_time_s": 2}
    requests, _ = make_requests(scenario(arrivals), max_model_len=ROOM)
    assert requests.users == 8
    assert requests.arrival_s.tolist() == [0.0] * 8 + [2.0] * 192


def test_every_array_has_the_type_the_engine_asks_for():
    types = [task("a"), task("b", shared_prefix_tokens=5)]
    for requests, _ in (
        make_requests(scenario(types=types), max_model_len=ROOM),
        make_requests(scenario(types=types), trace("0,5,5"), max_model_len=ROOM),
    ):
        for name, column in requests._asdict().items():
            if name not in ("users", "again", "retry_s"):  # of whom nobody asks again
                assert column.dtype == (np.float64 if name == "arrival_s" else np.int64), name
        assert isinstance(requests.users, int)


def test_trace_replaces_arrivals_and_lengths():
    requests, info = make_requests(scenario(), trace("5,100,10", "7.5,50,20"), max_model_len=ROOM)
    assert requests.arrival_s.tolist() == [0, 2.5]
    assert requests.prompt_len.tolist() == [100, 50]
    assert requests.output_len.tolist() == info.true_len.tolist() == [10, 20]
    assert info.type_names == ("chat",)
    assert requests.cap.tolist() == [ROOM - 100, ROOM - 50]


def test_speed_compresses_the_arrivals_of_a_trace():
    arrivals = {"kind": "trace", "speed": 4}
    requests, _ = make_requests(scenario(arrivals), trace("0,1,1", "10,1,1"), max_model_len=ROOM)
    assert requests.arrival_s.tolist() == [0, 2.5]


def test_trace_types_take_cap_priority_and_prefix_of_the_type_of_their_name_or_else_of_the_first():
    types = [task("chat", cap=5, shared_prefix_tokens=8), task("code", cap=7, priority=2)]
    rows = trace("0,20,50,code", "1,20,50,chat", "2,20,50,other", header="arrival_s,prompt_tokens,output_tokens,type")
    requests, info = make_requests(scenario(types=types), rows, max_model_len=ROOM)
    assert info.type_names == ("code", "chat", "other")
    assert requests.output_len.tolist() == [7, 5, 5]
    assert requests.priority.tolist() == [2, 0, 0]
    assert requests.segment_start.tolist() == [0, 0, 1, 2]
    assert info.is_truncated.tolist() == [True] * 3


def test_shared_texts_of_the_trace_itself_come_before_those_of_the_scenario():
    own = Segments(start=np.array([0, 1, 1]), content=np.array([SHARED_TEXT + 7]), length=np.array([3]))
    rows = replace(trace("0,5,5", "1,5,5"), segments=own)
    requests, info = make_requests(scenario(types=[task(shared_prefix_tokens=4)]), rows, max_model_len=ROOM)
    assert requests.segment_start.tolist() == [0, 1, 1]
    assert requests.segment_content.tolist() == [SHARED_TEXT + 7]
    assert requests.segment_len.tolist() == [3]
    assert info.prefix_group.tolist() == [-1, -1]


def test_trace_without_arrivals_comes_as_the_scenario_says():
    rows = trace("0,1,1", "10,2,2", "11,3,3").without_arrivals()
    requests, _ = make_requests(scenario({"kind": "all_at_once"}), rows, max_model_len=ROOM)
    assert requests.arrival_s.tolist() == [0, 0, 0]
    assert requests.prompt_len.tolist() == [1, 2, 3]
    users = make_requests(scenario({"kind": "closed_loop", "concurrency": 2}), rows, max_model_len=ROOM)[0].users
    assert users == 2


def test_trace_without_arrivals_cannot_be_replayed_as_a_trace():
    rows = trace("0,1,1").without_arrivals()
    with pytest.raises(ScenarioError, match=r"^workload\.arrivals\.kind is 'trace'; trace has lengths only"):
        make_requests(scenario({"kind": "trace"}), rows, max_model_len=ROOM)


def test_trace_arrivals_without_a_trace_are_refused():
    with pytest.raises(ScenarioError, match=r"^workload\.arrivals\.kind is 'trace'; a trace file"):
        make_requests(scenario({"kind": "trace"}), max_model_len=ROOM)
