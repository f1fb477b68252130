"""Words of Operate: what a cap costs, on which side of a target a share lies, who pays for the others."""

import math

import pytest

from sim.presets import preset
from sim.scenario import with_values
from sim.studies.caps import CapPoint
from sim.studies.length_profile import Profile
from sim.studies.margins import MarginPoint, margins_of
from sim.studies.routing import Pool, Split
from sim.studies.sla import Attained, Breaking
from sim.view import operate, routing_words, sla_words
from sim.workload.retries import Retry


def capped(cap: int | None, retry: Retry, answers_per_s: float, truncated: float = 0.343) -> CapPoint:
    return CapPoint(cap, retry, truncated, 0.33, (), 1.0, answers_per_s, 1.0, 1.0, 0.02, 30.0, 400, False)


def costs(never: float, rest: float) -> str:
    points = {
        (each.cap, each.retry): each
        for each in (
            capped(None, Retry.NEVER, 8.0, 0.0),
            capped(512, Retry.NEVER, never),
            capped(512, Retry.REST, rest),
        )
    }
    return operate.verdict(512, points)


def test_what_a_cap_costs_can_be_read_out_loud() -> None:
    """8 answers a second without: 11.36 are 42 % more, 6.472 are 19.1 % fewer."""
    assert costs(11.36, 6.472) == (
        "A cap of 512 tokens cuts 34 % of answers and loses 33 % of all tokens wanted; a full server then gives 42 % "
        "more answers/s, but 19.1 % fewer if clients ask for the rest."
    )
    assert "a full server then gives 2.8 times as many answers/s, but 26 % fewer if" in costs(22.24, 5.92)
    assert costs(8.8, 8.4).endswith("gives 10.0 % more answers/s, still 5.0 % more if clients ask for the rest.")
    assert "a full server then gives as many answers/s, but 0.1 % fewer if" in costs(8.001, 7.99)
    assert costs(8.8, 8.0).endswith("gives 10.0 % more answers/s, and as many if clients ask for the rest.")
    assert costs(8.0, 8.0).endswith("as many answers/s, and as many if clients ask for the rest.")


def test_a_cap_is_held_against_the_clients_that_there_are() -> None:
    """Clients who ask for the rest of an own cap get 4 answers a second: 8 with the other cap are twice as many."""
    points = {(512, Retry.NEVER): capped(512, Retry.NEVER, 8.0), (None, Retry.REST): capped(None, Retry.REST, 4.0)}
    assert operate.verdict(512, points, 1024).endswith("a full server then gives 2 times as many answers/s.")
    assert operate.cap_sentences(512, points)[0].startswith("**Clients take it**: 8 answers/s at full load (+100 %)")


def test_a_cap_above_the_own_one_changes_nothing_and_says_so() -> None:
    chat = preset("chat")
    two = with_values(chat, {"workload.types": [{"name": "a", "cap": 64}, {"name": "b", "cap": 128}]})
    assert operate.own_cap(two) == 128
    assert operate.own_cap(with_values(two, {"workload.types.0.cap": None})) is None
    points = {(512, Retry.NEVER): capped(512, Retry.NEVER, 8.0), (None, Retry.NEVER): capped(None, Retry.NEVER, 8.0)}
    said = "A cap of 512 tokens changes nothing: no answer may be longer than 128 as it is, which cuts 34 % of answers"
    assert operate.verdict(512, points, 128) == f"{said} and loses 33 % of all tokens wanted."
    for retry, clients in ((Retry.REST, "clients ask for the rest"), (Retry.AGAIN, "clients ask again without it")):
        theirs = {(512, Retry.NEVER): capped(512, Retry.NEVER, 8.0), (None, retry): capped(None, retry, 4.0)}
        assert operate.verdict(512, theirs, 128) == f"{said}, and {clients}."
    assert operate.verdict(512, points, 513).startswith("A cap of 512 tokens cuts")


def test_the_paragraph_reads_well_with_one_limit() -> None:
    only = with_values(preset("chat"), {"slo": {"e2e_ms": 20_000}})
    assert "90 % of requests have an E2E of at most 20 s, on" in sla_words.paragraph(only, 0.9, {}, None)


def test_the_paragraph_reads_well_with_three_limits() -> None:
    three = with_values(preset("chat"), {"slo": {"ttft_ms": 1000, "tpot_ms": 50, "e2e_ms": 20_000}})
    said = sla_words.paragraph(three, 0.9, {}, None)
    assert "have a TTFT of at most 1 s, TPOT of at most 50 ms and E2E of at most 20 s, on" in said


def test_a_server_that_completes_nothing_is_not_compared_with_itself() -> None:
    none = {(cap, Retry.NEVER): capped(cap, Retry.NEVER, math.nan) for cap in (None, 512)}
    assert operate.verdict(512, none).endswith("a full server completes no answer, with or without it.")
    (said,) = operate.cap_sentences(512, none)
    assert said == "**Clients take it**: a full server completes no answer, with or without the cap."


def test_a_run_that_stops_before_an_answer_says_nothing_of_the_target() -> None:
    profile = Profile("as it is", {"p50": 200.0, "p99": 1146.0}, 250.0, 1.0, 4.6)
    row = Attained("as it is", profile, math.nan, {}, False, ())
    assert sla_words.sla_table([row])["within"] == ["-"]
    assert sla_words.breaking_sentence(Breaking(None, 5.0, None, row), 0.9) == (
        "What would break it is not known: no answer was complete when the run stopped."
    )
    assert "4.6): no answer complete." in sla_words.paragraph(preset("chat"), 0.9, {"as it is": row}, None)


