"""Clients that ask again after a cut answer: by hand, and on random scenarios of every loop.

When a retry comes depends on when the answer before it ended, so the naive loops, which know arrivals beforehand, are
given those of the engine: they must serve all requests at the same times, and each retry must have come when the answer
that they see before it says. As nothing that comes later changes what was before, only one order of events does both.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim import ScenarioError, engine, simulate, with_values
from sim.engine import Outcome, Stop
from sim.engine.accounts import Status
from sim.engine.inputs import Requests
from sim.engine.run import Run
from sim.engine.sglang import run as run_sglang
from sim.presets import preset
from sim.systems.build import plan_of
from sim.systems.run import run_plan
from sim.workload.requests import RequestInfo
from sim.workload.retries import in_order, with_retries
from sim.workload_spec import Workload
from tests.cases import BASE, STATIC, run, trace
from tests.general_scenarios import case_of, drawn
from tests.naive import general_loop
from tests.naive import sglang_timed as naive_sglang_timed
from tests.naive import tables as naive_tables
from tests.naive.sglang_memory import OutOfMemoryError
from tests.scenarios import MAX_CALLS, Scenario, static_scenarios, vllm_scenarios
from tests.sglang_scenarios import TimedScenario, timed_scenarios
from tests.test_naive_agreement import assert_same_outcome
from tests.test_naive_general import FAMILIES, MAX_STEPS, assert_agreement

CAP = {"workload.types.0.cap": 4, "workload.arrivals": {"kind": "trace"}, "scheduler.max_num_seqs": 1}
REST, AGAIN = {"workload.client_retry": "rest"}, {"workload.client_retry": "again"}


class TestByHand:
    """One seat, a token a second, answers cut at 4 tokens, clients that ask again a second later."""

    def test_the_rest_is_asked_for_until_all_is_there(self) -> None:
        # 10 tokens: done at 4; asked again at 5, done at 9; asked again at 10, done at 12
        result = run(with_values(BASE, CAP | REST), trace([10, 3], arrival_s=[0.0, 100.0]))
        table = result.requests
        assert table["arrival_s"].tolist() == [0, 5, 10, 100]
        assert (table["arrival_s"] + table["e2e_s"]).tolist() == [4, 9, 12, 103]
        assert table["prompt_tokens"].tolist() == [1, 5, 9, 1]
        assert table["output_tokens"].tolist() == [4, 4, 2, 3]
        assert table["status"].tolist() == ["truncated", "truncated", "finished", "finished"]
        assert table["retry_of"].tolist() == [pd.NA, 0, 1, pd.NA]
        summary = result.summary()
        assert (summary["requests"]["total"], summary["requests"]["retries"]) == (4, 2)
        assert summary["tokens"]["cut_off"] == 0

    def test_or_the_whole_answer_without_the_cap(self) -> None:
        result = run(with_values(BASE, CAP | AGAIN), trace([10, 3], arrival_s=[0.0, 100.0]))
        assert result.requests["arrival_s"].tolist() == [0, 5, 100]
        assert result.requests["prompt_tokens"].tolist() == [1, 1, 1]
        assert result.requests["output_tokens"].tolist() == [4, 10, 3]
        assert result.finish_s.tolist() == [4, 15, 103]

    def test_a_retry_waits_behind_whoever_came_before_it(self) -> None:
        # the second comes at 4.5 and holds the seat until 7.5; the retry of 5 runs from then on
        result = run(with_values(BASE, CAP | REST), trace([8, 3], arrival_s=[0.0, 4.5]))
        assert result.requests["retry_of"].tolist() == [pd.NA, pd.NA, 0]
        assert result.finish_s.tolist() == [4, 7.5, 11.5]

    def test_a_delay_of_nothing_is_one(self) -> None:
        result = run(
            with_values(BASE, CAP | REST | {"workload.client_retry_delay_s": 0.0}), trace([8], arrival_s=[0.0])
        )
        assert result.requests["arrival_s"].tolist() == [0, 4]
        assert result.finish_s.tolist() == [4, 8]

    def test_clients_who_take_it_lose_the_rest(self) -> None:
        result = run(with_values(BASE, CAP), trace([10, 3], arrival_s=[0.0, 100.0]))
        assert "retry_of" not in result.requests
        assert "retries" not in result.summary()["requests"]
        assert result.summary()["tokens"]["cut_off"] == 6

    def test_who_gave_up_asks_no_more(self) -> None:
        # the second waits for the first until 4, when its client goes
        values = CAP | REST | {"workload.client_timeout_s": 4.0}
        result = run(with_values(BASE, values), trace([8, 8], arrival_s=[0.0, 0.0]))
        assert result.requests["status"].tolist() == ["truncated", "aborted", "finished"]
        assert result.finish_s.tolist()[::2] == [4, 9]

    def test_a_run_that_is_cut_short_knows_who_is_to_come(self) -> None:
        # at 4.5 the first retry is due at 5, and what follows it is nobody's request yet
        result = run(with_values(BASE, CAP | REST | {"max_sim_time_s": 4.5}), trace([12, 3], arrival_s=[0.0, 9.0]))
        assert result.requests["status"].tolist() == ["truncated", "unfinished", "unfinished"]
        assert result.requests["retry_of"].tolist() == [pd.NA, pd.NA, 0]
        assert result.run.outcome.arrival_s[:2].tolist() == [0, 9]
        assert np.isnan(result.run.outcome.arrival_s[2])

    def test_a_user_of_a_closed_loop_asks_for_the_rest_before_thinking(self) -> None:
        user = {"kind": "closed_loop", "concurrency": 1, "think_time_s": 3.0, "think_time": "constant"}
        values = {"workload.arrivals": user, "workload.types.0.cap": 4} | REST
        result = run(with_values(BASE, values), trace([8, 2]))
        assert result.requests["arrival_s"].tolist() == [0, 5, 12]
        assert result.requests["output_tokens"].tolist() == [4, 4, 2]

    def test_a_batch_that_hands_over_at_its_end_is_asked_again_then(self) -> None:
        values = {"workload.types.0.cap": 4, "workload.arrivals": {"kind": "trace"}} | REST
        result = run(with_values(STATIC, values), trace([2, 6], arrival_s=[0.0, 0.0]))
        assert result.requests["arrival_s"].tolist() == [0, 0, 5]
        assert result.finish_s.tolist() == [4, 4, 7]

    def test_the_prefix_cache_finds_what_a_retry_quotes(self) -> None:
        # a prompt of 6 and an answer of 4, all but its last token computed
        values = CAP | REST | {"scheduler.enable_prefix_caching": True}
        result = run(with_values(BASE, values), trace([3, 8], 6, arrival_s=[0.0, 100.0]))
        assert result.run.outcome.cached_tokens.tolist() == [0, 0, 9]

    @pytest.mark.parametrize("system", ["vllm_v0", "sglang", "static", "fastserve", "trail"])
    def test_every_loop_serves_them(self, system: str) -> None:
        values = {"scheduler.system": system, "workload.num_requests": 300, "workload.types.0.cap": 64}
        result = simulate(with_values(preset("chat"), values | REST))
        assert result.counts["unfinished"] == 0
        assert result.summary()["tokens"]["cut_off"] == 0
        assert (result.requests["retry_of"].dropna() >= 0).sum() > 300

    def test_so_does_a_pipeline(self) -> None:
        values = {"deployment.pipeline_parallel_size": 2, "workload.num_requests": 300, "workload.types.0.cap": 64}
        result = simulate(with_values(preset("chat"), values | REST))
        assert result.counts["unfinished"] == 0
        assert result.summary()["tokens"]["cut_off"] == 0
        before = result.info.retry_of[result.info.retry_of >= 0]
        arrival_s = result.run.outcome.arrival_s[result.info.retry_of >= 0]
        assert arrival_s == pytest.approx(result.finish_s[before] + 1.0, abs=1e-12)

    def test_groups_that_are_planned_before_the_run_are_refused(self) -> None:
        values = {"scheduler.system": "seq_sched", "workload.types.0.cap": 64, "workload.num_requests": 10}
        with pytest.raises(
            ScenarioError, match=r"workload.client_retry is 'rest'; 'never' is needed with order planned"
        ):
            simulate(with_values(preset("chat"), values | REST))


# random scenarios

EXTRA = st.lists(st.sampled_from([0, 0, 1, 7, 30]), min_size=1, max_size=6)
CLIENTS = st.builds(
    lambda retry, delay_s: Workload(client_retry=retry, client_retry_delay_s=delay_s),
    st.sampled_from(["rest", "again"]),
    st.sampled_from([0.0, 0.5, 3.0]),
)


def asking_again(
    requests: Requests, extra: list[int], clients: Workload, max_model_len: int, info: RequestInfo | None = None
) -> tuple[Requests, RequestInfo]:
    """The requests with answers that want so many tokens more than they may have."""
    n = len(requests.prompt_len)
    more = np.resize(np.array(extra, np.int64), n)
    is_rejected = requests.prompt_len >= max_model_len
    zeros = np.zeros(n, np.int64)
    info = info or RequestInfo(requests.output_len, zeros, ("all",), is_rejected, is_rejected, zeros)
    info = info._replace(true_len=requests.output_len + more)
    cut = requests._replace(cap=np.where(more > 0, requests.output_len, requests.cap))
    return with_retries(cut, info, clients, max_model_len=max_model_len, tail_quantile=0.8)


def as_they_came(requests: Requests, info: RequestInfo, own: Run) -> tuple[Requests, RequestInfo]:
    """All requests at the times at which the engine says that they came, as an open loop; those must be right."""
    arrival_s, outcome = own.outcome.arrival_s, own.outcome
    if own.order is None:
        return requests._replace(arrival_s=arrival_s, users=0), info
    delay_s = requests.retry_s
    requests, info = in_order(requests, info, own.order)
    assert info.retry_of is not None
    retries = np.flatnonzero(info.retry_of >= 0)
    before = info.retry_of[retries]
    np.testing.assert_array_equal(arrival_s[retries], outcome.last_token_s[before] + delay_s)
    assert np.all(outcome.status[before] == Status.FINISHED)
    assert len(set(before.tolist())) == len(before)
    assert np.all(np.diff(arrival_s) >= 0)
    return requests._replace(arrival_s=arrival_s, users=0), info


@settings(max_examples=100)
@given(vllm_scenarios(), EXTRA, CLIENTS, st.booleans())
def test_vllm_serves_retries_as_if_they_had_been_known(
    scenario: Scenario, extra: list[int], clients: Workload, is_async: bool
) -> None:
    rules, requests, step_time = scenario
    if is_async and clients.client_retry_delay_s == 0:  # an arrival known beforehand would come before the answer does
        clients = clients.model_copy(update={"client_retry_delay_s": 0.25})
    asked, info = asking_again(requests, extra, clients, rules.max_model_len)
    own = engine.run(rules._replace(is_async=int(is_async)), asked, step_time, max_calls=MAX_CALLS, record_steps=True)
    if own.stop != Stop.DONE:
        return
    ordered, _ = as_they_came(asked, info, own)
    loop = naive_tables.run_async if is_async else naive_tables.run
    expected = loop(rules, ordered, step_time, max_calls=MAX_CALLS, **({"pause": 0.0} if is_async else {}))
    assert own.steps is not None
    for name, ours in own.steps._asdict().items():
        np.testing.assert_array_equal(ours, getattr(expected.steps, name), name)
    assert_same_outcome(own.outcome, expected.outcome)


@settings(max_examples=100)
@given(static_scenarios(), EXTRA, CLIENTS)
def test_static_batches_serve_retries_as_if_they_had_been_known(
    scenario: Scenario, extra: list[int], clients: Workload
) -> None:
    rules, requests, step_time = scenario
    rules = rules._replace(batch_wait_s=0.0)  # who waits for company knows who will come
    asked, info = asking_again(requests, extra, clients, rules.max_model_len)
    own = engine.run(rules, asked, step_time, record_steps=True)
    ordered, _ = as_they_came(asked, info, own)
    expected = naive_tables.run(rules, ordered, step_time, max_calls=MAX_CALLS)
    assert_same_outcome(own.outcome, expected.outcome)


@settings(max_examples=60)
@given(timed_scenarios(), EXTRA, CLIENTS)
def test_sglang_serves_retries_as_if_they_had_been_known(
    scenario: TimedScenario, extra: list[int], clients: Workload
) -> None:
    rules, asked, step_time = scenario
    requests, info = asking_again(asked.requests, extra, clients, rules.context_len)
    never = np.zeros(len(requests.prompt_len), np.bool_)
    own = run_sglang(rules, requests, step_time, ignore_eos=never, record_steps=True)
    if own.stop != Stop.DONE:
        return
    ordered, _ = as_they_came(requests, info, own)
    try:
        expected = naive_sglang_timed.tables(rules, ordered, step_time, never[: len(ordered.prompt_len)], np.inf)
    except OutOfMemoryError:
        pytest.fail("the engine did not run out of memory")
    for name in Outcome._fields:
        ours, theirs = getattr(own.outcome, name), getattr(expected.outcome, name)
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-7, err_msg=name)


ORDERLY = [  # what is known of a request does not depend on its place in the order of arrival
    family
    for family in FAMILIES
    if family.name in ("orca-cap", "vllm_v0-swap", "chunk_only", "vtc", "sjf", "srtf", "mlfq", "past_future", "s3")
]


@pytest.mark.parametrize("family", ORDERLY, ids=[family.name for family in ORDERLY])
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_general_loop_serves_retries_as_if_they_had_been_known(family: Any, data: Any) -> None:
    predictors = [{"kind": "oracle"}] if family.predictors else []
    example = data.draw(drawn(family.system, family.knobs, predictors))
    extra, clients = data.draw(EXTRA), data.draw(CLIENTS)
    scenario, resolved, step_time = example.scenario, example.resolved, example.step_time
    asked, info = asking_again(example.requests, extra, clients, resolved.max_model_len, example.info)
    own = run_plan(plan_of(scenario, resolved, asked, info, step_time), asked, step_time, record_steps=True)
    ordered, info = as_they_came(asked, info, own)
    case = case_of(scenario, resolved, ordered, info, step_time)
    expected = general_loop.simulate(case, family.naive, max_steps=MAX_STEPS)
    if expected.scheduler.step < MAX_STEPS:
        assert_agreement(expected, own)
