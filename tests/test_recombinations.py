"""Any of the five choices on top of any named system: it runs to its end and conserves, or is refused in a sentence.

schedulers.md 6.20 and metrics.md 8, on memories of a few blocks, bursts, one-token answers and prompts of nearly the
whole memory.
"""

import math
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim import ScenarioError, with_values
from sim.engine import Bin, Run, Status, Stop
from sim.engine.accounts import MEMORY_ROWS, TIME_ROWS
from sim.engine.inputs import Requests
from sim.scheduler_spec import Scheduler
from sim.systems import PREEMPTIVE_ORDERS, SYSTEMS, system_names
from sim.systems.build import plan_of
from sim.systems.run import run_plan
from sim.systems.system import Batching, Eviction, Order, Prefill, Reserve, Victim
from tests.cases import BASE, trace
from tests.cases import run as simulate_trace
from tests.general_scenarios import PREDICTORS, Drawn, drawn
from tests.test_client_retries import CLIENTS, EXTRA, asking_again

MOST_CALLS = 300_000  # of the smallest scenarios: whoever needs more hangs
CHOICES = {
    "batching": Batching,
    "prefill": Prefill,
    "reserve": Reserve,
    "order": Order,
    "preemption_mode": Eviction,
    "victim": Victim,
}
KNOBS = {
    "max_num_batched_tokens": st.integers(1, 40),
    "watermark": st.sampled_from([0.0, 0.1, 0.3]),
    "host_blocks": st.sampled_from([0, 2, 1000]),
    "admission_interval_steps": st.sampled_from([2, 5]),
    "starvation_threshold": st.sampled_from([1, 3]),
    "starvation_quantum": st.sampled_from([1, 2]),
    "quantum_ms": st.sampled_from([0.001, 500.0]),
    "quantum_growth": st.sampled_from([1.0, 2.0]),
    "keep_share": st.sampled_from([0.0, 0.5, 1.0]),
    "horizon": st.sampled_from([1, 4]),
    "history": st.sampled_from([1, 5]),
    "group_size": st.sampled_from([1, 3]),
    "batch_by_length": st.booleans(),
    "recollect": st.booleans(),
    "delivery": st.sampled_from(["batch", "stream"]),
    "hold": st.booleans(),
    "batch_wait_s": st.sampled_from([0.5, 60.0]),
    "scheduler_reserve_full_isl": st.booleans(),
    "long_prefill_token_threshold": st.sampled_from([1, 3]),
}
NAMES = [name for name in system_names() if SYSTEMS[name].engine != "sglang"]
TOLD = [*PREDICTORS, {"kind": "rank", "tau": 0.5}, {"kind": "refined", "num_classes": 5, "class_width": 4}]


@st.composite
def recombined(draw: Any, name: str) -> dict[str, Any]:
    """Choices in place of a system's own, and some of its knobs."""
    values: dict[str, Any] = {"system": name}
    chosen = draw(st.lists(st.sampled_from(tuple(CHOICES)), max_size=3, unique=True))
    values |= {choice: draw(st.sampled_from(get_args(CHOICES[choice]))) for choice in chosen}
    for knob in draw(st.lists(st.sampled_from(tuple(KNOBS)), max_size=4, unique=True)):
        values[knob] = draw(KNOBS[knob])
    values.setdefault("host_blocks", 3)
    return values


def assert_one_sentence(refusal: ScenarioError) -> None:
    """A field, its value and what is needed, in one line."""
    text = str(refusal)
    assert "\n" not in text
    assert " is " in text
    assert any(word in text for word in ("needed", "needs", "takes no", "allows only", "at most", "at least"))


def check(name: str, data: Any, max_requests: int) -> None:
    knobs = data.draw(recombined(name))
    scheduler = {knob: value for knob, value in knobs.items() if knob != "host_blocks"}
    try:
        Scheduler(**scheduler, max_num_seqs=1)
    except ScenarioError as refusal:
        assert_one_sentence(refusal)
        return
    if name == "vllm_v1" and not Scheduler(**scheduler).is_recombined:
        knobs.pop("max_num_batched_tokens", None)  # which must not be below max_num_seqs there
    example = data.draw(drawn(name, knobs, TOLD, max_requests))
    requests, info = example.requests, example.info
    if data.draw(st.integers(0, 3)) == 0:
        extra, clients = data.draw(EXTRA), data.draw(CLIENTS)
        requests, info = asking_again(requests, extra, clients, example.resolved.max_model_len, info)
        workload = example.scenario.workload.model_copy(update={"client_retry": clients.client_retry})
        example = example._replace(scenario=example.scenario.model_copy(update={"workload": workload}))
    try:
        plan = plan_of(example.scenario, example.resolved, requests, info, example.step_time)
    except ScenarioError as refusal:
        assert_one_sentence(refusal)
        return
    run = run_plan(plan, requests, example.step_time, record_steps=True, max_calls=MOST_CALLS)
    assert run.stop == Stop.DONE
    assert_conserved(example, requests, run)
    again = run_plan(plan, requests, example.step_time, max_calls=MOST_CALLS)
    for name_of, column in run.outcome._asdict().items():
        np.testing.assert_array_equal(column, getattr(again.outcome, name_of), name_of)


