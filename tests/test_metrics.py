"""Per-request metrics and aggregates: the exact checks of metrics.md, section 6, on raw events."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import metrics

EXACT = 1e-12


def test_one_request_has_the_metrics_of_check_1() -> None:
    arrival, tokens = 0.0, [0.5, 0.6, 0.7, 1.2]
    ttft = metrics.ttft_s([arrival], tokens[:1])
    itl = metrics.itl_s(tokens)
    e2e = metrics.e2e_s([arrival], tokens[-1:])

    assert ttft == [0.5]
    assert itl == pytest.approx([0.1, 0.1, 0.5], rel=EXACT)
    assert e2e == [1.2]
    assert metrics.tpot_s(tokens[:1], tokens[-1:], [4]) == pytest.approx([0.7 / 3], rel=EXACT)
    assert metrics.norm_latency_s(e2e, [4]) == pytest.approx([0.3], rel=EXACT)
    assert metrics.max_gap_s(ttft, [itl.max()]) == [0.5]


def test_mean_tpot_is_not_the_mean_of_the_pooled_gaps() -> None:
    first_s, finish_s = np.array([0.0, 0.0]), np.array([0.1, 10 * 0.02])
    assert metrics.mean(metrics.tpot_s(first_s, finish_s, [2, 11])) == pytest.approx(0.06, rel=EXACT)


def test_one_token_request_has_no_tpot_and_is_left_out_of_the_mean() -> None:
    tpot = metrics.tpot_s([1.0, 1.0], [1.0, 1.3], [1, 4])
    assert np.isnan(tpot[0])
    assert metrics.mean(tpot) == pytest.approx(0.1, rel=EXACT)
    assert metrics.percentile(tpot, 0.5) == (pytest.approx(0.1, rel=EXACT), 1)


def test_norm_latency_is_averaged_over_requests_not_over_tokens() -> None:
    e2e, tokens = np.array([10.0, 12.0, 13.0]), np.array([10, 2, 1])
    assert metrics.mean(metrics.norm_latency_s(e2e, tokens)) == pytest.approx(20 / 3, rel=EXACT)
    assert e2e.sum() / tokens.sum() == pytest.approx(2.6923, abs=5e-5)  # the number that must not carry the name


def test_gaps_include_a_preemption_pause() -> None:
    assert metrics.itl_s([1, 2, 10, 11]).tolist() == [1, 8, 1]


def test_request_that_produced_nothing_has_no_latency_per_token() -> None:
    assert np.isnan(metrics.norm_latency_s([np.nan], [0])).all()


def test_queue_delay_ends_at_the_first_scheduling() -> None:
    assert metrics.queue_delay_s([2.0], [3.5]) == [1.5]


def test_slowdown_compares_with_an_idle_machine() -> None:
    assert metrics.slowdown([3.0, 1.0], [1.5, 1.0]).tolist() == [2.0, 1.0]


def test_tail_ratio_and_cv_of_the_straggler_mix() -> None:
    lengths = np.array([100] * 31 + [2000])
    assert metrics.percentile(lengths, 0.99).value == pytest.approx(1411.0, rel=EXACT)  # 100 + 0.69 * 1900
    assert metrics.mean(lengths) == 159.375
    assert metrics.tail_ratio(lengths) == pytest.approx(1411.0 / 159.375, rel=EXACT)
    assert lengths.std() == pytest.approx(330.586, abs=5e-4)
    assert metrics.cv(lengths) == pytest.approx(2.07427, abs=5e-6)


def test_jain_index_of_one_greedy_client() -> None:
    assert metrics.jain_index([1, 1, 1, 5]) == pytest.approx(64 / 112, rel=EXACT)
    assert metrics.jain_index([3, 3, 3]) == 1.0


def test_share_waiting_longer_leaves_the_undefined_out() -> None:
    assert metrics.share_waiting_longer([0.5, 1.0, 1.5, np.nan], 1.0) == pytest.approx(1 / 3)


def test_throughput_of_a_run_without_duration_is_undefined() -> None:
    assert np.isnan(metrics.per_second(5, 0.0))
    assert metrics.per_second(2, 8.0) == 0.25


def test_percentile_lies_between_order_statistics_and_states_m() -> None:
    assert metrics.percentile([4.0, 1.0, np.nan, 2.0], 0.75) == (3.0, 3)  # position 1.5


def test_percentile_of_nothing_is_undefined() -> None:
    value, m = metrics.percentile([np.nan], 0.5)
    assert np.isnan(value)
    assert m == 0
    assert np.isnan(metrics.mean([]))


@pytest.mark.parametrize(
    ("q", "m", "expected"), [(0.99, 99, False), (0.99, 100, True), (0.95, 1, True), (0.5, 0, False)]
)
def test_p99_needs_a_hundred_values_to_be_shown(q: float, m: int, expected: bool) -> None:
    assert metrics.worth_showing(q, m) is expected


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0, 1))
def test_percentile_is_the_interpolated_order_statistic(values: list[float], q: float) -> None:
    ordered = sorted(values)
    position = (len(ordered) - 1) * q
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    expected = ordered[low] + (ordered[high] - ordered[low]) * (position - low)
    assert metrics.percentile(values, q).value == pytest.approx(expected, rel=1e-9, abs=1e-9)
