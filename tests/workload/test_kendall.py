"""Noise that leaves a wanted Kendall tau: against theory, and against SciPy's tau of drawn noise."""

import math

import numpy as np
import pytest
from scipy import stats

from sim.workload.kendall import noise_for_class_tau, noise_for_tau

RNG_SEED = 7


def normal_lengths(n: int = 4096) -> np.ndarray:
    """ln N of standard normal spread, at its quantiles."""
    return stats.norm.ppf((np.arange(n) + 0.5) / n)


@pytest.mark.parametrize("tau", [0.1, 0.4, 0.54, 0.62, 0.73, 0.9])
def test_noise_is_that_of_theory_for_normal_lengths(tau):
    # A bivariate normal with correlation r has tau = (2 / pi) asin r, and r = 1 / sqrt(1 + m^2) here.
    theory = math.sqrt(1 / math.sin(math.pi * tau / 2) ** 2 - 1)
    # 256 quantiles stand for the distribution, and 400 bins for their differences.
    assert noise_for_tau(normal_lengths(), tau) == pytest.approx(theory, rel=0.015)


@pytest.mark.parametrize("tau", [0.2, 0.5, 0.8])
def test_drawn_noise_has_the_wanted_tau_where_lengths_tie(tau):
    rng = np.random.default_rng(RNG_SEED)
    lengths = rng.integers(1, 12, 20_000)
    log_len = np.log(lengths)
    noise = noise_for_tau(log_len, tau)
    drawn = stats.kendalltau(log_len + noise * rng.standard_normal(len(log_len)), lengths)[0]
    # 4 standard errors: sd of tau over samples is about 2/3 / sqrt(n) at most.
    assert drawn == pytest.approx(tau, abs=4 * 0.67 / math.sqrt(20_000))


@pytest.mark.parametrize("tau", [0.1, 0.3, 0.5])
def test_classes_of_a_noisy_estimate_have_the_wanted_tau(tau):
    rng = np.random.default_rng(RNG_SEED)
    log_len = 5.5 + rng.standard_normal(20_000)
    borders = np.log([100, 200, 300, 400])
    rho = noise_for_class_tau(log_len, borders, tau)
    estimate = log_len.mean() + rho * (log_len - log_len.mean())
    estimate += math.sqrt(rho * (1 - rho)) * log_len.std() * rng.standard_normal(len(log_len))
    drawn = stats.kendalltau(np.searchsorted(borders, estimate), log_len)[0]
    assert drawn == pytest.approx(tau, abs=4 * 0.67 / math.sqrt(20_000) + 0.005)  # 128 quantiles stand for the lengths


def test_a_tau_that_ties_do_not_allow_is_met_with_hardly_any_noise():
    lengths = np.array([1.0] * 90 + [2.0] * 10)  # tau-b of a perfect order: sqrt(2 * 0.9 * 0.1) = 0.42
    assert noise_for_tau(np.log(lengths), 0.9) < 1e-4


def test_equal_lengths_need_no_noise():
    assert noise_for_tau(np.zeros(50), 0.5) == 0
    assert 0 <= noise_for_class_tau(np.zeros(50), np.array([1.0]), 0.5) <= 1


def test_the_order_of_the_requests_does_not_matter():
    log_len = normal_lengths(500)
    shuffled = np.random.default_rng(RNG_SEED).permutation(log_len)
    assert noise_for_tau(shuffled, 0.5) == noise_for_tau(log_len, 0.5)
