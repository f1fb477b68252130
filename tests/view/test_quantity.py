"""How a quantity is told: number and unit, and the title of its axis."""

import pytest

from sim.view.number_words import short_time
from sim.view.quantity import KV_USE, NORM_LATENCY, OUTPUT_RATE, PREEMPTIONS, TPOT, TTFT


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.0, "0 ms"),
        (0.00004, "0.04 ms"),
        (0.0368, "36.8 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1 s"),  # to three digits it is a second
        (1.0, "1 s"),
        (58.44, "58.4 s"),
        (2250.0, "2,250 s"),
        (14301.4, "14,301 s"),  # not 14.3k s
    ],
)
def test_a_time_below_a_second_is_told_in_ms(seconds, told):
    assert short_time(seconds) == told
    assert all(each.told(seconds) == told for each in (TTFT, TPOT, NORM_LATENCY))


def test_what_is_no_time_keeps_its_unit():
    assert OUTPUT_RATE.told(2078.4) == "2,078 tokens/s"
    assert KV_USE.told(0.0616) == "6.16 %"
    assert PREEMPTIONS.told(12) == "12"


def test_an_axis_has_one_pair_of_brackets():
    assert TTFT.axis_title == "TTFT (s)"
    assert NORM_LATENCY.axis_title == "E2E per token (batch delivery, ms)"
    assert PREEMPTIONS.axis_title == "Preemptions"
