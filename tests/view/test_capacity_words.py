"""Capacity in words and tiles: from numbers written down here."""

import pytest

from sim.presets import preset
from sim.scenario import with_values
from sim.studies.bill import Prices
from sim.studies.capacity_search import Searched
from sim.studies.rate_search import LargestRate
from sim.view import capacity, capacity_figures
from sim.view.capacity import Option, Terms

TOLD = with_values(
    preset("chat"), {"scheduler.system": "ssjf", "predictor.own_gpus": 1.5, "cost.price_per_gpu_hour": 2.0}
)
TERMS = Terms(40.0, 0.0, 0.9, Prices(retraining_usd_per_month=730.0))


def option(*rates_rps: float, terms: Terms = TERMS, truncated: float = 0.0) -> Option:
    searched = [Searched(LargestRate(rate, 1.02 * rate, 4), 0.93, 250.0, truncated, 1_000) for rate in rates_rps]
    found = capacity.own_option(TOLD, searched, terms)
    assert found is not None
    return found


def test_verdict_and_tiles_name_what_the_predictor_costs() -> None:
    # 40 requests/s at 10 each: 4 GPUs and 1.5 for the predictor at 2 $ an hour, and 730 $ a month: 12 $ an hour.
    own = option(10.0)
    told = "40 requests/s need 4 replicas = 4 H100-SXM and 1.5 for the predictor, $12.00/h: one replica sustains 10 "
    assert capacity.verdict(own, TERMS).startswith(told)
    tiles = {tile.key: tile for tile in capacity.tiles(own, 40.0)}
    assert (tiles["gpus"].value, tiles["gpus"].note) == ("5.5", "1.5 for the predictor")
    assert (tiles["usd_per_hour"].value, tiles["usd_per_hour"].note) == ("$12.00", "$1.00 for retraining")


def test_a_verdict_of_some_replications_says_how_many() -> None:
    assert "(bracket of the search, 1 of 5 so far)" in capacity.interval_sentence(option(10.0), 5)
    assert "(95 % interval of 2 replications, 2 of 5 so far)" in capacity.interval_sentence(option(10.0, 10.2), 5)
    assert "(95 % interval of 2 replications)" in capacity.interval_sentence(option(10.0, 10.2), 2)


def test_a_small_rate_has_three_digits_in_the_table_as_on_its_tile() -> None:
    own = option(0.10342)
    rates = [capacity.CELLS["requests/s"](rate) for rate in capacity.table([own])["requests/s"]]
    assert rates == ["0.103"] == [capacity.tiles(own, 40.0)[0].value]


def test_a_price_counts_for_the_chosen_gpu_alone_whatever_the_number_of_them() -> None:
    own = option(10.0)
    assert own.found is not None
    paid = TERMS._replace(prices=Prices(per_gpu_hour=1.0, predictor_gpus=0.0))
    double = own.found._replace(scenario=with_values(TOLD, {"deployment.tensor_parallel_size": 2}))
    other = own.found._replace(scenario=with_values(TOLD, {"deployment.gpu": "H200", "cost.price_per_gpu_hour": 3.0}))
    costs = [capacity.cost_of(found, paid, TOLD).usd_per_hour for found in (own.found, double, other)]
    assert costs == pytest.approx([4 * 1.0, 8 * 1.0, 4 * 3.0])
    assert capacity.cost_of(double, paid, TOLD, 80.0).usd_per_hour == 16.0


def test_counts_of_replicas_and_gpus_are_said_as_people_say_them() -> None:
    own, better = option(10.0), option(40.0)  # 4 replicas, and 1
    assert "40 requests/s need 1 replica = 1 H100-SXM" in capacity.verdict(better, TERMS)
    assert capacity.cheapest_sentence([own, better], own).startswith("Cheapest of these: 1 replica of ")
    assert ", 3 GPUs fewer, -$6.00/h" in capacity.what_if_sentences(own, [better])[0]
    strict = TERMS._replace(share=0.99, headroom=0.2)
    assert "with 99 % of requests within the limits, 20 % of each kept free." in capacity.verdict(own, strict)


def test_answers_that_are_cut_anyway_are_not_told_of_a_change() -> None:
    own, other = (option(rate, truncated=0.034) for rate in (10.0, 12.0))
    assert "cut" not in capacity.what_if_sentences(own, [other], cut_anyway=0.034)[0]
    capped = option(12.0, truncated=0.084)
    assert ", 8.4 % of answers are cut." in capacity.what_if_sentences(own, [capped], cut_anyway=0.034)[0]


def test_gpus_saved_by_a_rate_that_a_search_cannot_tell_from_the_other_are_told_with_that() -> None:
    """A search stops at 2.5 %: at 9.9 and 10.1 requests/s 40 need 5 and 4 replicas, and that is chance."""
    own, near, far = option(9.9), option(10.1), option(13.5)
    assert "(+2.0 %, less than a search can tell), 1 GPU fewer" in capacity.what_if_sentences(own, [near])[0]
    assert "(+36.4 %), 2 GPUs fewer" in capacity.what_if_sentences(own, [far])[0]
    assert "(+1.0 %), as many GPUs" in capacity.what_if_sentences(option(10.0), [near])[0]


def test_where_there_is_no_answer_the_first_line_says_whose_fault_it_is() -> None:
    tight = capacity.no_answer("slo is out of reach (tpot_ms 1): at 2.3 requests/s, ...")
    assert tight == "No number of such servers keeps these limits, not even at light load."
    assert "cannot be said" in capacity.no_answer("slo is without a limit; ttft_ms, tpot_ms or e2e_ms is needed")


def test_arrivals_without_a_rate_are_said_to_be_replaced() -> None:
    assert capacity.arrivals_note(preset("closed-loop")).startswith("Users of a closed loop have no rate")
    assert capacity.arrivals_note(preset("batch-generation")).startswith("Requests that all come at once have no rate")
    assert capacity.arrivals_note(preset("chat")) == ""


@pytest.mark.parametrize(
    ("amount", "told"), [(0.0, "0.00"), (0.1491, "0.149"), (6.6, "6.60"), (379.68, "379.68"), (4537.92, "4,538")]
)
def test_cents_are_told_below_a_thousand_dollars(amount: float, told: str) -> None:
    assert capacity.dollars(amount) == told


def test_beside_a_bar_of_the_what_ifs_stands_a_text_that_crosses_no_line() -> None:
    own, worse = option(10.0), option(8.0)._replace(name="tail 2 x longer")
    notes = {each.y: each.x for each in capacity_figures.what_if(own, [worse], 2).layout.annotations}
    assert notes == {"as it is": 10.0, "tail 2 x longer": 10.0}  # behind the line of 10 requests/s


def test_hatching_is_explained_where_there_is_some() -> None:
    own = option(10.0)
    rough = own._replace(found=own.found._replace(scenario=with_values(TOLD, {"deployment.gpu": "B300"})), name="B300")
    for options, wanted in (([own], []), ([own, rough], [capacity_figures.ROUGH])):
        figure = capacity_figures.deployments(options, own.name, "usd", 2, is_complete=True)
        assert [each.text for each in figure.layout.annotations] == wanted
