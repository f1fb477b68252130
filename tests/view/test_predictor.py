"""Predictor in words and tables: from numbers written down here."""

import math

import numpy as np
import pytest

from sim import preset, with_values
from sim.studies.bill import Bill
from sim.studies.predictor.break_even import DELAYS_MS, NO_ORDER, NO_PREDICTOR, Gains, Limits, Trial, late, limits_of
from sim.studies.predictor.error_map import OBJECTIVES, TWICE, direction
from sim.studies.predictor.uses import Use
from sim.studies.predictor.worth import Worth
from sim.view import limits_words, predictor
from tests.predictor_runs import THROUGHPUT, errors, now, published, steep


def trials(without=80.0, lost_at_ms=10.0, lost_meanwhile_ms=math.inf):
    found = {NO_PREDICTOR: now(without), NO_ORDER: now(e2e_s=0.4)}
    for is_synchronous, lost_ms in ((True, lost_at_ms), (False, lost_meanwhile_ms)):
        for trial in late(Use.RESERVE, 0.5, is_synchronous=is_synchronous):
            found[trial] = now(100 if trial.delay_ms < lost_ms else 60)
    return found


def by_delay(is_synchronous: bool, at_first: float, at_last: float) -> Gains:
    """Gains that keep to one value, and fall to another at the last delay."""
    delays = DELAYS_MS[is_synchronous]
    return [*delays], [at_first] * (len(delays) - 1) + [at_last]


def test_verdict_says_which_direction_hurts_more_by_how_much_and_up_to_where_it_is_worth_it():
    # 25 % better at a delay of 3 ms and 25 % worse at 10: 1 % is passed at 3 + 7 * 24 / 50.
    told = predictor.verdict("throughput", errors(steep), trials(), 0.5)
    assert told == (
        "Over-prediction hurts more: where lengths are predicted twice too long, throughput is 40 % lower; where "
        "half as long, it is 10 % lower; a reservation is worth it at every spread tried and below 6.36 ms of waiting "
        "for it."
    )


def test_verdict_waits_for_every_delay_and_the_card_names_the_one_that_is_too_late_meanwhile():
    # As good as without a delay up to 300 ms and 25 % worse at 1 s: 1 % is passed at 300 + 700 * 24 / 50.
    tried = trials(lost_meanwhile_ms=1000.0)
    told = predictor.verdict("throughput", errors(steep), tried, 0.5)
    assert told.endswith("a reservation is worth it at every spread tried and below 6.36 ms of waiting for it.")
    now_limits = limits_of(tried, errors(steep), Use.RESERVE, 0.5, THROUGHPUT)
    card = limits_words.limits_of_use(Use.RESERVE, "throughput", now_limits)
    assert card.endswith("below 6.36 ms if the scheduler waits for it, below 636 ms if it goes on meanwhile.")
    del tried[late(Use.RESERVE, 0.5, is_synchronous=False)[-1]]
    assert "worth it" not in predictor.verdict("throughput", errors(steep), tried, 0.5)


def test_verdict_of_the_other_direction_and_of_equal_ones():
    under = predictor.verdict("throughput", errors(lambda bias: steep(-bias)), {}, 0.5)
    assert under.startswith("Under-prediction hurts more: where lengths are predicted half as long, throughput is 40 %")
    alike = predictor.verdict("throughput", errors(lambda bias: now(100 - 10 * abs(bias) / TWICE)), {}, 0.5)
    assert alike.startswith(
        "Over- and under-prediction hurt throughput alike: it is 10 % lower, whether lengths are predicted twice too "
        "long or half as long"
    )


