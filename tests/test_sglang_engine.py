"""The SGLang engine on cases worked by hand, and what must hold in any of its runs."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from sim.engine import Bin, Run, Status, Stop
from sim.engine.inputs import SHARED_TEXT, Requests, StepTime
from sim.engine.sglang import SglangRules, run
from tests.sglang_scenarios import PLAIN_RULES as RULES
from tests.sglang_scenarios import TimedScenario, timed_scenarios

UNIT = StepTime(np.ones(2), 0.0, 0.0, 0.0)  # every step takes one second


def serve(rules: SglangRules, prompts: list[int], outputs: list[int], **columns: Any) -> Run:
    """All at once, no shared text, nobody a straggler, unless `columns` says otherwise."""
    n = len(prompts)
    shared = columns.get("shared", [0] * n)  # tokens of one text at the beginning of each prompt
    requests = Requests(
        arrival_s=np.array(columns.get("arrival_s", [0.0] * n), np.float64),
        prompt_len=np.array(prompts, np.int64),
        output_len=np.array(outputs, np.int64),
        cap=np.array(columns.get("cap", outputs), np.int64),
        priority=np.zeros(n, np.int64),
        is_straggler=np.array(columns.get("is_straggler", [0] * n), np.int64),
        segment_start=np.cumsum([0, *(tokens > 0 for tokens in shared)], dtype=np.int64),
        segment_content=np.array([SHARED_TEXT + 1 for tokens in shared if tokens], np.int64),
        segment_len=np.array([tokens for tokens in shared if tokens], np.int64),
        users=columns.get("users", 0),
    )
    return run(
        rules,
        requests,
        UNIT,
        ignore_eos=np.array(columns.get("ignore_eos", [False] * n)),
        until_s=columns.get("until_s", np.inf),
        record_steps=True,
    )


def test_who_has_produced_least_is_retracted_first_then_the_longer_prompt() -> None:
    # schedulers.md 6.18: when memory is first short, A has made 51 tokens, B 41, C and D 2, after prompts of 10 and 90.
    # D goes with its 91 tokens of KV and does not fit again before C, by then the one with fewest, has to go too.
    rules = RULES._replace(
        pool_tokens=295, context_len=295, clip_max_new_tokens=1, init_ratio=0.0, min_ratio=0.0, ratio_drop=0.0
    )
    result = serve(rules, [50, 50, 10, 90], [150, 150, 100, 100], arrival_s=[0, 10, 51, 51])
    assert result.steps is not None
    assert result.steps.preempted[:2].tolist() == [[3, 91], [2, 42]]
    assert result.outcome.status.tolist() == [Status.FINISHED] * 4


def test_tail_of_a_split_node_goes_before_the_branch_that_split_it() -> None:
    # Three prompts of 10 are evicted for the fifth, of 45. The sixth shares 20 of the fourth's 50 tokens and adds 5.
    # The last needs 60: the fifth goes, then the other 30 of the fourth; 75 are free, 15 remain. Had the 5 gone first,
    # 20 would remain.
    prompts = [10, 10, 10, 50, 45, 25, 60]
    shared = [0, 0, 0, 40, 0, 20, 0]
    result = serve(RULES, prompts, [1] * 7, shared=shared, arrival_s=[10.0 * i for i in range(7)])
    assert result.outcome.cached_tokens.tolist() == [0, 0, 0, 0, 0, 20, 0]
    cached = 20 + 5
    assert result.bins[:, Bin.CACHED_PREFIX].sum() > 0
    assert result.steps is not None
    assert result.steps.free_scheduled[-1] == 15 + cached


def test_new_tokens_wait_for_the_prefill_of_another_request() -> None:
    # the second comes during the first's third step; its prefill takes the fourth, in which nobody decodes
    result = serve(RULES, [10, 10], [9, 9], arrival_s=[0.0, 2.5])
    assert result.outcome.max_itl_s.tolist() == [2.0, 1.0]
    assert result.outcome.first_token_s.tolist() == [1.0, 4.0]


def test_overlap_schedules_the_next_batch_while_one_is_computed() -> None:
    # without overlap a request that comes at 1.5 is seen at 2; with overlap the step from 2 to 3 is scheduled at 1
    for overlap, first_token_s in ((False, 3.0), (True, 4.0)):
        result = serve(RULES._replace(overlap=overlap), [10, 10], [9, 9], arrival_s=[0.0, 1.5])
        assert result.outcome.first_token_s[1] == first_token_s


def test_row_that_overlap_computes_after_an_unforeseen_end_is_padding() -> None:
    result = serve(RULES._replace(overlap=True), [10], [3], cap=[9])
    assert result.bins[:, Bin.OUTPUT_TOKENS].sum() == 3
    assert result.bins[:, Bin.DECODE_TOKENS].sum() == 3
    assert result.duration_s == 4.0


def test_full_answers_count_for_candidates_only() -> None:
    # 30 + 36 + 1 is below 100 for the first; the second needs 67 of the 64 that are left, though it would fit: margin
    result = serve(RULES, [30, 30], [36, 36], until_s=2.0)
    assert result.bins[:, Bin.WITHHELD_MARGIN].sum() == 70 + 69
    assert result.bins[:, Bin.WITHHELD_CAP].sum() == 0


def test_requests_that_can_never_run_are_rejected() -> None:
    # 100 tokens: a prompt of 97 leaves one token for the answer, one of 98 none
    result = serve(RULES, [97, 98, 99, 500, 10], [1] * 5)
    rejected, finished = Status.REJECTED, Status.FINISHED
    assert result.outcome.status.tolist() == [finished, rejected, rejected, rejected, finished]
    assert result.stop == Stop.DONE


def test_without_cache_one_that_ignores_the_end_of_text_must_leave_a_token_to_spare() -> None:
    # 100 - 50 - 1 - 48 = 1 is too little, 2 is enough
    rules = RULES._replace(radix_cache=False)
    result = serve(rules, [50, 50], [48, 47], ignore_eos=[True, True])
    assert result.outcome.status.tolist() == [Status.REJECTED, Status.FINISHED]
    assert serve(RULES, [50], [48], ignore_eos=[True]).outcome.status.tolist() == [Status.FINISHED]


def test_prompt_that_goes_on_without_memory_ends_the_server() -> None:
    # README of the SGLang goldens, finding 26: five answers fill the 190 tokens while a prompt of 100, once admitted,
    # goes on eight tokens a step without asking
    rules = RULES._replace(
        pool_tokens=190,
        context_len=190,
        max_running_requests=7,
        chunked_prefill_size=13,
        clip_max_new_tokens=1,
        mixed_chunk=True,
        init_ratio=0.01,
        min_ratio=0.01,
        ratio_drop=0.0,
    )
    result = serve(rules, [10] * 5 + [100], [100] * 6, arrival_s=[0.0] * 5 + [8.0])
    assert result.stop == Stop.OUT_OF_MEMORY
    assert serve(rules._replace(mixed_chunk=False), [10] * 5 + [100], [90] * 6).stop == Stop.DONE


def test_users_ask_again_when_they_have_their_answer() -> None:
    # two users; each answer takes a prefill and two decode steps, then they think for 5 s
    result = serve(RULES, [10] * 4, [3] * 4, arrival_s=[0.0, 0.0, 5.0, 5.0], users=2)
    assert result.outcome.arrival_s.tolist() == [0.0, 0.0, 8.0, 8.0]
    assert result.outcome.last_token_s.tolist() == [3.0, 3.0, 11.0, 11.0]


@settings(max_examples=25)
@given(timed_scenarios())
def test_nothing_is_lost(scenario: TimedScenario) -> None:
    rules, asked, step_time = scenario
    first, again = (
        run(rules, asked.requests, step_time, ignore_eos=asked.ignore_eos, record_steps=True) for _ in range(2)
    )
    if first.stop == Stop.OUT_OF_MEMORY:
        return
    steps, outcome = first.steps, first.outcome
    assert steps is not None
    assert again.steps is not None
    for name, column in steps._asdict().items():
        np.testing.assert_array_equal(column, getattr(again.steps, name), name)
    pages = rules.pool_tokens // rules.page_size
    assert steps.free_scheduled.min(initial=0) >= 0
    assert steps.free_end.max(initial=0) <= pages
    if first.stop == Stop.DONE and len(steps.free_end):
        assert steps.free_end[-1] == pages
    longest = np.maximum(np.minimum(asked.requests.output_len, rules.context_len), 1)
    finished = outcome.status == Status.FINISHED
    assert (outcome.emitted[finished] <= longest[finished]).all()
    assert outcome.emitted.sum() == first.counters["output_tokens"]
    totals = first.bins.sum(axis=0)
    assert totals[Bin.OUTPUT_TOKENS] == pytest.approx(outcome.emitted.sum(), rel=1e-12)
    assert totals[Bin.RECOMPUTED_TOKENS] == pytest.approx(outcome.recomputed_tokens.sum(), rel=1e-12)
    assert totals[Bin.RECOMPUTED_TOKENS] <= totals[Bin.PREFILL_TOKENS]
    for k in range(len(steps.start_s)):
        ids = steps.scheduled[steps.scheduled_start[k] : steps.scheduled_start[k + 1], 0]
        assert len(set(ids.tolist())) == len(ids) <= steps.running[k] <= rules.max_running_requests + 1
