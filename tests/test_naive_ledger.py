"""Both ledgers of the engine against a count block by block and token by token, itself held to hand-worked figures."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import engine
from sim.engine.accounts import MEMORY_ROWS, TIME_ROWS, Bin
from sim.engine.inputs import SHARED_TEXT, Batching, Order, Requests, Reserve, Rules, StepTime
from tests.ledger_recount import recount
from tests.scenarios import MAX_CALLS, Scenario, static_scenarios, vllm_scenarios

UNIT = StepTime(np.ones(2), 0.0, 0.0, 0.0)  # every step takes one second
VLLM = Rules(Batching.ITERATION, Order.FCFS, Reserve.CHUNK, 0, 0, 0.0, 1, 100, 8, 64, 1000, 1, 0, 0, 0, 0)
STATIC = Rules(Batching.REQUEST, Order.FCFS, Reserve.CAP, 1, 1, 0.0, 1, 100, 32, 8192, 10_000, 1, 0, 0, 0, 0)


def requests(prompt_len: list[int], output_len: list[int], **columns: list[float]) -> Requests:
    """All at once, no shared text, nobody a straggler, unless `columns` says otherwise."""
    n = len(prompt_len)
    segments = columns.pop("shared", [0] * n)  # tokens of one text at the beginning of each prompt

    def column(name: str, default: list[int]) -> np.ndarray:
        return np.array(columns.get(name, default), np.int64)

    return Requests(
        arrival_s=np.array(columns.get("arrival_s", [0.0] * n), np.float64),
        prompt_len=np.array(prompt_len, np.int64),
        output_len=np.array(output_len, np.int64),
        cap=column("cap", output_len),
        priority=column("priority", [0] * n),
        is_straggler=column("is_straggler", [0] * n),
        segment_start=np.arange(n + 1, dtype=np.int64),
        segment_content=np.full(n, SHARED_TEXT, np.int64),
        segment_len=np.array(segments, np.int64),
        users=0,
    )


def totals(rules: Rules, asked: Requests, step_time: StepTime = UNIT, until_s: float = math.inf) -> dict[Bin, float]:
    """Rows of the recount that are not zero."""
    sums = recount(rules, asked, step_time, bin_width_s=1e9, num_bins=1, until_s=until_s).sum(axis=0)
    return {row: float(sums[row]) for row in Bin if sums[row] and row in (*MEMORY_ROWS, *TIME_ROWS)}


def assert_ledgers_agree(scenario: Scenario, until_s: float = math.inf) -> None:
    run = engine.run(*scenario, until_s=until_s, max_calls=MAX_CALLS)
    num_bins = len(run.bins) + 1  # one more, since the last step may end on the border
    counted = recount(*scenario, bin_width_s=run.bin_width_s, num_bins=num_bins, until_s=until_s, max_calls=MAX_CALLS)
    bins = np.vstack([run.bins, np.zeros((1, len(Bin)))])
    capacity = scenario.rules.usable_blocks
    size = np.ones(len(Bin)) * max(1.0, counted.max())  # what 1e-9 refers to
    size[list(MEMORY_ROWS)] = capacity * run.duration_s
    size[list(TIME_ROWS)] = run.duration_s
    for k in range(len(Bin)):
        np.testing.assert_allclose(bins[:, k], counted[:, k], rtol=0, atol=1e-9 * size[k], err_msg=Bin(k).name)
    assert counted[:, MEMORY_ROWS].sum() == pytest.approx(capacity * run.duration_s, rel=1e-9)
    assert counted[:, TIME_ROWS].sum() == pytest.approx(run.duration_s, rel=1e-9)


@settings(max_examples=200)
@given(vllm_scenarios())
def test_ledgers_of_vllm_agree_with_a_recount_in_every_bin(scenario: Scenario) -> None:
    assert_ledgers_agree(scenario)


@settings(max_examples=100)
@given(static_scenarios())
def test_ledgers_of_static_batching_agree_with_a_recount_in_every_bin(scenario: Scenario) -> None:
    assert_ledgers_agree(scenario)


@settings(max_examples=50)
@given(st.one_of(vllm_scenarios(), static_scenarios()), st.floats(0.0, 60.0))
def test_ledgers_of_a_run_that_is_cut_agree_with_a_recount(scenario: Scenario, until_s: float) -> None:
    assert_ledgers_agree(scenario, until_s)


@pytest.mark.slow
@settings(max_examples=1500)
@given(st.one_of(vllm_scenarios(max_requests=30), static_scenarios(max_requests=30)))
def test_ledgers_agree_with_a_recount_on_many_scenarios(scenario: Scenario) -> None:
    assert_ledgers_agree(scenario)


def test_recount_of_a_held_batch_gives_the_figures_worked_by_hand() -> None:
    # metrics.md 8.5.1 with a batch of 4: each is promised 1 + 50 blocks; the long one runs 40 steps after the others
    asked = requests([1] * 4, [10, 10, 10, 50], cap=[50] * 4, is_straggler=[0, 0, 0, 1])
    assert totals(STATIC._replace(usable_blocks=204, max_num_seqs=4), asked) == {
        Bin.HELD_TYPICAL: 3 * 55,
        Bin.HELD_STRAGGLER: 1275,
        Bin.FINISHED_HELD: 3 * 51 * 40,
        Bin.RESERVED_UNUSED: 3 * (51 * 10 - 55) + (51 * 50 - 1275),
        Bin.FIXED: 50,
    }


def test_recount_charges_shared_blocks_to_the_typical_request_while_it_runs() -> None:
    # 10 shared blocks, 1 of its own each; the typical one makes 3 tokens, the straggler 5
    asked = requests([11, 11], [3, 5], shared=[10, 10], is_straggler=[0, 1])
    rules = VLLM._replace(prefix_caching=1, usable_blocks=30)
    rows = totals(rules, asked)
    # blocks after each of the 5 steps: typical 11, 12, 13 with the shared ones, then gone; straggler 1, 2, 3, 14, 15
    assert rows[Bin.HELD_TYPICAL] == pytest.approx(11 + 12 + 13, rel=1e-12)
    assert rows[Bin.HELD_STRAGGLER] == pytest.approx(1 + 2 + 3 + 14 + 15, rel=1e-12)
    assert rows[Bin.CACHED_PREFIX] == pytest.approx(2 * 3, rel=1e-12)  # the typical one's own blocks, two steps long


@pytest.mark.parametrize(
    ("prompt_len", "change", "row"),
    [
        (3, {"keep_blocks": 4}, Bin.WITHHELD_MARGIN),  # 3 + 4 > 5
        (6, {}, Bin.WITHHELD_MEMORY_OTHER),
        (3, {"max_num_seqs": 1}, Bin.WITHHELD_CAP),
    ],
)
def test_recount_names_the_reason_of_free_blocks(prompt_len: int, change: dict[str, int], row: Bin) -> None:
    asked = requests([5, prompt_len], [1, 1])
    rows = totals(VLLM._replace(usable_blocks=10, **change), asked, until_s=1.0)
    assert rows == {Bin.HELD_TYPICAL: 5.0, row: 5.0, Bin.FIXED: 1.0}


def test_recount_says_whether_stragglers_hold_what_the_head_lacks() -> None:
    asked = requests([5, 6], [1, 1], is_straggler=[1, 0])
    rows = totals(VLLM._replace(usable_blocks=10), asked, until_s=1.0)
    assert rows == {Bin.HELD_STRAGGLER: 5.0, Bin.WITHHELD_MEMORY_STRAGGLER: 5.0, Bin.FIXED: 1.0}


def test_recount_of_a_preemption_separates_what_is_computed_again() -> None:
    # metrics.md 8.5.4, a second per token: 238 blocks hold both through 19 decode steps, then the second is preempted,
    # 20 tokens made and 119 computed. It computes 120 on return, one of them new.
    asked = requests([100, 100], [60, 40], arrival_s=[0.0, 0.0])
    rules = VLLM._replace(usable_blocks=238, max_num_batched_tokens=512)
    per_token = StepTime(np.arange(513.0), 0.0, 0.0, 0.0)
    rows = totals(rules, asked, per_token)
    assert rows[Bin.RECOMPUTE] == pytest.approx(119, rel=1e-12)
    assert rows[Bin.PREFILL] == pytest.approx(200 + 1, rel=1e-12)
    assert rows[Bin.DECODE] == pytest.approx(60 - 1 + 40 - 2, rel=1e-12)


def test_recount_balances_for_a_batch_that_waits_to_fill() -> None:
    # the first waits 4 s for company that comes at 10 s, runs 2 s, and the server idles
    asked = requests([2, 2], [2, 2], arrival_s=[0.0, 10.0])
    rows = totals(STATIC._replace(batch_wait_s=4.0), asked)
    assert rows[Bin.STALLED] == 4.0
    assert rows[Bin.WITHHELD_WAIT] == 400.0
    assert rows[Bin.IDLE] == 4.0
    assert rows[Bin.FREE_NO_DEMAND] == 400.0 + 4 * 96.0  # idle, and beside the four reserved blocks of each batch
