"""Inverse CDFs of prompt and output lengths."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sim.catalog import length_quantiles
from sim.lengths_spec import (
    Constant,
    Empirical,
    Gamma,
    Geometric,
    LogNormal,
    LogNormalP90,
    ParetoTail,
    Quantiles,
    Uniform,
)
from sim.part import MAX_TOKENS
from sim.workload.lengths import correlated, quantile, tokens_at
from sim.workload.randomness import Purpose, RandomNumbers

GRID = np.array([1e-12, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999999, 1 - 2.0**-53])

ALL_KINDS = [
    Constant(tokens=100),
    Uniform(low=3, high=17),
    LogNormal(mean=300, cv=1.5),
    LogNormalP90(median=415, p90=834),
    Gamma(mean=300, cv=1.5),
    Geometric(mean=20),
    ParetoTail(median=100, p90=400, alpha=1.2),
    Empirical(dataset="azure_2023_conv"),
    Quantiles(points=((0, 1), (0.5, 10), (0.5001, 10), (1, 1000))),
]


def ranks(n, purpose=Purpose.OUTPUT_LEN, seed=0):
    return RandomNumbers(seed).uniforms(purpose, n)


def log_normal(mean, cv):
    sigma = math.sqrt(math.log(1 + cv * cv))
    return stats.lognorm(s=sigma, scale=mean / math.sqrt(1 + cv * cv))


@pytest.mark.parametrize(
    ("lengths", "theory"),
    [
        (LogNormal(mean=300, cv=1.5), log_normal(300, 1.5)),
        (Gamma(mean=300, cv=1.5), stats.gamma(a=1 / 1.5**2, scale=300 * 1.5**2)),
        (Gamma(mean=300, cv=0.1), stats.gamma(a=100, scale=3)),
        (Uniform(low=3, high=17), stats.randint(3, 18)),
        (Geometric(mean=20), stats.geom(1 / 20)),
    ],
    ids=["lognormal", "gamma, wide", "gamma, narrow", "uniform", "geometric"],
)
def test_quantiles_are_those_of_theory(lengths, theory):
    u = GRID[:-1]  # so close to 1, SciPy's own discrete quantiles are off by one
    assert quantile(lengths, "output", u) == pytest.approx(theory.ppf(u), rel=1e-9)


def test_lognormal_p90_goes_through_its_median_and_p90():
    lengths = LogNormalP90(median=415, p90=834)
    assert quantile(lengths, "output", np.array([0.5, 0.9])) == pytest.approx([415, 834], rel=1e-12)


def test_pareto_tail_goes_through_median_and_p90_and_then_follows_its_power():
    lengths = ParetoTail(median=100, p90=400, alpha=2.0)
    # P(length > x) = 0.1 (x / 400)^-2: a hundredth as likely at 4000 as at 400.
    assert quantile(lengths, "output", np.array([0.5, 0.9, 0.999])) == pytest.approx([100, 400, 4000], rel=1e-9)
    below, above = quantile(lengths, "output", np.array([0.9 - 1e-9, 0.9 + 1e-9]))
    assert below == pytest.approx(above, rel=1e-6)


def test_empirical_lengths_are_those_of_the_catalogue_and_linear_between_them():
    table = dict(length_quantiles("azure_2023_conv", "output"))
    lengths = Empirical(dataset="azure_2023_conv")
    found = quantile(lengths, "output", np.array([0.5, 0.55, 0.6]))
    assert found == pytest.approx([table[0.5], (table[0.5] + table[0.6]) / 2, table[0.6]], rel=1e-12)


def test_prompt_and_output_of_one_dataset_are_not_mixed_up():
    lengths = Empirical(dataset="azure_2023_conv")
    median = np.array([0.5])
    assert tokens_at(lengths, "prompt", median)[0] == dict(length_quantiles("azure_2023_conv", "prompt"))[0.5]
    assert tokens_at(lengths, "output", median)[0] == dict(length_quantiles("azure_2023_conv", "output"))[0.5]


@pytest.mark.parametrize("lengths", ALL_KINDS, ids=str)
def test_lengths_never_fall_as_the_rank_rises(lengths):
    u = np.sort(ranks(20_000))
    tokens = tokens_at(lengths, "output", u)
    assert np.all(np.diff(tokens) >= 0)
    assert tokens.min() >= 1
    assert tokens.dtype == np.int64


@given(
    mean=st.floats(1, 1e5),
    cv=st.floats(0, 20),
    other_mean=st.floats(1, 1e5),
    other_cv=st.floats(0, 20),
    kind=st.sampled_from([LogNormal, Gamma]),
)
def test_requests_keep_their_rank_when_mean_and_cv_change(mean, cv, other_mean, other_cv, kind):
    u = ranks(300)
    one = tokens_at(kind(mean=mean, cv=cv), "output", u)
    other = tokens_at(kind(mean=other_mean, cv=other_cv), "output", u)
    order = np.lexsort((other, one))  # by one, ties by other: the other must not fall on the way
    assert np.all(np.diff(other[order]) >= 0)


@pytest.mark.parametrize("lengths", [LogNormal(mean=50, cv=0), Gamma(mean=50, cv=0)])
def test_cv_of_zero_gives_everyone_the_mean(lengths):
    assert np.all(tokens_at(lengths, "output", GRID) == 50)


def test_halves_are_rounded_up():
    lengths = Quantiles(points=((0, 2.5), (1, 2.5)))
    assert tokens_at(lengths, "output", np.array([0.5])) == [3]


def test_every_whole_length_of_a_uniform_is_equally_likely():
    tokens = tokens_at(Uniform(low=3, high=6), "output", ranks(40_000))
    counts = np.bincount(tokens, minlength=8)
    assert counts[:3].tolist() == [0, 0, 0]
    # Binomial with p = 1/4: 5 standard deviations are sqrt(40,000 * 3/16) * 5 = 433.
    assert np.abs(counts[3:7] - 10_000).max() < 433


def test_lengths_lie_between_one_token_and_the_largest_allowed():
    wild = LogNormalP90(median=1, p90=MAX_TOKENS)
    assert tokens_at(wild, "output", GRID).tolist()[0] == 1
    assert tokens_at(wild, "output", GRID).tolist()[-1] == MAX_TOKENS


@pytest.mark.parametrize(
    ("lengths", "mean", "cv"),
    [
        (Constant(tokens=300), 300, 0),
        (Uniform(low=100, high=500), 300, math.sqrt((401**2 - 1) / 12) / 300),
        (LogNormal(mean=300, cv=0.5), 300, 0.5),
        (LogNormal(mean=300, cv=1.5), 300, 1.5),
        (Gamma(mean=300, cv=0.8), 300, 0.8),
        (Geometric(mean=300), 300, math.sqrt(1 - 1 / 300)),
    ],
    ids=str,
)
def test_sample_mean_agrees_with_theory(lengths, mean, cv):
    n = 100_000
    tokens = tokens_at(lengths, "output", ranks(n))
    # 4 standard errors of the mean (once in 16,000 seeds); rounding to whole tokens shifts it by far less.
    assert abs(tokens.mean() - mean) <= 4 * cv * mean / math.sqrt(n)
    if cv <= 1:  # the CV of a heavy tail converges too slowly to be tested
        assert tokens.std() / tokens.mean() == pytest.approx(cv, abs=0.02)


@pytest.mark.parametrize("spearman", [-0.95, -0.5, 0.1, 0.6, 0.9])
def test_spearman_correlation_is_reached(spearman):
    n = 100_000
    prompt_rank = ranks(n, Purpose.PROMPT_LEN)
    output_rank = correlated(prompt_rank, ranks(n), spearman)
    prompt = tokens_at(LogNormal(mean=1000, cv=1), "prompt", prompt_rank)
    output = tokens_at(Gamma(mean=300, cv=2), "output", output_rank)
    # Independent ranks have the standard error 1 / sqrt(n), correlated ones less. Four of them, and ties of
    # short whole-numbered outputs cost a little besides.
    assert stats.spearmanr(prompt, output).statistic == pytest.approx(spearman, abs=4 / math.sqrt(n) + 0.002)


@pytest.mark.parametrize("spearman", [-0.7, 0.7])
def test_correlation_leaves_the_output_distribution_as_it_is(spearman):
    n = 100_000
    output_rank = correlated(ranks(n, Purpose.PROMPT_LEN), ranks(n), spearman)
    # One uniform sample in a thousand is further from uniform than this.
    assert stats.kstest(output_rank, "uniform").statistic < 1.95 / math.sqrt(n)


def test_full_correlation_orders_outputs_as_prompts_or_in_reverse():
    prompt_rank = ranks(1000, Purpose.PROMPT_LEN)
    assert correlated(prompt_rank, ranks(1000), 1.0) == pytest.approx(prompt_rank, rel=1e-6)
    assert correlated(prompt_rank, ranks(1000), -1.0) == pytest.approx(1 - prompt_rank, rel=1e-6)


def test_no_correlation_leaves_output_ranks_untouched():
    own = ranks(100)
    assert correlated(ranks(100, Purpose.PROMPT_LEN), own, 0.0) is own
