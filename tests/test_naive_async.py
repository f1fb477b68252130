"""The naive asynchronous loop: cases worked by hand, and what must hold in any run of it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.engine.inputs import Batching, Order, Requests, Reserve, Rules, StepTime
from tests.naive.asynchronous import NaiveAsyncRun, simulate
from tests.naive.synchronous import simulate as simulate_synchronous
from tests.naive.vllm import VllmScheduler
from tests.scenarios import MAX_CALLS, Scenario, vllm_scenarios

UNIT = StepTime(np.ones(2), 0.0, 0.0, 0.0)  # every step takes one second
RULES = Rules(Batching.ITERATION, Order.FCFS, Reserve.CHUNK, 0, 0, 0.0, 4, 100, 8, 64, 1000, 1, 0, 0, 0, 0)


def run(
    rules: Rules, prompt_len: list[int], output_len: list[int], arrival_s: list[float], *, cap: int, pause: float = 0.0
) -> NaiveAsyncRun:
    """Requests whose end the scheduler foresees at `cap` tokens."""
    n = len(prompt_len)
    zeros, none = np.zeros(n, np.int64), np.zeros(0, np.int64)
    prompts, outputs = np.array(prompt_len, np.int64), np.array(output_len, np.int64)
    caps = np.full(n, cap, np.int64)
    starts = np.zeros(n + 1, np.int64)
    requests = Requests(np.array(arrival_s), prompts, outputs, caps, zeros, zeros, starts, none, none, 0)
    return simulate(rules, requests, UNIT, pause=pause)


def test_call_is_made_while_the_step_before_it_is_computed() -> None:
    calls = run(RULES, [5], [3], [0.0], cap=3).calls
    assert [(call.called, call.start, call.end) for call in calls] == [(0, 0, 1), (0, 1, 2), (1, 2, 3)]
    assert [call.placeholders for call in calls] == [1, 2, 2]
    assert [call.applied_after for call in calls] == [1, 2, 2]


def test_end_that_nobody_foresees_costs_one_more_token() -> None:
    calls = run(RULES, [5], [3], [0.0], cap=100).calls
    assert [call.applied.finished for call in calls] == [[], [], [0], []]
    assert [call.applied.dropped for call in calls] == [[], [], [], [0]]


def test_last_token_at_the_longest_context_is_foreseen_by_everybody() -> None:
    calls = run(RULES._replace(max_model_len=8), [5], [3], [0.0], cap=100).calls
    assert [call.applied.finished for call in calls] == [[], [], [0]]


def test_arrival_waits_for_the_step_in_progress_and_the_one_already_scheduled() -> None:
    calls = run(RULES, [5, 5], [9, 1], [0.0, 2.5], cap=9).calls
    first = next(call for call in calls if any(chunk.id == 1 for chunk in call.scheduled))
    assert (first.called, first.start) == (3.0, 4.0)


def test_finished_request_keeps_its_slot_for_one_more_call() -> None:
    # the only slot: the second is admitted after the outputs of the last step (its end, 2), not at its start
    one_slot = RULES._replace(max_num_seqs=1)
    calls = run(one_slot, [5, 5], [2, 2], [0.0, 0.0], cap=2).calls
    assert [[chunk.id for chunk in call.scheduled] for call in calls] == [[0], [0], [1], [1]]
    assert [call.called for call in calls] == [0.0, 0.0, 2.0, 2.0]


def test_preempted_request_gets_the_token_that_was_on_its_way() -> None:
    # 4 blocks of 4 tokens; both decode from 8 tokens each (2 blocks); at 9 tokens both want a third block
    tight = RULES._replace(usable_blocks=4)
    result = run(tight, [7, 7], [6, 6], [0.0, 0.0], cap=6)
    with_victim = next(call for call in result.calls if call.preempted)
    assert with_victim.preempted == [(1, 8)]  # computed, the token in flight included
    before = result.calls[result.calls.index(with_victim) - 1]
    assert before.applied.late == [1]
    assert [len(each) for each in result.token_times] == [6, 6]


def test_pause_delays_the_call_after_an_iteration_that_executed_nothing() -> None:
    # the last step of the first is called at 0 and ends at 2; an empty call at 1 waits for it, then pauses until 2.5
    calls = run(RULES, [5, 5], [2, 2], [0.0, 2.2], cap=2, pause=0.5).calls
    assert [call.called for call in calls] == [0.0, 0.0, 2.5, 2.5]


def test_run_that_nobody_can_be_served_in_ends() -> None:
    never_fits = RULES._replace(usable_blocks=1, reserve_full_isl=1)
    result = run(never_fits, [5], [1], [0.0], cap=1)
    assert result.calls == []
    assert not result.members[0].is_done


@settings(max_examples=100)
@given(vllm_scenarios(), st.sampled_from([0.0, 0.001, 2.0]))
def test_memory_and_tokens_are_accounted_for_at_every_moment(scenario: Scenario, pause: float) -> None:
    def check(start: float, end: float, scheduler: VllmScheduler) -> None:
        assert start < end
        blocks = scheduler.blocks
        held = [block for member in scheduler.running for block in member.blocks]
        assert len(set(held)) + len(blocks.free) == scheduler.rules.usable_blocks
        assert sorted({*held, *blocks.free}) == list(range(1, scheduler.rules.usable_blocks + 1))
        for member in scheduler.waiting:
            assert (member.computed, member.ahead, member.in_flight) == (0, 0, 0)
        for member in scheduler.running:
            assert member.computed <= member.known + member.ahead

    result = simulate(*scenario, pause=pause, max_calls=MAX_CALLS, observe=check)
    for member, times in zip(result.members, result.token_times, strict=True):
        assert len(times) == member.emitted
        assert times == sorted(times)
    if result.num_calls < MAX_CALLS:
        assert all(member.is_done or member.is_rejected for member in result.members)


@settings(max_examples=50)
@given(vllm_scenarios())
def test_lone_requests_get_their_tokens_when_the_synchronous_loop_gives_them(scenario: Scenario) -> None:
    # far apart, nobody is in the other's way, and a step begins when the one before it ends
    requests = scenario.requests
    n = len(requests.prompt_len)
    apart = requests._replace(arrival_s=np.arange(n, dtype=np.float64) * 10_000, users=0)
    rules = scenario.rules._replace(max_num_batched_tokens=1000, prefix_caching=0)
    expected = simulate_synchronous(rules, apart, scenario.step_time, max_calls=MAX_CALLS)
    if math.isinf(expected.duration) or len(expected.calls) == MAX_CALLS:
        return
    own = simulate(rules, apart, scenario.step_time, max_calls=2 * MAX_CALLS)
    for times, expected_times in zip(own.token_times, expected.token_times, strict=True):
        assert times == pytest.approx(expected_times, rel=1e-12)
