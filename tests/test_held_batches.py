"""Batches that hold their finished members, where answers come late, clients go and members give way: by hand.

Every iteration takes one second, a block holds one token, prompts have one.
"""

import math
from typing import Any

import pytest

from sim import Result, with_values
from sim.engine.accounts import Status
from sim.studies.compare import compared
from sim.studies.load_curve import point_of
from tests.cases import BASE, STATIC, run, trace, with_blocks

STREAM = {"scheduler.delivery": "stream"}


def planned(**values: Any) -> Any:
    """Sequence scheduling of batches of two, all requests planned together."""
    rules = {"scheduler.system": "seq_sched", "scheduler.max_num_seqs": 2, "scheduler.batch_by_length": False}
    return with_values(
        BASE, rules | {"workload.types.0.cap": 20} | {path.replace("__", "."): value for path, value in values.items()}
    )


def ends(result: Result) -> list[float]:
    return result.finish_s.tolist()


class TestSequenceScheduling:
    """schedulers.md 3.7: every batch is `static` with hold."""

    @pytest.mark.parametrize("lengths", [[2, 1], [1, 2]])
    def test_clients_that_go_at_one_instant_do_not_wait_for_one_another(self, lengths: list[int]) -> None:
        # after one step the short answer is there, held for the long one, and both clients lose patience
        result = run(planned(predictor__kind="oracle", workload__client_timeout_s=1.0), trace(lengths))
        assert result.run.outcome.status.tolist() == [Status.ABORTED, Status.ABORTED]

    def test_answers_come_when_their_batch_ends(self) -> None:
        # sorted by length: 2 and 4 in four steps, then 6 and 10 in ten
        result = run(planned(predictor__kind="oracle"), trace([4, 2, 10, 6]))
        assert ends(result) == [4, 4, 14, 14]
        assert result.ttft_s.tolist() == [4, 4, 14, 14]
        assert result.norm_latency_s.tolist() == pytest.approx([1, 2, 1.4, 14 / 6])
        assert result.tpot_label == "E2E per token (batch delivery)"
        assert result.run.counters["slot_steps_padding"] == 2 + 4
        assert result.gaps.m == 0

    def test_or_as_they_are_produced(self) -> None:
        result = run(with_values(planned(predictor__kind="oracle"), STREAM), trace([4, 2, 10, 6]))
        assert ends(result) == [4, 2, 14, 10]
        assert result.ttft_s.tolist() == [1, 1, 5, 5]
        assert result.tpot_label == "TPOT"

    def test_who_loses_patience_while_an_iteration_runs_is_not_served_before_the_group_is_whole(self) -> None:
        # the third comes at 0.5 and is seen at 1, when its patience ends; the fourth, of the same group, comes at 100
        impatient = planned(predictor__kind="oracle", scheduler__group_size=2, workload__client_timeout_s=0.5)
        result = run(impatient, trace([1, 1, 1, 1], arrival_s=[0, 0, 0.5, 100]))
        assert ends(result)[:2] == [1, 1]
        assert result.run.outcome.emitted.tolist() == [1, 1, 0, 1]
        assert ends(result)[3] == 101

    def test_an_answer_that_was_cut_comes_whole_with_the_batch_of_its_second_run(self) -> None:
        # predicted as 2 and 4: the batch ends after four steps, and who wanted 8 starts again
        half = planned(predictor__kind="point", predictor__spread=0.0, predictor__bias=math.log(0.5))
        result = run(half, trace([4, 8]))
        assert ends(result) == [4, 12]
        assert result.ttft_s.tolist() == [4, 12]
        assert result.run.outcome.emitted.tolist() == [4, 8]
        assert result.run.outcome.recomputed_tokens.tolist() == [0, 4]
        streamed = run(with_values(half, STREAM), trace([4, 8]))
        assert ends(streamed) == [4, 12]
        assert streamed.ttft_s.tolist() == [1, 1]
        assert streamed.run.outcome.max_itl_s.tolist() == [1, 5]  # its fifth token comes five steps into that run


class TestClientsThatGiveUp:
    """Two seats, and clients that wait ten seconds."""

    VALUES = {"scheduler.max_num_seqs": 2, "workload.client_timeout_s": 10.0}

    def test_a_batch_ends_when_nobody_waits_for_the_rest_of_it(self) -> None:
        result = run(with_values(STATIC, self.VALUES | STREAM), trace([2, 100, 3], arrival_s=[0.0, 0.0, 5.0]))
        assert result.requests["status"].tolist() == ["finished", "aborted", "finished"]
        assert ends(result)[::2] == [2, 13]

    def test_an_answer_that_is_held_back_too_long_is_of_no_use(self) -> None:
        result = run(with_values(STATIC, self.VALUES), trace([2, 100, 3], arrival_s=[0.0, 0.0, 5.0]))
        assert result.requests["status"].tolist() == ["aborted", "aborted", "finished"]
        assert ends(result)[2] == 13
        assert result.delivered_tokens == 3
        # 12 more were produced for nobody: no page counts them
        assert ends(result)[2] == result.run.duration_s
        assert point_of(result, 1.0).output_tokens_per_s == compared(result, 1.0).output_tokens_per_s == 3 / 13


class TestMembersThatGiveWay:
    """Only prompts are reserved, so that members outgrow the memory together."""

    def test_who_is_done_does_not(self) -> None:
        # the third is done after two steps and holds 2 tokens; before the sixth the others hold 5 each of 12
        result = run(with_blocks(STATIC, 12, scheduler__reserve="prompt"), trace([9, 9, 2]))
        assert ends(result) == [9, 13, 9]
        assert result.run.outcome.num_preemptions.tolist() == [0, 1, 0]
        assert result.run.outcome.recomputed_tokens.tolist() == [0, 5, 0]

    def test_a_batch_ends_when_all_who_are_not_done_gave_way(self) -> None:
        # the second is done and holds 2; before the ninth step the first, with 8, finds none of the 10 free
        result = run(with_blocks(STATIC, 10, scheduler__reserve="prompt"), trace([9, 2]))
        assert ends(result) == [9, 8]
        assert result.run.outcome.num_preemptions.tolist() == [1, 0]

    def test_a_batch_that_dies_keeps_the_answers_that_are_whole(self) -> None:
        # before the sixth step the first two, with 5 tokens each, start again, one after the other as one seat is left
        rules = {"scheduler.reserve": "prompt", "scheduler.preemption_mode": "fail"}
        result = run(with_values(with_blocks(STATIC, 12), rules), trace([9, 9, 2]))
        assert ends(result) == [14, 23, 5]
        assert result.run.counters["oom_count"] == 1