def test_waits_that_nobody_had_are_not_numbers() -> None:
    def said(num_whole: int) -> str:
        fields = {"whole_p99_s": math.nan, "num_whole": num_whole}
        points = {(cap, Retry.NEVER): capped(cap, Retry.NEVER, 8.0)._replace(**fields) for cap in (None, 512)}
        return operate.cap_sentences(512, points)[0]

    assert "(+0.0 %), no answer complete at the rate asked" in said(0)
    assert "(+0.0 %), 32 whole answers at the rate asked, too few for a p99, 100 % of" in said(32)


def test_what_breaks_a_target_is_shown_below_it() -> None:
    at = Attained("tail", Profile("tail", {"p99": 4096.0}, 671.0, 1.2, 6.1), 0.8984, {}, False, ())
    told = sla_words.breaking_sentence(Breaking(6.91, 6.8, at, at), 0.9)
    assert told == "A tail 6.91 x as long breaks it (p99 4,096 tokens, mean 671, p99/mean 6.1): 89.8 % are within."


def test_a_target_that_holds_without_a_tail_alone_is_not_held_up_to_a_tail_of_nothing() -> None:
    last = Attained("tail", Profile("tail", {"p99": 1104.0}, 433.0, 0.8, 2.5), 0.93, {}, False, ())
    assert sla_words.breaking_sentence(Breaking(0.002, 0.001, last, last), 0.9) == (
        "It is broken now; 90 % hold only with every answer above the 90th percentile cut to it (p99 1,104 tokens, "
        "mean 433)."
    )
    some = sla_words.breaking_sentence(Breaking(0.3, 0.29, last, last), 0.9)
    assert some == "It is broken now; 90 % hold up to a tail 0.29 x as long (p99 1,104 tokens, mean 433)."


def test_a_margin_says_what_it_takes_from_throughput() -> None:
    """4 % preempted at 0; at 0.05 nobody, for 2 % less, nothing or 2 % more."""
    margin = margins_of(preset("memory-pressure"))["watermark"]
    for rate, words in ((98.0, "2.0 % fewer"), (100.01, "as many"), (102.0, "2.0 % more")):
        points = [margin_at(0.0, 0.04, 100.0), margin_at(0.05, 0.0, rate)]
        told = operate.margin_sentence(margin, points, 0.0)
        assert told.endswith(f": at 0, 4.0 % preempted; at 0.05, 0 %, with {words} output tokens/s.")


def test_a_margin_says_what_it_takes_from_the_limits() -> None:
    """Of two values that end preemptions the one that keeps more requests within the limits is told."""
    margin = margins_of(preset("memory-pressure"))["watermark"]
    now = margin_at(0.0, 0.04, 100.0)._replace(attainment=0.97)
    gentle, harsh = (margin_at(value, 0.0, rate)._replace(attainment=share) for value, rate, share in
                     ((0.05, 100.0, 0.91), (0.3, 100.2, 0.4)))  # fmt: skip
    told = operate.margin_sentence(margin, [now, gentle, harsh], 0.0)
    assert told.endswith("with as many output tokens/s and 91 % of requests within the limits instead of 97 %.")
    assert "; at 0.05, 0 %, with" in told
    free = [each._replace(attainment=math.nan) for each in (now, gentle)]
    assert operate.margin_sentence(margin, free, 0.0).endswith("at 0.05, 0 %, with as many output tokens/s.")


def margin_at(value: float, preempted: float, output_tokens_per_s: float) -> MarginPoint:
    fields = dict.fromkeys(MarginPoint._fields, 0.0)
    return MarginPoint(**fields | {"value": value, "preempted": preempted, "output_tokens_per_s": output_tokens_per_s})


def pool(name: str, share: float, *, is_unstable: bool = False, requests: int = 1000) -> Pool:
    return Pool(name, 1, 5.0, 1.0, 0.02, 0.5, share, 0.0, is_unstable, requests)


@pytest.mark.parametrize(
    ("apart", "together", "requests", "told"),
    [  # two standard deviations of the difference: 1.5 % of 1,000 requests a pool, 0.5 % of 10,000
        (0.97, 0.96, 1000, "Parting the types makes no clear difference: 97.0 % of requests within the limits with "),
        (0.97, 0.96, 10_000, "Parting the types helps: 97.0 % of requests within the limits with "),
        (0.96, 0.97, 10_000, "One pool is better than any split tried: 96.0 % of requests within the limits with "),
        (0.97, 0.97, 10_000, "Parting the types makes no clear difference: "),
    ],
)
def test_parting_the_types_helps_by_more_than_chance(apart: float, together: float, requests: int, told: str) -> None:
    one = Split((pool("all types", together, requests=requests)._replace(replicas=2),))
    parted = Split((pool("chat", apart, requests=requests), pool("code", apart, requests=requests)))
    assert routing_words.routing_sentence(one, [((1, 1), parted)]).startswith(told)


def test_parting_the_types_names_who_pays_for_it() -> None:
    one = Split((Pool("all types", 3, 5.0, 2.0, 0.02, 0.5, 0.8, 0.0, False, 1000),))
    parted = Split((pool("chat", 1.0), pool("code", 1.0), pool("reasoning", 0.55, is_unstable=True)))
    told = routing_words.routing_sentence(one, [((1, 1, 1), parted)])
    assert " 80.0 % in one pool. Worst off is reasoning: 55 % within; its queue grows. CV of" in told
    better = Split((pool("chat", 1.0), pool("code", 0.9)))
    assert "Worst off" not in routing_words.routing_sentence(one, [((1, 1), better)])
