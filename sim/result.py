"""What came out of a run: arrays behind names, frames for pandas, one summary."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sim import frames, metrics
from sim.alone import e2e_alone_s
from sim.deployment import Resolved
from sim.engine import Run
from sim.engine.accounts import Status
from sim.engine.inputs import Requests
from sim.frames import STATUSES
from sim.gaps import GapHistogram
from sim.ledger import Ledger
from sim.scenario import Scenario
from sim.slo import Attainment, Limits, attainment, meets
from sim.workload import RequestInfo

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TPOT_LABEL = "TPOT"
BATCH_LABEL = "E2E per token (batch delivery)"


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """One run. Arrays have one row a request, in order of arrival; times are seconds from the first arrival.

    Nothing is computed before it is asked for, and everything only once.
    """

    scenario: Scenario
    resolved: Resolved
    inputs: Requests
    info: RequestInfo
    run: Run

    # --- what became of each request ---

    @cached_property
    def is_finished(self) -> Bools:
        """Has its last token, at its own end or at a limit."""
        finished: Bools = self.run.outcome.status == Status.FINISHED
        return finished

    @cached_property
    def is_rejected(self) -> Bools:
        """Could never fit."""
        rejected: Bools = self.run.outcome.status == Status.REJECTED
        return rejected

    @cached_property
    def is_aborted(self) -> Bools:
        """The client gave up before the whole answer had come."""
        aborted: Bools = self.run.outcome.status == Status.ABORTED
        return aborted

    @cached_property
    def is_truncated(self) -> Bools:
        """Finished at its cap or at max_model_len, although the true answer was longer."""
        truncated: Bools = self.is_finished & self.info.is_truncated
        return truncated

    @cached_property
    def answer_len(self) -> NDArray[np.int64]:
        """Output lengths as produced, without those of requests that could never fit, (answers,) int64 tokens."""
        from sim.workload.requests import answers

        return answers(self.inputs.output_len, self.is_rejected)

    @cached_property
    def is_first_try(self) -> Bools:
        """Asked by itself, not after an answer that a cap has cut."""
        found = self.info.retry_of
        return np.ones(self.is_finished.size, np.bool_) if found is None else found < 0

    @cached_property
    def asked_s(self) -> Floats:
        """Arrivals of first tries, (questions,) float64: further tries come as long as the server takes to answer."""
        asked: Floats = self.run.outcome.arrival_s[self.is_first_try]
        return asked

    @cached_property
    def is_cut_for_good(self) -> Bools:
        """Truncated, and its client asked no more."""
        found: Bools = self.is_truncated.copy()
        if self.info.retry_of is not None:
            found[self.info.retry_of[self.info.retry_of >= 0]] = False
        return found

    @cached_property
    def counts(self) -> dict[str, int]:
        """Requests by status. They do not overlap (finished: at its own end) and add up to all."""
        found = np.bincount(self.status_codes(), minlength=len(STATUSES))
        return {name: int(number) for name, number in zip(STATUSES, found, strict=True)}

    def status_codes(self) -> NDArray[np.int8]:
        """Status of each request, as index into `STATUSES`."""
        code = np.full(self.is_finished.size, STATUSES.index("unfinished"), dtype=np.int8)
        code[self.is_finished] = STATUSES.index("finished")
        code[self.is_truncated] = STATUSES.index("truncated")
        code[self.is_rejected] = STATUSES.index("rejected")
        code[self.is_aborted] = STATUSES.index("aborted")
        return code

    @cached_property
    def delivered_tokens(self) -> int:
        """Output tokens that users got; with batch delivery, none of a batch that has not ended."""
        outcome = self.run.outcome
        return int(outcome.emitted.sum(where=~np.isnan(outcome.first_token_s)))

    # --- latencies, NaN where undefined ---

    @cached_property
    def is_batch_delivery(self) -> bool:
        """Tokens come all at once when the batch ends, so there is no time between them."""
        return self.scenario.scheduler.delivers_batches

    @cached_property
    def finish_s(self) -> Floats:
        """When the last token came."""
        return np.where(self.is_finished, self.run.outcome.last_token_s, np.nan)

    @cached_property
    def ttft_s(self) -> Floats:
        """Time to first token, of every request that has one."""
        return metrics.ttft_s(self.run.outcome.arrival_s, self.run.outcome.first_token_s)

    @cached_property
    def queue_delay_s(self) -> Floats:
        """Time to the first scheduling, of every request that was scheduled."""
        return metrics.queue_delay_s(self.run.outcome.arrival_s, self.run.outcome.first_scheduled_s)

    @cached_property
    def e2e_s(self) -> Floats:
        """Time to the last token, of finished requests."""
        return metrics.e2e_s(self.run.outcome.arrival_s, self.finish_s)

    @cached_property
    def norm_latency_s(self) -> Floats:
        """End-to-end time per output token, of finished requests."""
        return metrics.norm_latency_s(self.e2e_s, self.run.outcome.emitted)

    @cached_property
    def tpot_s(self) -> Floats:
        """Mean time per token after the first, of finished requests with at least two.

        With batch delivery that would be 0 and meaningless: there it is `norm_latency_s`, and `tpot_label` says so.
        """
        if self.is_batch_delivery:
            return self.norm_latency_s
        return metrics.tpot_s(self.run.outcome.first_token_s, self.finish_s, self.run.outcome.emitted)

    @property
    def tpot_label(self) -> str:
        """What to write beside every number and curve made from `tpot_s`."""
        return BATCH_LABEL if self.is_batch_delivery else TPOT_LABEL

    @cached_property
    def max_gap_s(self) -> Floats:
        """Longest silence, of finished requests: the wait for the first token or for a later one."""
        longest = metrics.max_gap_s(self.ttft_s, self.run.outcome.max_itl_s)
        return np.where(self.is_finished, longest, np.nan)

    @cached_property
    def slowdown(self) -> Floats:
        """End-to-end time relative to the same request alone on an idle machine, of finished requests; at least 1."""
        from sim.cost import step_time

        scheduler, longest = self.scenario.scheduler, self.resolved.max_model_len
        chunk = self.resolved.max_num_batched_tokens if scheduler.is_chunked else longest
        cached = self.run.outcome.cached_tokens
        alone_s = e2e_alone_s(step_time(self.scenario), self.inputs.prompt_len, self.inputs.output_len, cached, chunk)
        return metrics.slowdown(self.e2e_s, alone_s)

    @cached_property
    def hol_delay_s(self) -> Floats:
        """Time spent waiting while a request with a longer answer was running."""
        from sim.engine.head_of_line import hol_delay_s

        outcome = self.run.outcome
        end_s = self.left_s
        waits = hol_delay_s(
            np.fmin(outcome.arrival_s, end_s),  # NaN, never: the end of the run
            np.fmin(outcome.first_scheduled_s, end_s),
            np.fmin(self.finish_s, end_s),
            self.info.true_len,
        )
        return np.where(self.is_rejected, np.nan, waits)

    @cached_property
    def waited_until_s(self) -> Floats:
        """When a request was first scheduled, refused or given up; NaN where it still waits or never came."""
        outcome = self.run.outcome
        gone_s = np.where(self.is_rejected, outcome.arrival_s, np.where(self.is_aborted, self.left_s, np.nan))
        until_s: Floats = np.fmin(outcome.first_scheduled_s, gone_s)
        return until_s

    @cached_property
    def left_s(self) -> Floats:
        """When a request without a last token was over: its client gave up, or the run ended."""
        end_s = np.full(self.is_finished.size, self.run.duration_s)
        timeout_s = self.scenario.workload.client_timeout_s
        if timeout_s is not None:
            end_s[self.is_aborted] = np.fmin(self.run.outcome.arrival_s[self.is_aborted] + timeout_s, end_s[0])
        return end_s

    @cached_property
    def gaps(self) -> GapHistogram:
        """Gaps between tokens of all requests, pooled."""
        return GapHistogram(self.run.gap_count, self.run.gap_sum)

    # --- service level ---

    @cached_property
    def limits(self) -> Limits:
        """Service-level limits of the scenario, in seconds."""
        slo = self.scenario.slo
        return Limits(*(None if ms is None else ms / 1000 for ms in (slo.ttft_ms, slo.tpot_ms, slo.e2e_ms)))

    @cached_property
    def attainment(self) -> Attainment:
        """How many requests met all limits."""
        good = meets(self.limits, self.ttft_s, self.tpot_s, self.e2e_s)
        unanswered = self.is_rejected | self.is_aborted
        still = ~self.is_finished & ~unanswered
        can_still_meet = np.zeros_like(good)
        if still.any():
            can_still_meet[still] = meets(self.limits, *self._best_case_s(still))
        return attainment(good, self.is_finished, unanswered, can_still_meet)

    def _best_case_s(self, still: Bools) -> tuple[Floats, Floats, Floats]:
        """Smallest ttft, tpot and e2e that unfinished requests could have had if all had come at the end of the run."""
        outcome, end_s = self.run.outcome, self.run.duration_s
        arrival_s = np.fmin(outcome.arrival_s[still], end_s)  # not yet arrived: no time has passed
        first_s = np.fmin(outcome.first_token_s[still], end_s)
        output_len = self.inputs.output_len[still]
        e2e = end_s - arrival_s
        if self.is_batch_delivery:
            return first_s - arrival_s, metrics.norm_latency_s(e2e, output_len), e2e
        return first_s - arrival_s, metrics.tpot_s(first_s, np.full(first_s.shape, end_s), output_len), e2e

    # --- accounts ---

    @cached_property
    def ledger(self) -> Ledger:
        """Where the memory and the time went."""
        stages = self.scenario.deployment.pipeline_parallel_size
        return Ledger(self.run.bins, self.run.bin_width_s, self.resolved.usable_blocks, self.run.duration_s, stages)

    # --- frames and summary ---

    @cached_property
    def requests(self) -> "pd.DataFrame":
        """One row a request, in order of arrival."""
        return frames.requests(self)

    @cached_property
    def over_time(self) -> "pd.DataFrame":
        """One row a time bin (index: its start): means over the bin, rates a second, and KV blocks by use."""
        return frames.over_time(self)

    @cached_property
    def steps(self) -> "pd.DataFrame | None":
        """One row a call of the scheduler; None unless the run recorded its steps."""
        return None if self.run.steps is None else frames.steps(self.run.steps)

    @cached_property
    def scheduled(self) -> "pd.DataFrame | None":
        """One row for each request in each step; None unless the run recorded its steps."""
        return None if self.run.steps is None else frames.scheduled(self.run.steps)

    def summary(self) -> dict[str, Any]:
        """Everything that can be said in numbers, as a plain dict that JSON can hold; see `sim.summary`."""
        from sim.summary import summary

        return summary(self)