@pytest.mark.parametrize(
    ("over", "under", "told"),
    [  # tokens/s where lengths are predicted twice too long and half as long; 100 without bias
        (110, 100, "Over-prediction helps: where lengths are predicted twice too long, throughput is 10 % higher; "
         "where half as long, it is the same"),
        (105, 120, "Under-prediction helps more: where lengths are predicted half as long, throughput is 20 % higher; "
         "where twice too long, it is 5 % higher"),
        (110, 80, "Under-prediction hurts, over-prediction helps: where lengths are predicted half as long, throughput "
         "is 20 % lower; where twice too long, it is 10 % higher"),
        (110, 110, "Over- and under-prediction help throughput alike: it is 10 % higher, whether lengths are predicted "
         "twice too long or half as long"),
    ],
)  # fmt: skip
def test_an_error_that_does_good_is_not_said_to_hurt(over, under, told):
    at = {TWICE: over, -TWICE: under}
    curve = errors(lambda bias: now(np.interp(bias, [-TWICE, 0.0, TWICE], [at[-TWICE], 100, at[TWICE]])))
    assert predictor.verdict("throughput", curve, {}, 0.5) == f"{told}."


def test_an_error_that_matters_only_beyond_a_factor_of_two_is_not_said_to_hurt():
    told = predictor.verdict("throughput", errors(lambda bias: now(100 - 10 * (abs(bias) > 1))), {}, 0.5)
    assert told == "To predict twice too long or half as long makes no difference to throughput."


def test_an_objective_that_an_error_does_not_touch_leads_to_the_one_it_does():
    """Throughput is what arrives; half as long adds 69 preemptions."""
    told = predictor.verdict("throughput", errors(lambda bias: now(preemptions=max(-bias, 0.0) * 100 + 0.0)), {}, 0.5)
    assert told == (
        "The error of a prediction makes no difference to throughput here; but under-prediction hurts more: where "
        "lengths are predicted half as long, preemptions are 69 instead of 0; where twice too long, they are the same."
    )


def test_an_error_that_touches_nothing_names_the_errors_that_were_tried_and_no_cause():
    """Why, the runs do not say: long-context preempts and waits, and its answers are short beside its prompts."""
    told = predictor.verdict("throughput", errors(lambda bias: now()), {}, 0.5)
    assert told == (
        "The error of a prediction makes no difference to throughput here, from a quarter of the likeliest length to "
        "four times as much."
    )


def test_verdict_without_effect_without_limits_and_while_it_is_computed():
    assert "makes no difference to throughput here" in predictor.verdict(
        "throughput", errors(lambda bias: now()), trials(), 0.5
    )
    assert "is being computed" in predictor.verdict("throughput", {}, {}, 0.5)
    undefined = {cell: run._replace(goodput_rps=np.nan) for cell, run in errors(steep).items()}
    assert predictor.verdict("goodput", undefined, {}, 0.5).startswith("Goodput needs a limit")


def test_preemptions_are_told_in_numbers():
    told = predictor.verdict("preemptions", errors(lambda bias: now(preemptions=max(-bias, 0.0) * 100 + 0.0)), {}, 0.5)
    assert told.startswith(
        "Under-prediction hurts more: where lengths are predicted half as long, preemptions are 69 instead of 0; where "
        "twice too long, they are the same"
    )


def test_a_predictor_that_is_no_better_than_none_is_said_so():
    told = predictor.verdict("throughput", errors(steep), trials(without=100.0), 0.5)
    assert told.endswith("even without error a reservation is no better than no predictor.")


@pytest.mark.parametrize(
    ("without", "gained", "ending"),
    [  # tokens/s without a predictor, 100 with one; how much more one replica sustains within the limits
        (100.0, 0.12, "a reservation is no better than no predictor, yet within the limits one replica sustains 12 % "
         "more with it."),
        (100.0, -0.4, "no better than no predictor, and within the limits one replica sustains 40 % less with it."),
        (100.0, 0.02, "even without error a reservation is no better than no predictor."),
        (80.0, 0.02, "below 6.36 ms of waiting for it, yet within the limits one replica sustains no more with it."),
        (80.0, -0.4, "below 6.36 ms of waiting for it, yet within the limits one replica sustains 40 % less with it."),
        (80.0, 0.4, "a reservation is worth it at every spread tried and below 6.36 ms of waiting for it."),
    ],
)  # fmt: skip
def test_the_verdict_says_where_the_money_says_the_contrary(without, gained, ending):
    """A rate is searched to 2.5 %: 2 % more is no more."""
    assert predictor.verdict("throughput", errors(steep), trials(without), 0.5, gained).endswith(ending)


