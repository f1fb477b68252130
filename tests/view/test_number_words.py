"""How numbers, shares and counts are told: one rule, wherever they stand."""

import math

import pytest

from sim.view.number_words import counted, listed, percent_beside, short_number, short_percent, short_time


@pytest.mark.parametrize(
    ("value", "text"), [(0.012345, "0.0123"), (31, "31"), (2338.4, "2,338"), (12_345, "12.3k"), (2_000_000, "2,000k")]
)
def test_numbers_have_three_digits_and_no_exponent(value, text):
    assert short_number(value) == text


def test_what_is_not_a_number_is_shown_as_a_dash():
    assert {words(math.nan) for words in (short_number, short_percent, short_time)} == {"-"}
    assert percent_beside(math.nan, 0.9) == "-"


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


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (1, "100 %"),
        (0.99996, "99.9 %"),
        (0.9871, "98.7 %"),
        (0.9849, "98 %"),
        (0.954, "95 %"),
        (0.0432, "4.3 %"),
        (0, "0 %"),
    ],
)
def test_only_the_whole_is_a_hundred_percent(share, text):
    assert short_percent(share) == text


@pytest.mark.parametrize(
    ("share", "limit", "told"),
    [
        (0.8996, 0.9, "89.96 %"),
        (0.898, 0.9, "89.8 %"),
        (0.9, 0.9, "90 %"),
        (0.874, 0.9, "87 %"),
        (0.9896, 0.99, "98.96 %"),
    ],
)
def test_a_share_below_a_limit_is_not_shown_as_the_limit(share, limit, told):
    assert percent_beside(share, limit) == told


@pytest.mark.parametrize(("number", "told"), [(0, "0 requests"), (1, "1 request"), (1200, "1,200 requests")])
def test_one_thing_is_singular(number, told):
    assert counted(number, "request") == told


@pytest.mark.parametrize(("names", "told"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
def test_the_last_of_a_list_follows_and(names, told):
    assert listed(names) == told
