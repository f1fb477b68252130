"""Head-of-line delay."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import with_values
from sim.engine.head_of_line import hol_delay_s
from tests.cases import BASE, run, trace


def test_short_requests_behind_a_long_one_wait_for_it() -> None:
    # One slot: 10 tokens, then 2, then 1. The second waits 10 s for the first, the third 10 s for that and 2 s more.
    result = run(with_values(BASE, {"scheduler.max_num_seqs": 1}), trace([10, 2, 1]))
    assert result.hol_delay_s.tolist() == [0, 10, 12]


def test_long_request_behind_short_ones_has_no_head_of_line_delay() -> None:
    result = run(with_values(BASE, {"scheduler.max_num_seqs": 1}), trace([1, 2, 10]))
    assert result.hol_delay_s.tolist() == [0, 0, 0]


def test_equal_lengths_do_not_count() -> None:
    result = run(with_values(BASE, {"scheduler.max_num_seqs": 1}), trace([5, 5]))
    assert result.hol_delay_s.tolist() == [0, 0]


def test_request_still_waiting_at_the_stop_has_waited_until_then() -> None:
    scenario = with_values(BASE, {"scheduler.max_num_seqs": 1, "max_sim_time_s": 7.0})
    assert run(scenario, trace([10, 2])).hol_delay_s.tolist() == [0, 7]


def test_nobody_has_no_delay() -> None:
    assert hol_delay_s(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64)).size == 0


@given(st.lists(st.tuples(*[st.integers(0, 12)] * 3, st.integers(1, 4)), min_size=1, max_size=12))
def test_agrees_with_looking_at_every_second(rows: list[tuple[int, int, int, int]]) -> None:
    arrival, wait, service, length = map(np.array, zip(*rows, strict=True))
    start, finish = arrival + wait, arrival + wait + service
    expected = [
        sum(
            any(length[j] > length[i] and start[j] <= second < finish[j] for j in range(len(rows)))
            for second in range(arrival[i], start[i])
        )
        for i in range(len(rows))
    ]
    found = hol_delay_s(arrival.astype(float), start.astype(float), finish.astype(float), length)
    assert found == pytest.approx(expected)
