"""Seats, watermark and token budget, one at a time."""

import pytest

from sim import simulate, with_values
from sim.presets import preset
from sim.studies.margins import BUDGET, MARGINS, SEATS, WATERMARK, margin_point, margins_of, present_value, values_of

TIGHT = with_values(preset("memory-pressure"), {"workload.num_requests": 2000, "workload.arrivals.rate_rps": 4})


def test_a_point_is_the_run_with_that_value() -> None:
    point = margin_point(TIGHT, SEATS, 64)
    assert point is not None
    found = simulate(with_values(TIGHT, {"scheduler.max_num_seqs": 64}))
    assert point.preempted == (found.run.outcome.num_preemptions > 0).mean()
    assert point.output_tokens_per_s == found.summary()["metrics"]["output_tokens_per_s"]
    assert point.attainment == found.attainment.share


@pytest.mark.parametrize(("margin", "value"), [(SEATS, 24), (WATERMARK, 0.3)])
def test_both_memory_margins_end_preemptions_and_cost_throughput(margin, value) -> None:
    now, safe = (margin_point(TIGHT, margin, each, is_saturated=True) for each in (present_value(TIGHT, margin), value))
    assert now is not None
    assert safe is not None
    assert now.preempted > 0.3
    assert safe.preempted < 0.01
    assert safe.output_tokens_per_s < now.output_tokens_per_s


def test_the_token_budget_does_not_protect_memory() -> None:
    points = [margin_point(TIGHT, BUDGET, value, is_saturated=True) for value in (512, 2048)]
    assert all(point is not None and point.preempted > 0.3 for point in points)


def test_where_a_control_stands_is_among_the_values_tried() -> None:
    for margin in MARGINS.values():
        assert present_value(TIGHT, margin) in values_of(TIGHT, margin)
    assert present_value(with_values(TIGHT, {"scheduler.watermark": 0.07}), WATERMARK) == 0.07
    assert 0.07 in values_of(with_values(TIGHT, {"scheduler.watermark": 0.07}), WATERMARK)


def test_a_budget_below_the_seats_is_no_point() -> None:
    seated = with_values(TIGHT, {"scheduler.max_num_seqs": 300})
    assert margin_point(seated, BUDGET, 256) is None


def test_only_controls_that_the_scheduler_reads_are_offered() -> None:
    assert list(margins_of(TIGHT)) == ["seats", "watermark", "budget"]
    assert "watermark" not in margins_of(with_values(TIGHT, {"scheduler.system": "static"}))
