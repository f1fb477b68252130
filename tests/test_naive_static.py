"""The naive static batching, which no golden covers, against cases worked by hand."""

import numpy as np
import pytest

from sim.engine.inputs import Batching, Order, Requests, Reserve, Rules, StepTime
from tests.naive.synchronous import NaiveRun, simulate

UNIT = StepTime(np.ones(2), 0.0, 0.0, 0.0)  # every step takes one second
RULES = Rules(Batching.REQUEST, Order.FCFS, Reserve.CAP, 1, 1, 0.0, 1, 1000, 4, 8192, 500, 1, 0, 0, 0, 0)


def run(
    rules: Rules, prompt_len: list[int], output_len: list[int], arrival_s: list[float], step_time: StepTime = UNIT
) -> NaiveRun:
    n = len(prompt_len)
    zeros, none = np.zeros(n, np.int64), np.zeros(0, np.int64)
    prompts, outputs = np.array(prompt_len, np.int64), np.array(output_len, np.int64)
    starts = np.zeros(n + 1, np.int64)
    arrivals = np.array(arrival_s, np.float64)
    return simulate(
        rules, Requests(arrivals, prompts, outputs, outputs, zeros, zeros, starts, none, none, 0), step_time
    )


def test_batch_delivery_hands_everything_over_at_the_end_of_the_batch() -> None:
    times = run(RULES, [5, 5], [3, 10], [0, 0]).token_times
    assert times == [[10.0] * 3, [10.0] * 10]


def test_streaming_hands_tokens_over_as_they_are_produced_and_keeps_the_slot() -> None:
    held = run(RULES._replace(batch_delivery=0, max_num_seqs=2), [5, 5, 5], [2, 4, 1], [0, 0, 0])
    assert held.token_times == [[1.0, 2.0], [1.0, 2.0, 3.0, 4.0], [5.0]]
    assert [call.running for call in held.calls] == [2, 2, 2, 2, 1]


def test_without_hold_a_finished_member_frees_its_memory_and_nobody_joins() -> None:
    freed = run(RULES._replace(hold=0, batch_delivery=0, max_num_seqs=2), [5, 5, 5], [2, 4, 1], [0, 0, 0])
    assert [call.running for call in freed.calls] == [2, 2, 1, 1, 1]
    assert [call.free_end for call in freed.calls] == [984, 991, 991, 1000, 1000]  # 5 + 2 and 5 + 4 reserved
    assert freed.token_times[2] == [5.0]


def test_batch_takes_the_oldest_that_fit_and_nobody_overtakes() -> None:
    # needs of 400, 700 and 100 in a memory of 1000: the third would fit beside the first
    calls = run(RULES, [399, 499, 99], [1, 201, 1], [0, 0, 0]).calls
    assert [chunk.id for chunk in calls[0].scheduled] == [0]
    assert [chunk.id for chunk in calls[1].scheduled] == [1, 2]


def test_reservation_of_the_longest_sequence_lets_fewer_in() -> None:
    calls = run(RULES._replace(reserve=Reserve.MAX_MODEL_LEN), [5, 5, 5], [1, 1, 1], [0, 0, 0]).calls
    assert [call.running for call in calls] == [2, 1]  # 500 blocks each of 1000


def test_server_waits_for_a_full_batch_but_not_longer_than_told() -> None:
    rules = RULES._replace(batch_wait_s=4.0, max_num_seqs=2)
    starts = [call.start for call in run(rules, [1, 1, 1, 1], [1, 1, 1, 1], [0.0, 3.0, 10.0, 20.0]).calls]
    assert starts == [3.0, 14.0, 20.0]  # full; after 4 s; nobody else will come


def test_finished_members_of_a_held_batch_are_computed_on() -> None:
    # a second per token and a tenth per KV token read: prompts of 3 and 2, answers of 1 and 3
    per_token = StepTime(np.arange(20.0), 0.0, 0.1, 0.0)
    calls = run(RULES, [3, 2], [1, 3], [0, 0], per_token).calls
    durations = [call.end - call.start for call in calls]
    # 5 prompt tokens; then 2 tokens a step, the finished one with its 3 KV tokens, the other with 3 and 4
    assert durations == pytest.approx([5.0, 2.6, 2.7], rel=1e-12)
    assert [[chunk.id for chunk in call.scheduled] for call in calls] == [[0, 1], [1], [1]]
    assert [call.finished for call in calls] == [[0], [], [1]]


def test_request_that_can_never_run_is_rejected() -> None:
    rejected = run(RULES, [5, 500], [1, 1], [0, 0])
    assert [member.is_rejected for member in rejected.members] == [False, True]
    too_large = run(RULES._replace(usable_blocks=10), [5, 10], [1, 1], [0, 0])
    assert [member.is_rejected for member in too_large.members] == [False, True]