def test_an_error_without_effect_does_not_hide_what_a_reservation_gives_within_the_limits():
    told = predictor.verdict("throughput", errors(lambda bias: now()), trials(), 0.5, -0.37)
    assert told.endswith("times as much, and within the limits one replica sustains 37 % less with a reservation.")
    assert predictor.verdict("throughput", errors(lambda bias: now()), trials(), 0.5, 0.01).endswith("times as much.")


def test_a_reservation_worth_it_with_the_best_bias_alone_is_said_to_be_so():
    late_trials = trials(
        without=80.0, lost_at_ms=0.0, lost_meanwhile_ms=0.0
    )  # with the own spread of 0.5 there is a loss at every delay
    told = predictor.verdict("throughput", errors(steep), late_trials, 0.5)
    assert told.endswith("worth it at every spread tried, but not with this predictor's own bias.")


def test_a_single_preemption_is_no_finding():
    told = predictor.verdict("preemptions", errors(lambda bias: now(preemptions=float(bias == -TWICE))), {}, 0.5)
    assert told.startswith("The error of a prediction makes no difference to preemptions here")
    many = {-TWICE: 62.0, TWICE: 1.0}
    told = predictor.verdict("preemptions", errors(lambda bias: now(preemptions=many.get(bias, 2.0))), {}, 0.5)
    assert told.startswith(
        "Under-prediction hurts more: where lengths are predicted half as long, preemptions are 62 instead of 2; where "
        "twice too long, they are 1 instead of 2"
    )


def test_a_goodput_that_was_none_is_not_said_to_stay_the_same():
    def goodput(bias):
        good = 300.0 if bias == TWICE else 0.0
        return now()._replace(goodput_rps=good / 100, good=good, requests=1000)

    told = predictor.verdict("goodput", errors(goodput), {}, 0.5)
    assert told.startswith(
        "Over-prediction helps: where lengths are predicted twice too long, goodput is 3 requests/s instead of 0 "
        "requests/s; where half as long, it is the same"
    )


def test_best_bias_with_its_range_and_quantile():
    best = direction(errors(lambda bias: now(100 - 50 * abs(bias - TWICE))), 0.5, THROUGHPUT)
    told = predictor.best_sentence("throughput", best, 0.5)
    assert "predict 2x the likeliest length (bias +0.69)" in told
    upright = direction(errors(lambda bias: now(100 - 50 * abs(bias))), 0.5, THROUGHPUT)
    assert predictor.best_sentence("throughput", upright, 0.5).startswith(
        "Best for throughput: predict the likeliest length, without bias"
    )
    assert "reserves the 92 % quantile" in told
    few = direction(errors(lambda bias: now(preemptions=float(bias < 0))), 0.5, OBJECTIVES["preemptions"])
    assert "from 0.25x to 4x it is as good but for chance" in predictor.best_sentence("preemptions", few, 0.5)
    assert predictor.best_sentence("throughput", best._replace(quantile=None), 0.0).endswith("no quantile to choose.")


def test_limits_of_a_use_in_words():
    falling = ([0.0, 1.0], [0.21, -0.19])
    waits = by_delay(True, 0.5, 0.4)
    # 24 % at 30 s and -16 % at 100 s: 1 % is passed at 30 + 70 * 23 / 40.
    told = limits_words.limits_of_use(Use.ORDER, "throughput", Limits(falling, waits, by_delay(False, 0.24, -0.16)))
    assert told == (
        "**Ordering** (judged by mean E2E per token, full queue): worth it below a spread of 0.5 (within a factor of "
        "2: 83 %) and at every delay tried if the scheduler waits for it, below 70.2 s if it goes on meanwhile."
    )
    still = Limits(falling, waits, by_delay(False, 0.5, 0.4))
    assert limits_words.delay_limits(still) == " and at every delay tried"
    alike = Limits(falling, by_delay(True, 0.5, -0.16), by_delay(False, 0.5, 0.495))
    assert limits_words.delay_limits(alike).endswith("; if it goes on meanwhile, the delay does not matter here")
    on_its_way = Limits(falling, waits, ([0.0, 10.0], [0.5, 0.5]))
    assert limits_words.delay_limits(on_its_way).endswith("if the scheduler waits for it")
    nothing_yet = Limits(falling, waits, ([], []))
    assert limits_words.delay_limits(nothing_yet).endswith("if the scheduler waits for it")
    never = limits_words.limits_of_use(Use.RESERVE, "throughput", still._replace(by_spread=([0.0], [-0.1])))
    assert never.endswith("no better than no predictor, even without error.")
    unsure = limits_words.limits_of_use(Use.RESERVE, "throughput", still._replace(waits=([0.0], [-0.1])))
    assert unsure.endswith("; with this predictor's own error not even without delay.")


