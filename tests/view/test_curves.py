"""Numbers behind the figures: nothing lost by thinning, extremes kept, shares that add up."""

import numpy as np
import pytest

from sim.presets import preset
from sim.scenario import with_values
from sim.simulate import simulate
from sim.view.curves import MAX_POINTS, cdf, distributions, over_time, thin, weighted_cdf


@pytest.fixture(scope="module")
def result():
    return simulate(with_values(preset("memory-pressure"), {"workload.num_requests": 400}))


def test_thinning_keeps_totals():
    bins = np.arange(3_000.0).reshape(1_000, 3)
    short = thin(bins, 240)
    assert len(short) <= 240
    assert short.sum(axis=0) == pytest.approx(bins.sum(axis=0), rel=1e-12)


def test_thinning_leaves_short_runs_alone():
    bins = np.arange(12.0).reshape(6, 2)
    assert thin(bins, 240).tolist() == bins.tolist()


def test_cdf_of_few_values_has_them_all():
    value, share = cdf(np.array([3.0, 1.0, 2.0, 2.0]))
    assert value.tolist() == [1, 2, 2, 3]
    assert share.tolist() == [0.25, 0.5, 0.75, 1]


def test_cdf_of_many_values_keeps_both_ends_and_the_tail():
    values = np.random.default_rng(0).lognormal(size=100_000)
    value, share = cdf(values)
    assert len(value) <= MAX_POINTS
    assert value[0] == values.min()
    assert value[-1] == values.max()
    assert share[-1] == 1
    assert (share > 0.999).sum() > 20
    assert np.interp(np.quantile(values, 0.99), value, share) == pytest.approx(0.99, abs=1e-3)


def test_cdf_of_weighted_values_equals_that_of_the_values_repeated():
    weight = np.array([0, 3, 0, 1, 4])
    value, share = weighted_cdf(np.array([0.5, 1.0, 1.5, 2.0, 3.0]), weight.astype(float))
    assert value.tolist() == [1, 2, 3]
    assert share.tolist() == [3 / 8, 4 / 8, 1]


def test_cdf_of_nothing_is_empty():
    assert [len(each) for each in cdf(np.empty(0))] == [0, 0]
    assert [len(each) for each in weighted_cdf(np.ones(3), np.zeros(3))] == [0, 0]


def test_memory_rows_add_up_to_all_blocks_at_every_moment(result):
    shares = np.sum(list(over_time(result).memory.values()), axis=0)
    assert shares == pytest.approx(np.ones(len(shares)), rel=1e-9)


def test_tokens_under_the_throughput_curve_are_the_tokens_of_the_run(result):
    curve = over_time(result)
    edges = [0.0]
    for middle in curve.time_s:
        edges.append(2 * middle - edges[-1])
    tokens = (curve.rates["output_tokens_per_s"] * np.diff(edges)).sum()
    assert tokens == pytest.approx(result.run.outcome.emitted.sum(), rel=1e-6)


def test_attainment_on_the_curve_is_the_share_within_the_limit(result):
    run = distributions(result)["TPOT"]
    values = result.tpot_s[~np.isnan(result.tpot_s)]
    assert run.num_values == len(values)
    assert run.attainment == np.mean(values <= run.limit)


def test_p99_is_not_marked_below_a_hundred_values():
    few = simulate(with_values(preset("chat"), {"workload.num_requests": 60}))
    assert set(distributions(few)["TTFT"].marks) == {"p50", "p95"}


def test_batch_delivery_has_no_gaps_and_another_name_for_tpot():
    curves = distributions(simulate(preset("textbook-straggler")))
    assert curves["ITL"].num_values == 0
    assert curves["TPOT"].quantity.label == "E2E per token (batch delivery)"
    assert curves["TPOT"].value.max() == pytest.approx(0.2)  # 20 steps of 10 ms
