"""The exact numbers of schedulers.md, section 6, for schedulers that reserve, order or displace by length.

Every iteration takes one second, a block holds one token; P there is a prompt of P + 1 tokens here.
"""

import math

import numpy as np
import pytest

from sim import Result, simulate, with_values
from sim.systems.hints import batch_sizes, first_queue, length_buckets
from tests.cases import BASE, run, trace, with_blocks

SHORT, LONG = 100, 2000


def scheduled(result: Result, step: int) -> dict[int, int]:
    """Tokens of each request in one iteration."""
    steps = result.run.steps
    assert steps is not None
    rows = steps.scheduled[steps.scheduled_start[step] : steps.scheduled_start[step + 1]]
    return {int(row[0]): int(row[1]) for row in rows}


def held_at(result: Result, step: int) -> dict[int, int]:
    """Blocks of each request in one iteration."""
    steps = result.run.steps
    assert steps is not None
    rows = steps.scheduled[steps.scheduled_start[step] : steps.scheduled_start[step + 1]]
    return {int(row[0]): int(row[3]) for row in rows}


def preempted(result: Result) -> list[tuple[int, int, int]]:
    """Of every preemption: iteration, request, tokens held."""
    steps = result.run.steps
    assert steps is not None
    found = []
    for k in range(len(steps.start_s)):
        for i, lost in steps.preempted[steps.preempted_start[k] : steps.preempted_start[k + 1]]:
            found.append((k, int(i), int(lost)))
    return found


def of(system: str, **knobs: object) -> dict[str, object]:
    return {"scheduler.system": system} | {f"scheduler.{name}": value for name, value in knobs.items()}


def predicted(factor: float) -> dict[str, object]:
    """Every length is predicted wrong by one factor."""
    return {"predictor.kind": "point", "predictor.spread": 0.0, "predictor.bias": math.log(factor)}


class TestStragglerEatsConcurrency:
    """6.4: admission at multiples of 100 steps, of what fits at the end of the coming 100."""

    def test_waves_shrink_as_the_straggler_grows(self) -> None:
        rules = of("orca", reserve="horizon", horizon=100, admission_interval_steps=100, max_num_seqs=32)
        scenario = with_values(with_blocks(BASE, 4000), rules | predicted(1.0) | {"max_sim_time_s": float(LONG)})
        result = run(scenario, trace([LONG] + [SHORT] * 700))
        waves = [len(scheduled(result, 100 * j)) - 1 for j in range(20)]
        assert waves == [min(31, 40 - j) for j in range(1, 21)]
        assert result.is_finished[1:].sum() == 554
        assert result.is_finished[0]
        assert pytest.approx(0.10645, abs=5e-6) == 1 - 554 / 620


