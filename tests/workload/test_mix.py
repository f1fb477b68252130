"""Which request is of which task type."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sim.workload.mix import deal_types
from sim.workload.randomness import RandomNumbers

NUMBERS = RandomNumbers(3)
SHARES = st.lists(st.integers(1, 40), min_size=2, max_size=6)


def test_random_types_come_in_their_shares():
    n = 100_000
    counts = np.bincount(deal_types([2.0, 1.0, 1.0], "random", NUMBERS, n))
    # 5 standard deviations of a binomial with p = 1/2, the widest of the three.
    assert np.abs(counts - [n / 2, n / 4, n / 4]).max() < 5 * np.sqrt(n / 4)


@given(shares=SHARES, n=st.integers(1, 100), more=st.integers(0, 100))
def test_more_requests_leave_the_first_types_as_they_are(shares, n, more):
    for mix in ("random", "exact"):
        assert np.array_equal(deal_types(shares, mix, NUMBERS, n + more)[:n], deal_types(shares, mix, NUMBERS, n))


def test_exact_mix_gives_every_batch_of_32_its_one_straggler():
    types = deal_types([31, 1], "exact", NUMBERS, 32 * 500)
    assert types.reshape(500, 32).sum(axis=1).tolist() == [1] * 500


@given(shares=SHARES, rounds=st.integers(1, 5))
def test_exact_mix_is_exact_after_each_full_round_of_shares(shares, rounds):
    types = deal_types(shares, "exact", NUMBERS, sum(shares) * rounds)
    assert np.bincount(types, minlength=len(shares)).tolist() == [share * rounds for share in shares]


@given(share=st.floats(0.01, 0.99), n=st.integers(1, 300))
def test_exact_mix_of_two_is_never_off_by_more_than_half_a_request(share, n):
    first = deal_types([share, 1 - share], "exact", NUMBERS, n) == 0
    wanted = share * np.arange(1, n + 1)
    assert np.abs(np.cumsum(first) - wanted).max() <= 0.5 + 1e-9


def test_exact_mix_draws_nothing():
    assert np.array_equal(deal_types([3, 2], "exact", NUMBERS, 50), deal_types([3, 2], "exact", RandomNumbers(99), 50))


def test_single_type_is_everybodys():
    assert deal_types([0.3], "random", NUMBERS, 4).tolist() == [0, 0, 0, 0]
