"""Words of the comparison: who leads, who wins where, what the first line says."""

import math

from sim import preset, with_values
from sim.studies.compare import Compared, Row
from sim.view.compare import cell, delivery, grouping, leaders, ran, table, unlike, verdict, winners


def of(system: str, load: float = 4.0, **values: float) -> Compared:
    base = Compared(system, load, 100.0, 1.0, 0.02, False, 1.0, 4.0, 0, 0.5, 0.1, 0.9, False, 0)
    return base._replace(**values)


ROWS = {
    "orca": Row(of("orca", output_tokens_per_s=80.0, good_rps=1.0, attainment=0.25), None),
    "vllm_v1": Row(of("vllm_v1", ttft_p99_s=2.0), None),
    "sglang": Row(None, None, "too small"),
}


def test_best_of_a_column_goes_by_its_good_direction() -> None:
    found = leaders(ran(ROWS))
    assert found["output tokens/s"] == {"vllm_v1"}
    assert found["p99 TTFT"] == {"orca"}
    assert "preemptions" not in found  # alike: nobody leads
    assert "within limits (%)" in found
    assert "CV in batch" not in found  # neither direction is good
    assert "KV in use (%)" not in found


def test_a_number_that_is_not_there_leaves_its_cell_empty() -> None:
    assert cell("p99 TTFT")(None) == cell("p99 TTFT")(math.nan) == ""
    assert cell("preemptions", is_best=True)(3.0) == "★ 3"


def test_nobody_leads_by_less_than_a_hundredth_of_a_percent() -> None:
    known = {name: of(name, kv_pledged=share) for name, share in (("orca", 3.62e-4), ("vllm_v1", 3.84e-4))}
    assert "KV kept unused (%)" not in leaders(known)
    rows = {name: Row(each, None) for name, each in known.items()}
    assert table(rows)["KV kept unused (%)"] == [0.04, 0.04]


def test_a_table_tells_a_rate_as_the_tiles_do_and_nobody_leads_by_its_fourth_digit() -> None:
    rates = {"orca": 2078.4, "vllm_v1": 2079.6, "sarathi": 2076.1, "static": 741.0}
    rows = {name: Row(of(name, output_tokens_per_s=rate), None) for name, rate in rates.items()}
    shown = [cell("output tokens/s")(value) for value in table(rows)["output tokens/s"]]
    assert shown == ["2,078", "2,080", "2,076", "741"]
    assert "output tokens/s" not in leaders(ran(rows))  # three of four are alike


def test_a_batch_that_is_delivered_whole_says_what_stands_under_tpot() -> None:
    rows = ROWS | {"static": Row(of("static", is_batch_delivery=True), None)}
    assert delivery(rows).startswith(" TPOT of Static batching is E2E per token")
    assert delivery(ROWS) == ""


def test_names_are_listed_with_one_and() -> None:
    rates = {"orca": 1.0, "vllm_v1": 1.0, "vllm_v0": 1.0, "s3": 0.1, "static": 0.0, "rank": 0.2}
    points = [of(name, 1, good_rps=rate) for name, rate in rates.items()]
    assert winners(points, "requests/s") == ["**1 requests/s**: Orca, vLLM V1 and vLLM V0"]
    alone = [each._replace(good_rps=1.0) if each.system in ("s3", "rank") else each for each in points]
    assert winners(alone, "requests/s") == ["**1 requests/s**: all but Static batching"]


def test_table_has_a_line_for_each_run() -> None:
    found = table(ROWS)
    assert found["scheduler"] == ["Orca", "vLLM V1"]
    assert found["p99 TPOT"] == [0.02, 0.02]  # seconds; the cell says 20 ms


def test_winners_are_stretches_of_load() -> None:
    points = [
        of("orca", 1, good_rps=1.0), of("vllm_v1", 1, good_rps=0.999),
        of("orca", 2, good_rps=1.0), of("vllm_v1", 2, good_rps=2.0),
        of("orca", 4, good_rps=0.5), of("vllm_v1", 4, good_rps=3.0),
        of("orca", 8, good_rps=0.0), of("vllm_v1", 8, good_rps=0.0),
    ]  # fmt: skip
    assert winners(points, "requests/s") == [
        "**1 requests/s**: all alike",
        "**2 to 4 requests/s**: vLLM V1",
        "**8 requests/s**: nobody",
    ]


def test_verdict_names_who_gets_furthest_within_the_limits() -> None:
    assert verdict(ROWS, {"orca": 1.2, "vllm_v1": 2.0}, "requests/s") == (
        "vLLM V1 serves most within the limits: 2 requests/s with 90 % of requests good, Orca 1.2."
    )
    assert verdict(ROWS, {"orca": 11.0, "vllm_v1": 2048.0}, "users", 2048.0) == (
        "vLLM V1 serves most within the limits: at least 2,048 users with 90 % of requests good, Orca 11."
    )
    assert verdict(ROWS, {"orca": 0.0, "vllm_v1": 0.0}, "users").startswith("At no load does any of them keep 90 %")
    assert "As asked, vLLM V1" in verdict(ROWS, {}, "requests/s")