class TestPredictionError:
    """6.5: the same two rules; 100 tokens each, predicted too long or too short; memory for 1,000."""

    @pytest.mark.parametrize(
        ("guess", "admitted", "victims"),
        [
            (200, 5, []),
            (150, 6, []),
            (125, 8, []),
            (110, 9, []),
            (100, 10, []),
            (95, 10, []),
            (90, 11, [(91, 90)]),
            (80, 12, [(84, 83), (91, 90)]),
        ],
    )
    def test_too_long_costs_seats_and_too_short_costs_gaps(
        self, guess: int, admitted: int, victims: list[tuple[int, int]]
    ) -> None:
        rules = of("orca", reserve="horizon", horizon=10_000, admission_interval_steps=100, max_num_seqs=100)
        scenario = with_values(with_blocks(BASE, 1000), rules | predicted(guess / 100) | {"max_sim_time_s": 102.0})
        result = run(scenario, trace([SHORT] * 100))
        assert len(scheduled(result, 0)) == admitted
        assert (result.finish_s == SHORT).sum() == min(admitted, 10)
        wave = [(step + 1, lost) for step, _, lost in preempted(result) if step < 100]
        assert wave == victims  # iterations are counted from 1 there
        assert sum(lost for _, lost in wave) == {90: 90, 80: 173}.get(guess, 0)

    def test_victims_wait_for_the_next_wave(self) -> None:
        rules = of("orca", reserve="horizon", horizon=10_000, admission_interval_steps=100, max_num_seqs=100)
        scenario = with_values(with_blocks(BASE, 1000), rules | predicted(0.8) | {"max_sim_time_s": 150.0})
        result = run(scenario, trace([SHORT] * 100))
        newest_first = [i for step, i, _ in preempted(result) if step < 100]
        assert newest_first == [11, 10]
        assert result.run.outcome.max_itl_s[newest_first].tolist() == [18.0, 11.0]
        assert result.run.outcome.recomputed_tokens[newest_first].tolist() == [83, 90]

    def test_restart_throws_the_tokens_away(self) -> None:
        rules = of("orca", reserve="horizon", horizon=10_000, admission_interval_steps=100, max_num_seqs=100)
        changes = rules | predicted(0.8) | {"max_sim_time_s": 250.0, "scheduler.preemption_mode": "restart"}
        result = run(with_values(with_blocks(BASE, 1000), changes), trace([SHORT] * 100))
        assert result.run.outcome.emitted[[11, 10]].tolist() == [SHORT, SHORT]
        assert result.run.outcome.recomputed_tokens[[11, 10]].sum() == 173


class TestOrder:
    """6.8: one slot; 10, 2 and 1 tokens in order of arrival."""

    @pytest.mark.parametrize(("system", "norm_latency"), [("orca", [1.0, 6.0, 13.0]), ("sjf", [1.3, 1.5, 1.0])])
    def test_shortest_first_serves_five_times_better(self, system: str, norm_latency: list[float]) -> None:
        result = run(with_values(BASE, of(system, max_num_seqs=1)), trace([10, 2, 1]))
        assert result.norm_latency_s == pytest.approx(norm_latency)

    def test_means(self) -> None:
        assert np.mean([1.0, 6.0, 13.0]) / np.mean([1.3, 1.5, 1.0]) == pytest.approx(5.263, abs=5e-4)


def test_orca_never_skips_ahead() -> None:
    """6.9: 1,000 slots, needs of 400, 700 and 100 in order."""
    needs = [400, 700, 100]
    types = [
        {
            "name": f"need-{need}",
            "prompt": {"kind": "constant", "tokens": 1},
            "output": {"kind": "constant", "tokens": need - 1},
            "cap": need - 1,
        }
        for need in needs
    ]
    workload = {"workload.types": types, "workload.mix": "exact", "workload.num_requests": 3}
    arrivals = {"workload.arrivals": {"kind": "all_at_once"}}
    result = simulate(with_values(with_blocks(BASE, 1000), of("orca") | workload | arrivals), record_steps=True)
    assert list(result.inputs.output_len) == [399, 699, 99]
    assert list(scheduled(result, 0)) == [0]


class TestStallFreePacking:
    """6.10: a budget of 512, 100 decoding, a prompt of 1,000 and one of 2,000."""

    LENGTHS = [50] * 102
    PROMPTS = [1] * 100 + [1000, 2000]
    ARRIVALS = [0.0] * 100 + [0.5, 0.6]

    def test_sarathi_fills_the_budget_behind_the_decodes(self) -> None:
        scenario = with_values(BASE, of("sarathi", max_num_batched_tokens=512, max_num_seqs=128))
        result = run(scenario, trace(self.LENGTHS, self.PROMPTS, self.ARRIVALS))
        chunks = [{i: n for i, n in scheduled(result, step).items() if i >= 100} for step in (1, 2, 3)]
        assert chunks == [{100: 412}, {100: 412}, {100: 176, 101: 236}]
        assert len(scheduled(result, 1)) == 101

    def test_vllm_v0_stops_decoding_for_the_prompt(self) -> None:
        scenario = with_values(BASE, of("vllm_v0", max_num_batched_tokens=2048, max_num_seqs=128))
        result = run(scenario, trace(self.LENGTHS, self.PROMPTS, self.ARRIVALS))
        assert scheduled(result, 1) == {100: 1000}


