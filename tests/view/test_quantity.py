"""How numbers and times are told: one rule, wherever they stand."""

import pytest

from sim.view.quantity import KV_USE, NORM_LATENCY, OUTPUT_RATE, PREEMPTIONS, TPOT, TTFT
from sim.view.theme import short_number, short_time


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


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0000123, "0.0000123"),
        (0.00001, "0.00001"),
        (0.0154, "0.0154"),
        (99.96, "100"),
        (999.7, "1,000"),
        (9_999.6, "10k"),
        (12_345, "12.3k"),
        (999_600, "1,000k"),
        (-999.7, "-1,000"),
    ],
)
def test_no_number_comes_with_an_exponent(value, told):
    assert short_number(value) == told


def test_an_axis_has_one_pair_of_brackets():
    assert TTFT.axis_title == "TTFT (s)"
    assert NORM_LATENCY.axis_title == "E2E per token (batch delivery, ms)"
    assert PREEMPTIONS.axis_title == "Preemptions"
