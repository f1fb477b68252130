"""Numbers keyed by request and purpose."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sim.workload.randomness import Purpose, RandomNumbers

MASK = 2**64 - 1


def philox_words(key, count):
    """Philox4x64-10 in plain Python; the counter of the first block is 1, as in NumPy.

    Source: Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3.
    """
    words = []
    for block in range(1, count // 4 + 2):
        a, b, c, d = block, 0, 0, 0
        k0, k1 = key
        for _ in range(10):
            first, second = a * 0xD2E7470EE14C6C93, c * 0xCA5A826395121157
            a, b, c, d = (second >> 64) ^ b ^ k0, second & MASK, (first >> 64) ^ d ^ k1, first & MASK
            k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
        words += [a, b, c, d]
    return words[:count]


@pytest.mark.parametrize(("seed", "replication", "purpose"), [(0, 0, Purpose.GAP), (2**31 - 1, 99, Purpose.PREFIX)])
def test_numbers_are_those_of_philox_keyed_by_seed_replication_and_purpose(seed, replication, purpose):
    words = philox_words((seed, replication * 2**32 + purpose), 10)
    expected = [((word >> 12) + 0.5) / 2**52 for word in words]
    assert RandomNumbers(seed, replication).uniforms(purpose, 10).tolist() == expected


@given(
    seed=st.integers(0, 2**31 - 1),
    purpose=st.sampled_from(Purpose),
    short=st.integers(0, 200),
    more=st.integers(0, 200),
)
def test_longer_draw_begins_with_the_shorter_one(seed, purpose, short, more):
    numbers = RandomNumbers(seed)
    assert np.array_equal(numbers.uniforms(purpose, short + more)[:short], numbers.uniforms(purpose, short))


def test_numbers_are_uniform_and_strictly_inside_zero_and_one():
    n = 200_000
    u = RandomNumbers(1).uniforms(Purpose.PROMPT_LEN, n)
    assert u.min() > 0
    assert u.max() < 1
    # A uniform sample exceeds this Kolmogorov-Smirnov distance once in a thousand seeds; the seed is fixed.
    assert stats.kstest(u, "uniform").statistic < 1.95 / np.sqrt(n)


def test_largest_and_smallest_possible_numbers_stay_inside():
    for word in (0, MASK):
        assert 0 < ((word >> 12) + 0.5) * 2.0**-52 < 1


def test_streams_of_different_seed_replication_or_purpose_are_uncorrelated():
    n = 100_000
    streams = [
        RandomNumbers(seed, replication).uniforms(purpose, n)
        for seed, replication, purpose in itertools.product((0, 1), (0, 1), (Purpose.GAP, Purpose.OUTPUT_LEN))
    ]
    off_diagonal = np.corrcoef(streams) - np.eye(len(streams))
    # 28 pairs with standard error 1 / sqrt(n): 5 of them are exceeded by chance once in 60,000 seeds.
    assert np.abs(off_diagonal).max() < 5 / np.sqrt(n)