class TestFuturePeak:
    """6.11 and 6.12: what is held and what is to come."""

    @pytest.mark.parametrize(("capacity", "admitted"), [(41, {0, 1, 2}), (40, {0, 1})])
    def test_peak_of_three(self, capacity: int, admitted: set[int]) -> None:
        """(held, to come) of (10, 5), (20, 2), (5, 8): 41, two iterations ahead."""
        scenario = with_values(with_blocks(BASE, capacity), of("mc_sf"))
        result = run(scenario, trace([5, 2, 8], [11, 21, 6]))
        assert set(scheduled(result, 0)) == admitted
        if capacity == 41:
            assert result.run.steps is not None
            assert result.run.steps.free_scheduled[1] == 0  # 7 + 12 + 22 in the second iteration

    @pytest.mark.parametrize(("capacity", "admitted"), [(10, {0, 1, 2}), (8, {0, 1})])
    def test_shortest_prefix_that_fits_to_its_end(self, capacity: int, admitted: set[int]) -> None:
        scenario = with_values(with_blocks(BASE, capacity), of("mc_sf"))
        result = run(scenario, trace([2, 3, 5], [2, 2, 2]))
        assert set(scheduled(result, 0)) == admitted
        assert sum(held_at(result, 1)[i] for i in admitted) == {10: 9, 8: 6}[capacity]
        assert not preempted(result)


def test_fastserve_joins_the_first_queue_that_lasts() -> None:
    """6.14: quanta of 10, 20, 40, 80 ms."""
    assert first_queue(np.array([0.035, 0.040, 0.041, 0.005]), 0.010, 2.0).tolist() == [2, 2, 3, 0]


def test_sequence_scheduling_makes_larger_batches_of_shorter_answers() -> None:
    """6.15."""
    buckets = length_buckets(np.array([30, 50, 51, 120, 480]))
    assert buckets.tolist() == [50, 50, 100, 150, 500]
    assert batch_sizes(buckets).tolist() == [256, 256, 128, 64, 16]


class TestS3:
    """6.16."""

    def test_who_outgrows_its_class_is_preempted_once_and_doubles(self) -> None:
        scenario = with_values(with_blocks(BASE, 2000), of("s3") | predicted(0.8))
        result = run(scenario, trace([250]))
        assert result.run.steps is not None
        ((step, request, _),) = preempted(result)
        assert (step, request) == (200, 0)  # needs token 201
        assert result.is_finished.all()

    def test_largest_that_fits_first(self) -> None:
        scenario = with_values(with_blocks(BASE, 1000), of("s3") | {"predictor.kind": "oracle"})
        result = run(scenario, trace([600, 500, 300, 100]))
        assert set(scheduled(result, 0)) == {0, 2, 3}


def test_starvation_guard() -> None:
    """6.17: skipped 200 iterations in a row, a request runs 10, then is ordinary again."""
    rules = of("sjf", max_num_seqs=1, starvation_threshold=200, starvation_quantum=10)
    result = run(with_values(BASE, rules | {"max_sim_time_s": 640.0}), trace([3000, 3500]))
    served = [next(iter(scheduled(result, step))) for step in range(640)]
    turns = [step for step in range(640) if served[step] == 1]
    assert turns == [*range(200, 210), *range(410, 420), *range(620, 630)]


def test_virtual_token_counter() -> None:
    """6.19: a prompt of 100 and 50 output tokens."""
    result = run(with_values(BASE, of("vtc")), trace([50], [100]))
    assert result.run.service is not None
    assert result.run.service.tolist() == [200.0]