def test_uses_table_has_a_row_for_each_run_there_is():
    none, order = (now(900.0)._replace(whole_tokens_per_s=rate) for rate in (200.0, 300.0))
    rows = predictor.use_rows({NO_ORDER: none, Trial(Use.ORDER, 0.5, 0.0, True): order}, 0.5)
    table = predictor.uses_table(rows)
    assert table["Use"] == ["no predictor", "ordering"]
    assert table["output tokens/s"] == ["200", "300"]
    assert table["p99 TPOT"] == ["20 ms", "20 ms"]


def test_lesson_sets_accuracy_beside_order():
    found = {
        "class10_lmsys": published("class10_lmsys", 0.17, 0.97, e2e_s=0.9),
        "ranker_lmsys": published("ranker_lmsys", 0.62, e2e_s=0.3),
    }
    table = predictor.lesson_table(found)
    assert table["accuracy, published"] == ["97 %", "-"]
    assert table["accuracy, here"] == ["97 %", "-"]
    assert table["tau, here"] == ["0.17", "0.62"]
    told = predictor.lesson_sentence(found)
    assert "right class of 97 % of answers here and keeps the order with a tau of only 0.17, because" in told
    long = found | {"class10_lmsys": found["class10_lmsys"]._replace(accuracy=0.24)}  # in many classes
    assert "class of 24 % of answers here and keeps the order with a tau of 0.17; the" in predictor.lesson_sentence(
        long
    )
    assert "900 ms and 300 ms per token" in told
    assert predictor.lesson_sentence({}) == ""


def test_order_among_equals_is_no_order():
    def told(tau, ranked, e2e_s=0.1):
        found = {name: published(name, each, 0.9, e2e_s) for name, each in
                 (("class10_lmsys", tau), ("ranker_lmsys", ranked))}  # fmt: skip
        return predictor.lesson_sentence(found), predictor.lesson_table(found)["tau, here"]

    assert told(math.nan, math.nan) == ("All answers are of one length here: there is no order to keep.", ["-", "-"])
    assert "says nothing of the order, because all answers lie in one class;" in told(math.nan, 0.6)[0]
    assert told(0.1, 0.6, math.nan)[0].endswith("keeps it with 0.60.")


def test_drift_table_compares_the_ranker_built_for_the_traffic_with_one_from_elsewhere():
    found = {
        "ranker_lmsys": published("ranker_lmsys", 0.62, e2e_s=0.1),
        "ranker_sharegpt_on_lmsys": published("ranker_sharegpt_on_lmsys", 0.45, e2e_s=0.3),
    }
    table = predictor.drift_table(found, now(e2e_s=0.4))
    assert table["Traffic"] == ["LMSYS-Chat-1M"]
    assert (table["tau, own ranker"], table["tau, drifted"]) == (["0.62"], ["0.45"])
    assert (table["E2E/token, own ranker"], table["E2E/token, drifted"]) == (["-75 %"], ["-25 %"])


def test_an_order_of_nobody_has_no_change():
    found = {name: published(name, math.nan, e2e_s=math.nan) for name in ("ranker_lmsys", "ranker_sharegpt_on_lmsys")}
    assert predictor.drift_table(found, now(e2e_s=math.nan))["E2E/token, drifted"] == ["-"]