def assert_conserved(example: Drawn, requests: Requests, run: Run) -> None:
    """Everybody is served, rejected or gone; tokens, memory and time are all accounted for."""
    outcome, table, capacity = run.outcome, run.steps, example.resolved.usable_blocks
    assert table is not None
    assert set(outcome.status.tolist()) <= {Status.FINISHED, Status.REJECTED, Status.ABORTED}
    output_len = requests.output_len if run.order is None else requests.output_len[run.order]
    is_finished = outcome.status == Status.FINISHED
    assert np.all(outcome.emitted[is_finished] == output_len[is_finished])
    assert outcome.emitted.sum() == run.counters["output_tokens"] == round(run.bins[:, Bin.OUTPUT_TOKENS].sum())
    assert outcome.recomputed_tokens.sum() == round(run.bins[:, Bin.RECOMPUTED_TOKENS].sum())
    assert np.all((table.free_scheduled >= 0) & (table.free_scheduled <= capacity))
    if len(table.free_end) and not np.any(outcome.status == Status.ABORTED):  # after the last row nobody goes away
        assert table.free_end[-1] == capacity
    of_step = np.repeat(np.arange(len(table.start_s)), np.diff(table.scheduled_start))
    pairs = np.stack([of_step, table.scheduled[:, 0]])
    assert len(np.unique(pairs, axis=1).T) == len(of_step)  # nobody is served twice in an iteration
    assert np.all(np.diff(table.scheduled_start) <= table.running)
    width = np.full(len(run.bins), run.bin_width_s)
    width[-1] = run.duration_s - run.bin_width_s * (len(run.bins) - 1)
    for rows, size in ((MEMORY_ROWS, capacity), (TIME_ROWS, 1)):
        tolerance = 1e-9 * size * max(run.duration_s, 1.0)
        np.testing.assert_allclose(run.bins[:, list(rows)].sum(axis=1), size * width, rtol=0, atol=tolerance)
        assert np.all(run.bins[:, list(rows)] >= -tolerance)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_recombination_runs_and_conserves_or_is_refused(name: str, data: Any) -> None:
    check(name, data, max_requests=8)


@pytest.mark.parametrize("victim", [None, *get_args(Victim)])
def test_a_reservation_that_doubles_stays_doubled_whoever_gives_way(victim: str | None) -> None:
    """Told 3 of 6 tokens, S3 runs out after 3 s, reserves all 6 and starts anew; there is nobody else to give way."""
    scheduler = {"system": "s3", "max_num_seqs": 3, "preemption_mode": "restart", "victim": victim}
    half = {"kind": "point", "spread": 0.0, "bias": math.log(0.5)}
    values = {"workload.types.0.cap": 6, "scheduler": scheduler, "predictor": half, "max_sim_time_s": 100}
    result = simulate_trace(with_values(BASE, values), trace([6]))
    assert result.finish_s.tolist() == [9]
    assert result.run.counters["preemptions"] == 1


@pytest.mark.parametrize("order", PREEMPTIVE_ORDERS)
def test_several_that_were_displaced_too_often_are_served_one_after_the_other(order: str) -> None:
    """Four blocks for five requests, one token a step, turns of a step: each takes the blocks of the one before."""
    scheduler = {"system": "mlfq", "order": order, "quantum_ms": 0.001, "quantum_growth": 1, "max_num_seqs": 3}
    values = {
        "deployment": {"block_size": 8, "num_gpu_blocks_override": 5, "max_model_len": 26},
        "scheduler": scheduler | {"max_num_batched_tokens": 1, "swap_space_gib": 0.0005},
        "max_sim_time_s": 2000,
    }
    result = simulate_trace(with_values(BASE, values), trace([21, 9, 6, 6, 6], [5, 5, 1, 1, 6]))
    assert result.run.outcome.emitted.tolist() == [21, 9, 6, 6, 6]


@pytest.mark.parametrize("choice", CHOICES)
def test_sglang_takes_no_other_choices_than_its_own(choice: str) -> None:
    own = SYSTEMS["sglang"].choices
    usual = own.eviction if choice == "preemption_mode" else getattr(own, choice)
    other = next(value for value in get_args(CHOICES[choice]) if value != usual)
    with pytest.raises(ScenarioError, match="system is sglang; it takes no other choices than its own") as refusal:
        Scheduler(system="sglang", **{choice: other})
    assert_one_sentence(refusal.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_many_recombinations_run_and_conserve_or_are_refused(name: str, data: Any) -> None:
    check(name, data, max_requests=25)
