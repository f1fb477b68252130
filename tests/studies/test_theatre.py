"""A run put back together from its step table: against the naive simulator's members and queues, and by hand."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim import engine
from sim.engine.inputs import Order
from sim.presets import preset
from sim.result import Result
from sim.scenario import with_values
from sim.studies.theatre import Requests, Segment, State, lives
from sim.studies.theatre_play import play, play_of
from sim.studies.theatre_scene import OUT, lanes, queues, worst_stall
from sim.systems.build import plan_of
from sim.systems.run import run_plan
from tests.general_scenarios import drawn
from tests.naive import synchronous as naive
from tests.scenarios import MAX_CALLS, Scenario, static_scenarios, vllm_scenarios
from tests.test_naive_general import FAMILIES, Family


def put_together(scenario: Scenario, *, is_async: bool = False):
    rules = scenario.rules._replace(is_async=int(is_async))
    run = engine.run(rules, scenario.requests, scenario.step_time, max_calls=MAX_CALLS, record_steps=True)
    asked = scenario.requests
    requests = Requests(
        run.outcome.arrival_s,
        asked.prompt_len,
        asked.output_len,
        asked.priority if rules.order == Order.PRIORITY else np.zeros_like(asked.priority),
        run.outcome.status == engine.Status.REJECTED,
    )
    found = lives(run.steps, requests, is_held=bool(rules.hold), columns=run.async_columns)
    return run, requests, found


def at(life, step):
    """The segment of a step; at most one."""
    here = [segment for segment in life.segments if segment.first <= step <= segment.last]
    assert len(here) <= 1
    return here[0] if here else None


def assert_counts(run, found, rules):
    for step in range(len(run.steps.start_s)):
        here = [segment for life in found if (segment := at(life, step)) is not None]
        is_waiting = [segment.state in OUT for segment in here]
        assert sum(is_waiting) == run.steps.waiting[step]
        assert len(here) - sum(is_waiting) == run.steps.running[step]
        if not rules.prefix_caching and rules.reserve == engine.Reserve.CHUNK:
            held = sum(-(-(s.computed + s.growth * (step - s.first)) // rules.block_size) for s in here)
            assert rules.usable_blocks - held == run.steps.free_scheduled[step]


@settings(max_examples=150)
@given(vllm_scenarios())
def test_everybody_is_where_the_table_counts_them(scenario: Scenario) -> None:
    run, _, found = put_together(scenario)
    assert_counts(run, found, scenario.rules)


@settings(max_examples=100)
@given(static_scenarios())
def test_members_of_a_batch_are_where_the_table_counts_them(scenario: Scenario) -> None:
    run, _, found = put_together(scenario)
    assert_counts(run, found, scenario.rules)


@pytest.mark.parametrize("family", FAMILIES, ids=[family.name for family in FAMILIES])
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_members_and_queue_of_every_family_are_where_the_table_counts_them(family: Family, data) -> None:
    example = data.draw(drawn(family.system, family.knobs, family.predictors))
    plan = plan_of(example.scenario, example.resolved, example.requests, example.info, example.step_time)
    run = run_plan(plan, example.requests, example.step_time, record_steps=True)
    result = Result(example.scenario, example.resolved, example.requests, example.info, run)
    shown = play_of(result)
    queue: list[int] = []
    changes = dict(shown.queues)
    for step in range(len(run.steps.start_s)):
        here = [segment.state for life in shown.found if (segment := at(life, step)) is not None]
        assert sum(state in OUT for state in here) == run.steps.waiting[step]
        assert sum(state not in OUT for state in here) == run.steps.running[step]
        queue = changes.get(step, queue)
        assert len(queue) == len(set(queue)) == run.steps.waiting[step]


@settings(max_examples=40)
@given(
    name=st.sampled_from(["memory-pressure", "burst", "rag"]),
    values=st.fixed_dictionaries(
        {
            "seed": st.integers(0, 999),
            "workload.arrivals.rate_rps": st.sampled_from([2.0, 8.0, 40.0]),
            "scheduler": st.builds(
                lambda is_serial, seats: {
                    "system": "sglang",
                    "max_num_seqs": seats,
                    "sglang": {"disable_overlap_schedule": is_serial},
                },
                st.booleans(),
                st.sampled_from([3, 256]),
            ),
        }
    ),
)
def test_members_and_queue_of_sglang_are_where_the_table_counts_them(name: str, values: dict[str, object]) -> None:
    shown = play(with_values(preset(name), values), num_requests=25)
    num_steps = len(shown.table.start_s)
    counted = {is_waiting: np.zeros(num_steps, np.int64) for is_waiting in (False, True)}
    for life in shown.found:
        for segment in life.segments:
            is_waiting = segment.state in OUT
            counted[is_waiting][segment.first : segment.last + 1] += 1
    assert counted[False].tolist() == shown.table.running.tolist()
    assert counted[True].tolist() == shown.table.waiting.tolist()


@settings(max_examples=100)
@given(vllm_scenarios())
def test_members_of_an_asynchronous_run_are_where_the_table_counts_them(scenario: Scenario) -> None:
    run, _, found = put_together(scenario, is_async=True)
    for step in range(len(run.steps.start_s)):
        here = [segment for life in found if (segment := at(life, step)) is not None]
        assert sum(s.state not in OUT for s in here) == run.steps.running[step]


@settings(max_examples=150)
@given(vllm_scenarios())
def test_queue_and_tokens_are_those_of_the_naive_simulator(scenario: Scenario) -> None:
    run, requests, found = put_together(scenario)
    waiting: list[list[int]] = []

    def look(moment: naive.Moment) -> None:
        if moment.is_call:
            waiting.append([member.id for member in moment.scheduler.waiting])

    expected = naive.simulate(*scenario, max_calls=MAX_CALLS, observe=look)
    rules = scenario.rules
    is_reversed = rules.skip_oversized and not rules.chunked_prefill and rules.order == Order.FCFS  # who is passed over
    changes = dict(queues(found, requests, run.steps, by_arrival=bool(is_reversed)))
    now: list[int] = []
    for step, ids in enumerate(waiting):
        now = changes.get(step, now)
        assert now == (sorted(ids) if is_reversed else ids)
    for life, times in zip(found, expected.token_times, strict=True):
        assert run.steps.end_s[life.token_steps].tolist() == times


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [
        ({}, True),
        ({"scheduler.vllm_release": "0.11.0"}, True),
        ({"scheduler.vllm_release": "0.11.0", "scheduler.enable_chunked_prefill": False}, False),
        ({"scheduler.enable_chunked_prefill": False}, True),
        ({"deployment.pipeline_parallel_size": 2}, False),
        ({"workload.client_timeout_s": 5.0}, False),
        ({"scheduler.system": "orca"}, False),
        ({"scheduler.system": "sglang"}, False),
    ],
)
def test_queue_is_called_in_service_order_only_where_the_table_tells_it(changes, is_told):
    assert play(with_values(preset("chat"), changes), num_requests=20).is_in_service_order == is_told


def table(*calls, running=0, waiting=0):
    """A step table from calls: start, end, scheduled, preempted, finished."""
    starts = {name: np.cumsum([0, *(len(call[at]) for call in calls)]) for name, at in
              (("scheduled", 2), ("preempted", 3), ("finished", 4))}  # fmt: skip
    rows = {
        "scheduled": np.array([row for call in calls for row in call[2]], np.int64).reshape(-1, 4),
        "preempted": np.array([row for call in calls for row in call[3]], np.int64).reshape(-1, 2),
        "finished": np.array([row for call in calls for row in call[4]], np.int64),
    }
    none = np.zeros(len(calls), np.int64)
    return engine.StepTable(
        np.array([call[0] for call in calls], float),
        np.array([call[1] for call in calls], float),
        none, none, none, none,
        starts["scheduled"], rows["scheduled"], starts["preempted"], rows["preempted"],
        starts["finished"], rows["finished"],
    )  # fmt: skip


@pytest.fixture
def preemption():
    """Request 0 (prompt 3, 4 tokens) goes on; request 1 (prompt 2, 2 tokens) is thrown out and comes back."""
    return table(
        (0.0, 1.0, [(0, 3, 0, 3), (1, 2, 0, 2)], [], []),  # both prompts: a token each
        (1.0, 2.0, [(0, 1, 3, 4)], [(1, 2)], []),  # no block for 1: its 2 tokens are lost
        (2.0, 3.0, [(0, 1, 4, 5)], [], []),
        (3.0, 4.5, [(0, 1, 5, 6), (1, 2, 0, 2)], [], [0]),  # 1 is back with two of its three tokens
        (4.5, 5.0, [(1, 1, 2, 3)], [], [1]),  # the third brings its second answer token
    )


def two_requests(arrival=(0.0, 0.0)):
    zeros = np.zeros(2, np.int64)
    return Requests(
        np.array(arrival), np.array([3, 2]), np.array([4, 2]), zeros, np.zeros(2, np.bool_)
    )  # fmt: skip


def test_a_preempted_request_waits_recomputes_and_goes_on(preemption):
    first, second = lives(preemption, two_requests())
    assert first.segments == [Segment(0, 0, State.PREFILL, 3, 0), Segment(1, 3, State.DECODE, 4, 1)]
    assert first.token_steps.tolist() == [0, 1, 2, 3]
    assert second.segments == [
        Segment(0, 0, State.PREFILL, 2, 0),
        Segment(1, 2, State.PREEMPTED, 0, 0),
        Segment(3, 3, State.RECOMPUTE, 2, 0),
        Segment(4, 4, State.DECODE, 3, 0),
    ]
    assert second.token_steps.tolist() == [0, 4]
    assert (first.finished, second.finished) == (3, 4)


def test_who_is_restarted_generates_its_answer_anew():
    restart = table(
        (0.0, 1.0, [(0, 3, 0, 3), (1, 2, 0, 2)], [], []),
        (1.0, 2.0, [(0, 1, 3, 4)], [(1, 2)], []),  # 1 gives way and loses the token it had
        (2.0, 3.0, [(0, 1, 4, 5)], [], []),
        (3.0, 4.0, [(0, 1, 5, 6), (1, 2, 0, 2)], [], [0]),
        (4.0, 5.0, [(1, 1, 2, 3)], [], [1]),
    )
    _, second = lives(restart, two_requests(), is_restarted=True)
    assert second.token_steps.tolist() == [3, 4]
    assert [segment.state for segment in second.segments] == [
        State.PREFILL, State.PREEMPTED, State.RECOMPUTE, State.DECODE
    ]  # fmt: skip


def test_worst_stall_is_the_longest_gap_between_two_tokens(preemption):
    stall = worst_stall(lives(preemption, two_requests()), preemption.end_s)
    assert stall == (1, 4.0, 0, 4)  # tokens at 1.0 and 5.0 s
    assert worst_stall([], preemption.end_s) is None


def test_queue_holds_the_preempted_until_it_is_back(preemption):
    found = lives(preemption, two_requests())
    assert queues(found, two_requests(), preemption) == [(1, [1]), (3, [])]


def test_a_queue_by_arrival_is_sorted_so(preemption):
    found = lives(preemption, two_requests())
    early = found[1]._replace(segments=[Segment(0, 4, State.WAITING, 0, 0)])
    requests = Requests(np.array([0.0, 0.0, 0.0]), *(np.zeros(3, np.int64) for _ in range(3)), np.zeros(3, np.bool_))
    both = [found[0], found[1], early]
    assert queues(both, requests, preemption)[1] == (1, [1, 2])
    late = requests._replace(arrival_s=np.array([0.0, 0.1, 0.0]))
    assert queues(both, late, preemption, by_arrival=True)[1] == (1, [2, 1])


def test_who_comes_later_waits_from_the_next_call_on(preemption):
    late = preemption._replace(
        scheduled=preemption.scheduled[[0, 2, 3, 4, 5, 6]],
        scheduled_start=np.array([0, 1, 2, 3, 5, 6]),
        preempted=preemption.preempted[:0],
        preempted_start=np.zeros(6, np.int64),
    )
    _, second = lives(late, two_requests((0.0, 0.5)))
    assert second.segments[0] == Segment(1, 2, State.WAITING, 0, 0)


def test_places_are_taken_again_once_they_are_free(preemption):
    found = lives(preemption, two_requests())
    assert lanes(found) == [0, 1]
    third = found[0]._replace(segments=[Segment(4, 4, State.PREFILL, 1, 0)])
    assert lanes([*found, third, third._replace(segments=[])]) == [0, 1, 0, -1]


def test_a_finished_member_is_held_until_its_batch_ends():
    batch = table(
        (0.0, 1.0, [(0, 3, 0, 3), (1, 2, 0, 2)], [], []),
        (1.0, 2.0, [(0, 1, 3, 4), (1, 1, 2, 3)], [], [1]),
        (2.0, 3.0, [(0, 1, 4, 5)], [], []),
        (3.0, 4.0, [(0, 1, 5, 6)], [], [0]),
    )
    _, second = lives(batch, two_requests(), is_held=True)
    assert second.segments == [
        Segment(0, 0, State.PREFILL, 2, 0),
        Segment(1, 1, State.DECODE, 3, 0),
        Segment(2, 3, State.HELD, 3, 0),
    ]


def test_who_was_cut_is_held_until_its_batch_ends_and_waits_for_its_second_run():
    # request 0 is cut at 2 of 4 tokens and runs again after the next batch, which is request 1 alone
    cut = table(
        (0.0, 1.0, [(0, 3, 0, 3), (2, 1, 0, 1)], [], []),
        (1.0, 2.0, [(0, 1, 3, 4), (2, 1, 1, 2)], [], [0]),
        (2.0, 3.0, [(2, 1, 2, 3)], [], [2]),
        (3.0, 4.0, [(1, 2, 0, 2)], [], []),
        (4.0, 5.0, [(1, 1, 2, 3)], [], [1]),
        (5.0, 6.0, [(0, 3, 0, 3)], [], []),
        (6.0, 9.0, [(0, 1, 3, 4)], [], []),
    )
    zeros = np.zeros(3, np.int64)
    requests = Requests(np.zeros(3), np.array([3, 2, 1]), np.array([4, 2, 3]), zeros, np.zeros(3, np.bool_))
    first, second, _ = lives(cut, requests, is_held=True, is_restarted=True)
    assert first.segments == [
        Segment(0, 0, State.PREFILL, 3, 0),
        Segment(1, 1, State.DECODE, 4, 0),
        Segment(2, 2, State.HELD, 4, 0),
        Segment(3, 4, State.WAITING, 0, 0),
        Segment(5, 5, State.RECOMPUTE, 3, 0),
        Segment(6, 6, State.DECODE, 4, 0),
    ]
    assert first.finished == -1  # within the table
    assert [segment.last for segment in second.segments] == [2, 3, 4]


def test_whose_client_gave_up_is_gone_from_the_next_step_on(preemption):
    requests = two_requests()._replace(gone_s=np.array([np.nan, 2.5]))
    _, second = lives(preemption, requests)
    assert second.segments[-1].last == 4  # it got its last token all the same
    unserved = preemption._replace(
        scheduled=preemption.scheduled[[0, 2, 3, 4]],
        scheduled_start=np.array([0, 1, 2, 3, 4, 4]),
        preempted=preemption.preempted[:0],
        preempted_start=np.zeros(6, np.int64),
        finished=preemption.finished[:1],
        finished_start=np.array([0, 0, 0, 0, 1, 1]),
    )
    _, second = lives(unserved, requests)
    assert second.segments == [Segment(0, 2, State.WAITING, 0, 0)]


def test_who_is_passed_over_runs_unless_every_iteration_chooses_anew():
    # request 1 computes its prompt, gets no token in steps 1 and 2, and goes on in step 3
    displaced = table(
        (0.0, 1.0, [(0, 3, 0, 3), (1, 2, 0, 2)], [], []),
        (1.0, 2.0, [(0, 1, 3, 4)], [], []),
        (2.0, 3.0, [(0, 1, 4, 5)], [], []),
        (3.0, 4.0, [(0, 1, 5, 6), (1, 1, 2, 3)], [], [0, 1]),
    )
    _, runs = lives(displaced, two_requests())
    assert runs.segments[1] == Segment(1, 2, State.PASSED_OVER, 2, 0)
    found = lives(displaced, two_requests(), chooses_anew=True)
    assert found[1].segments == [
        Segment(0, 0, State.PREFILL, 2, 0),
        Segment(1, 2, State.PAUSED, 2, 0),
        Segment(3, 3, State.DECODE, 3, 0),
    ]
    assert queues(found, two_requests(), displaced, by_arrival=True) == [(1, [1]), (3, [])]


def test_who_comes_and_gives_up_during_one_step_is_in_the_queue_of_the_next():
    steps = table((0.0, 4.25, [(0, 3, 0, 3)], [], []), (4.25, 5.0, [(0, 1, 3, 4)], [], []), (6.0, 7.0, [], [], []))
    requests = two_requests((0.0, 1.0))._replace(gone_s=np.array([np.nan, 4.0]))
    assert lives(steps, requests)[1].segments == [Segment(1, 1, State.WAITING, 0, 0)]
    idle = two_requests((0.0, 5.1))._replace(gone_s=np.array([np.nan, 5.9]))  # looked for before step 2 begins
    assert lives(steps, idle)[1].segments == []