def test_drift_of_a_reservation_is_read_off_the_curve():
    told = predictor.drift_sentence(errors(steep), "throughput", THROUGHPUT, 0.5)
    assert "grown by 41 % since the predictor was built, throughput is 95 tokens/s instead of 100 tokens/s" in told
    assert "when they have shrunk by 29 %, it is 80 tokens/s." in told  # 1 / 1.41
    one_way = predictor.drift_sentence(errors(lambda bias: now(100 - 40 * max(bias, 0))), "throughput", THROUGHPUT, 0.5)
    assert "built, throughput is 100 tokens/s, as without drift; when they have shrunk by 29 %, it is 86.1" in one_way
    still = predictor.drift_sentence(errors(lambda bias: now()), "throughput", THROUGHPUT, 0.5)
    assert still.endswith("built or shrunk by 29 %, throughput is 100 tokens/s, as without drift.")
    nearly = predictor.drift_sentence(errors(lambda bias: now(100 + bias)), "throughput", THROUGHPUT, 0.5)
    assert nearly.endswith(
        "shrunk by 29 %, throughput is 99.7 tokens/s or 100 tokens/s, no clear change from 100 tokens/s."
    )


def test_worth_in_words():
    # 10 GPUs at 2 $ against 8.5 and 100 $ a month: 1.5 * 2 * 730 - 100 = 2,090 $ a month.
    before = Bill(10, 10, 10, 10, 0.0, 0.0, 20.0, None)
    after = Bill(8, 8, 8, 8, 0.5, 100 / 730, 17.0 + 100 / 730, None)
    told = predictor.worth_sentence(Use.ORDER, Worth(before, after), 40.0)
    assert told == (
        "**Ordering**: 40 requests/s need 8 GPUs instead of 10 without a predictor, and 0.5 for the predictor: "
        "**\\$2,090 a month saved**, retraining included."
    )
    lost = predictor.worth_sentence(Use.ORDER, Worth(after, before), 40.0)
    assert "instead of 8 without a predictor: **\\$2,090 a month lost**." in lost
    alike = predictor.worth_sentence(Use.ORDER, Worth(before._replace(gpus=1), before._replace(gpus=1)), 40.0)
    assert alike == ("**Ordering**: 40 requests/s need 1 GPU as without a predictor: **nothing saved, nothing lost**.")
    unpriced = Worth(before._replace(usd_per_hour=None), after._replace(usd_per_hour=None))
    assert predictor.worth_sentence(Use.ORDER, unpriced, 40.0).endswith("has no price.")
    near = predictor.worth_sentence(Use.ORDER, Worth(before, after._replace(retraining_usd_per_hour=0.0)), 40.0, 0.02)
    assert near.endswith("saved**, by rates that differ by less than a search can tell (2.5 %).")
    assert predictor.capacity_note({Use.ORDER: 0.25, Use.RESERVE: math.nan}) == (
        "One replica sustains, against no predictor: ordering +25.0 %. As on Capacity, 90 % of requests are within the "
        "limits and 20 % of each replica are kept free."
    )


@pytest.mark.parametrize(
    ("scheduler", "left_out"),
    [
        (
            {"async_scheduling": True},
            "leave out asynchronous scheduling: no scheduler here that is told lengths has it.",
        ),
        (
            {"enable_prefix_caching": True, "scheduling_policy": "priority"},
            "leave out prefix cache and priorities: no scheduler here that is told lengths has them.",
        ),
        ({"system": "sglang"}, "vLLM V1 stands for it"),
        ({}, None),
        ({"reserve": "prompt", "async_scheduling": True}, None),
        ({"system": "orca", "enable_prefix_caching": True}, None),
    ],
)
def test_what_a_comparison_with_a_predictor_leaves_out_is_said(scheduler, left_out):
    plain = {"async_scheduling": False, "enable_prefix_caching": False}
    told = predictor.basis_note(with_values(preset("chat"), {"scheduler": plain | scheduler}))
    assert left_out in told if left_out else not told