def test_who_is_alike_within_the_width_of_a_search_is_named_together() -> None:
    """A search ends within 2.5 %: 4 and 3.91 are the same, 3.89 is less."""
    rows = ROWS | {"sarathi": Row(of("sarathi"), None)}
    assert verdict(rows, {"orca": 3.91, "vllm_v1": 4.0, "sarathi": 3.89}, "requests/s") == (
        "vLLM V1 and Orca serve most within the limits: about 4 requests/s with 90 % of requests good, "
        "Sarathi-Serve 3.89."
    )
    assert verdict(rows, dict.fromkeys(rows, 4.0), "requests/s") == (
        "Orca, vLLM V1 and Sarathi-Serve serve most within the limits: about 4 requests/s with 90 % of requests good."
    )


def test_nobody_within_the_limits_is_said_before_the_loads_are_run() -> None:
    rows = {name: Row(of(name, good_rps=0.0, attainment=0.0), None) for name in ("orca", "vllm_v1")}
    assert verdict(rows, {}, "requests/s") == "As asked, none of them serves a single request within the limits."


def test_without_limits_nobody_wins_and_nobody_loses() -> None:
    points = [of(name, good_rps=math.nan, attainment=math.nan) for name in ("orca", "vllm_v1")]
    assert winners(points, "requests/s") == ["No limit is set, so nobody can be within it: set one under Targets."]


def test_without_limits_throughput_decides() -> None:
    rows = {
        name: Row(each.compared._replace(attainment=math.nan, good_rps=math.nan), None)
        for name, each in ROWS.items()
        if each.compared
    }
    assert verdict(rows, dict.fromkeys(rows, math.nan), "requests/s").startswith(
        "vLLM V1 produces most: 100 output tokens/s"
    )


def test_nobody_wins_as_asked_by_less_than_a_percent() -> None:
    """Below capacity everybody produces what arrives: 2,012 tokens/s is no more than 2,008."""
    rates = {"orca": 1680.0, "vllm_v1": 2008.0, "sarathi": 2012.0}
    rows = {
        name: Row(of(name, output_tokens_per_s=rate, good_rps=math.nan, attainment=math.nan), None)
        for name, rate in rates.items()
    }
    assert verdict(rows, {}, "requests/s").startswith(
        "Sarathi-Serve and vLLM V1 produce most: about 2,012 output tokens/s;"
    )
    good = {name: Row(of(name, good_rps=rate / 250, attainment=0.5), None) for name, rate in rates.items()}
    assert verdict(good, {}, "requests/s") == (
        "As asked, Sarathi-Serve and vLLM V1 serve most requests within the limits: about 8.05 a second, 50 % of all."
    )


def test_what_only_some_have_is_said() -> None:
    rows = {name: Row(of(name), None) for name in ("orca", "vllm_v1", "sglang")}
    chat, rag = preset("chat"), preset("rag")
    ahead = " Scheduled a step ahead, so that an arrival waits a step longer: "
    assert unlike(rows, chat) == f"{ahead}vLLM V1 and SGLang alone."
    del rows["sglang"]
    assert unlike(rows, rag) == f"{ahead}vLLM V1 alone. With a prefix cache: vLLM V1 alone."
    assert unlike(rows, with_values(chat, {"scheduler.async_scheduling": False})) == ""
    assert unlike(rows, with_values(chat, {"workload.client_timeout_s": 60.0})) == ""
    rows |= {name: Row(of(name), None) for name in ("s3", "rank")}
    assert unlike(rows, with_values(chat, {"scheduler.async_scheduling": False})) == (
        " Told by a predictor of its own how long answers will be, or who is shorter: S3 and Learned ranking."
    )
    assert " Told by the sidebar's predictor how" in unlike(rows, with_values(chat, {"predictor.kind": "oracle"}))


def test_answers_of_one_length_are_alike_in_every_batch() -> None:
    rows = {name: Row(of(name, batch_cv=0.0), None) for name in ("orca", "vllm_v1")}
    assert grouping(rows, 0.0) == "All answers are of one length, so those served together are, too."


def test_until_two_have_run_the_page_says_what_it_is_doing() -> None:
    alone = {"orca": ROWS["orca"]}
    assert verdict(alone, {}, "requests/s", to_come=7) == "Running the same requests through 8 schedulers …"
    assert verdict(alone, {}, "requests/s").startswith("Choose at least two schedulers")
