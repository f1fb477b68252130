"""The pages as scripts: what each knob changes and what it leaves alone, links, pins, files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from streamlit.testing.v1 import AppTest

from sim.deployment import resolve
from sim.keys import KEY_OF, KEYS, pack, to_query
from sim.presets import preset, preset_names
from sim.scenario import with_values
from sim.view.knobs import KNOBS
from sim.view.run_view import run_view
from sim.view.tiles import tiles

MAIN = str(Path(__file__).resolve().parents[1] / "pages" / "_main.py")
QUICK = "300"  # requests: these tests are about the page


def open_page(**query: str) -> AppTest:
    """The dashboard at a link."""
    app = AppTest.from_file(MAIN, default_timeout=120)
    for key, text in {"n": QUICK, **query}.items():
        app.query_params[key] = text
    app.run()
    assert not app.exception
    return app


def turn(app: AppTest, key: str, text: str) -> None:
    """Move the knob of that key, whichever widget it is."""
    for kind in ("select_slider", "selectbox", "button_group", "toggle"):
        for widget in app.get(kind):
            if widget.key in (key, f"{key}_named"):
                widget.set_value(text == "true" if kind == "toggle" else text).run()
                assert not app.exception
                return
    raise AssertionError(f"no widget has the key {key}")


def numbers(app: AppTest) -> dict[str, Any]:
    """Every number behind the page, by dotted name."""
    asked = app.session_state.asked
    assert asked.scenario is not None, asked.refusal
    summary = run_view(asked.scenario, asked.trace).summary
    del summary["scenario"]
    found = dict(_flat(summary))
    found["usable_blocks"] = resolve(asked.scenario).usable_blocks
    return found


def _flat(values: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


class Turn(NamedTuple):
    """One knob: where to start, what to turn, what must change and what must not."""

    key: str
    text: str
    changes: str
    keeps: str
    start: dict[str, str] = {}


OUTPUT, PROMPT = "tokens.output", "tokens.prompt"
TTFT, TPOT = "metrics.ttft_p90_s", "metrics.tpot_p50_s"
RATE, CACHED = "metrics.output_tokens_per_s", "tokens.found_in_cache"
BLOCKS, GOOD = "usable_blocks", "slo.good"
STATIC = {"sched": "static", "seqs": "16"}
SGLANG = {"sched": "sglang"}
TIGHT = {"preset": "memory-pressure", "blocks": "1500", "rate": "8"}
E2E = "metrics.e2e_p90_s"
FIRST_IS_URGENT = pack({"workload.types.0.priority": -1, "workload.types.1.priority": 1})


def of(system: str, **knobs: str) -> dict[str, str]:
    """A system short of memory."""
    return TIGHT | {"sched": system} | knobs


TURNS = (
    Turn("arr", "gamma", TTFT, OUTPUT),
    Turn("rate", "20", TPOT, OUTPUT),
    Turn("burst", "0.1", TTFT, OUTPUT, {"arr": "gamma"}),
    Turn("swing", "0.2", TTFT, OUTPUT, {"preset": "diurnal-peak"}),
    Turn("period", "100", TTFT, OUTPUT, {"preset": "diurnal-peak"}),
    Turn("conc", "128", RATE, OUTPUT, {"preset": "closed-loop"}),
    Turn("think", "5", RATE, OUTPUT, {"preset": "closed-loop"}),
    Turn("thinkdist", "exponential", RATE, OUTPUT, {"preset": "closed-loop", "think": "5"}),
    Turn("n", "400", OUTPUT, BLOCKS),
    Turn("output", "gamma", OUTPUT, PROMPT),
    Turn("outputmean", "400", OUTPUT, PROMPT),
    Turn("outputcv", "2", OUTPUT, PROMPT),
    Turn("outputtok", "100", OUTPUT, PROMPT, {"output": "constant"}),
    Turn("outputlow", "2", OUTPUT, PROMPT, {"output": "uniform"}),
    Turn("outputhigh", "800", OUTPUT, PROMPT, {"output": "uniform"}),
    Turn("outputmed", "100", OUTPUT, PROMPT, {"output": "lognormal_p90"}),
    Turn("outputp90", "2000", OUTPUT, PROMPT, {"output": "lognormal_p90"}),
    Turn("outputalpha", "1", OUTPUT, PROMPT, {"output": "pareto_tail"}),
    Turn("outputdata", "azure_2023_code", OUTPUT, PROMPT, {"output": "empirical"}),
    Turn("prompt", "gamma", PROMPT, OUTPUT),
    Turn("promptmean", "400", PROMPT, OUTPUT),
    Turn("promptcv", "2", PROMPT, OUTPUT),
    Turn("prompttok", "100", PROMPT, OUTPUT, {"prompt": "constant"}),
    Turn("promptlow", "2", PROMPT, OUTPUT, {"prompt": "uniform"}),
    Turn("prompthigh", "800", PROMPT, OUTPUT, {"prompt": "uniform"}),
    Turn("promptmed", "100", PROMPT, OUTPUT, {"prompt": "lognormal_p90"}),
    Turn("promptp90", "5000", PROMPT, OUTPUT, {"prompt": "lognormal_p90"}),
    Turn("promptalpha", "1", PROMPT, OUTPUT, {"prompt": "pareto_tail"}),
    Turn("promptdata", "azure_2023_code", PROMPT, OUTPUT, {"prompt": "empirical"}),
    Turn("cap", "64", OUTPUT, PROMPT),
    Turn("corr", "0.8", "metrics.e2e_p90_s", PROMPT),
    Turn("prefix", "256", CACHED, PROMPT, {"preset": "shared-prefix"}),
    Turn("prefixes", "150", CACHED, PROMPT, {"preset": "shared-prefix"}),
    Turn("sched", "static", TTFT, OUTPUT),
    Turn("seqs", "8", TTFT, OUTPUT),
    Turn("budget", "256", TTFT, OUTPUT),
    Turn("cache", "false", CACHED, OUTPUT, {"preset": "shared-prefix"}),
    Turn("chunk", "false", TTFT, OUTPUT, {"rate": "30"}),
    Turn("longp", "256", TTFT, OUTPUT, {"rate": "30"}),
    Turn("wm", "0.2", "metrics.preemptions", OUTPUT, TIGHT),
    Turn("isl", "false", "metrics.preemptions", OUTPUT, TIGHT | {"budget": "512", "seqs": "256"}),
    Turn("async", "false", "metrics.e2e_p50_s", OUTPUT),
    Turn("release", "0.18.1", "metrics.preemptions", OUTPUT, TIGHT | {"budget": "512", "seqs": "256"}),
    Turn("policy", "priority", TTFT, OUTPUT, {"preset": "long-prompts", "x": FIRST_IS_URGENT, "rate": "30"}),
    Turn("hold", "false", "metrics.padding_waste_slot_steps", OUTPUT, STATIC),
    Turn("deliver", "stream", TTFT, OUTPUT, STATIC),
    Turn("reserve", "max_model_len", "memory_ledger.rows.reserved_unused", OUTPUT, STATIC),
    Turn("bwait", "10", TTFT, OUTPUT, STATIC),
    Turn("sgorder", "lpm", TTFT, OUTPUT, {"preset": "shared-prefix", "rate": "60", "seqs": "8"} | SGLANG),
    Turn("sgcons", "0.3", TTFT, OUTPUT, TIGHT | SGLANG),
    Turn("sgchunk", "512", TTFT, OUTPUT, {"rate": "30"} | SGLANG),
    Turn("sgmix", "true", TTFT, OUTPUT, SGLANG),
    Turn("sgnooverlap", "true", TTFT, OUTPUT, SGLANG),
    Turn("sgnoradix", "true", CACHED, OUTPUT, {"preset": "shared-prefix"} | SGLANG),
    Turn("sgpage", "64", "metrics.kv_fragmentation", OUTPUT, SGLANG),
    Turn("sgclip", "64", TTFT, OUTPUT, TIGHT | SGLANG),
    Turn("retry", "rest", OUTPUT, BLOCKS, {"cap": "128"}),
    Turn("retryafter", "60", TTFT, OUTPUT, {"cap": "128", "retry": "again"}),
    Turn("giveup", "5", "requests.aborted", PROMPT, TIGHT),
    Turn("join", "request", TTFT, OUTPUT),
    Turn("prefill", "first", "metrics.itl_p99_s", OUTPUT, {"rate": "30"}),
    Turn("order", "true_length", TTFT, OUTPUT, TIGHT),
    Turn("evict", "swap", "time_ledger.rows.swap", OUTPUT, of("vllm_v0")),
    Turn("victim", "largest_remaining", E2E, OUTPUT, of("vllm_v0")),
    Turn("every", "64", TTFT, OUTPUT),
    Turn("swap", "0", "counters.swaps", OUTPUT, of("vllm_v0", evict="swap")),
    Turn("link", "1", "time_ledger.rows.swap", OUTPUT, of("vllm_v0", evict="swap")),
    Turn("starve", "10", "counters.promotions", OUTPUT, of("rank")),
    Turn("promote", "100", E2E, OUTPUT, of("rank", starve="10")),
    Turn("quant", "300", TTFT, OUTPUT, of("mlfq")),
    Turn("growth", "2", TTFT, OUTPUT, of("mlfq")),
    Turn("stale", "0.5", E2E, OUTPUT, of("fastserve")),
    Turn("keep", "0", TTFT, OUTPUT, of("trail")),
    Turn("guard", "1", TTFT, OUTPUT, {"sched": "ssjf", "seqs": "8"}),
    Turn("guardx", "0.5", TTFT, OUTPUT, {"sched": "ssjf", "seqs": "8"}),
    Turn("group", "64", TTFT, OUTPUT, of("seq_sched")),
    Turn("vbs", "false", TTFT, OUTPUT, of("seq_sched")),
    Turn("fcr", "false", "tokens.recomputed", OUTPUT, of("seq_sched")),
    Turn("cwin", "10", "metrics.kv_reserved_unused", OUTPUT, of("conformal")),
    Turn("hist", "20", TTFT, OUTPUT, of("past_future")),
    Turn("peak", "0.5", "metrics.kv_util", OUTPUT, of("past_future")),
    Turn("ahead", "16", "metrics.preemptions", OUTPUT, of("vllm_v1", reserve="horizon")),
    Turn("predset", "ranker_alpaca", TTFT, OUTPUT, of("rank")),
    Turn("pred", "oracle", TTFT, OUTPUT, of("ssjf")),
    Turn("bias", "1", "metrics.kv_reserved_unused", OUTPUT, of("quantile")),
    Turn("spread", "2", "metrics.kv_reserved_unused", OUTPUT, of("quantile")),
    Turn("tau", "0.1", TTFT, OUTPUT, of("rank", pred="rank")),
    Turn("quantile", "0.5", "metrics.kv_reserved_unused", OUTPUT, of("quantile")),
    Turn("delay", "5000", TTFT, OUTPUT, of("ssjf", pred="point")),
    Turn("blocking", "true", "time_ledger.rows.predictor", OUTPUT, of("ssjf", pred="point", delay="50")),
    Turn("model", "Qwen3-14B", TPOT, OUTPUT),
    Turn("gpu", "A100-80G-SXM", TPOT, OUTPUT),
    Turn("tp", "2", TPOT, OUTPUT),
    Turn("pp", "2", "time_ledger.rows.bubble", OUTPUT),
    Turn("wdtype", "fp8", TPOT, OUTPUT),
    Turn("kvdtype", "fp8", BLOCKS, OUTPUT),
    Turn("mem", "0.5", BLOCKS, OUTPUT),
    Turn("block", "64", "metrics.kv_fragmentation", OUTPUT),
    Turn("maxlen", "2048", OUTPUT, PROMPT),
    Turn("blocks", "1000", BLOCKS, PROMPT),
    Turn("cost", "constant", TPOT, OUTPUT),
    Turn("step", "20", TPOT, OUTPUT, {"cost": "constant"}),
    Turn("ttft", "30", GOOD, TTFT),
    Turn("tpot", "8", GOOD, TPOT),
    Turn("e2e", "2000", GOOD, TPOT),
    Turn("seed", "1", OUTPUT, BLOCKS),
)


@pytest.mark.parametrize("case", TURNS, ids=lambda case: case.key)
def test_each_knob_changes_what_it_should_and_nothing_else(case: Turn) -> None:
    app = open_page(**case.start)
    before = numbers(app)
    turn(app, case.key, case.text)
    after = numbers(app)
    assert after[case.changes] != before[case.changes]
    assert after[case.keeps] == before[case.keeps]


def test_every_knob_has_a_test_of_its_own() -> None:
    needs_a_file = {"speed"}
    assert {case.key for case in TURNS} | needs_a_file == {KEY_OF[knob.path] for knob in KNOBS}


def test_every_knob_has_a_key_a_unit_or_name_and_a_help_of_a_sentence() -> None:
    for knob in KNOBS:
        assert knob.path in KEYS.values()
        assert knob.help.rstrip().endswith(".")
        assert len(knob.help) > 30


@pytest.mark.parametrize("name", preset_names("explore"))
def test_each_preset_opens_at_its_own_values(name: str) -> None:
    app = AppTest.from_file(MAIN, default_timeout=120)
    app.query_params["preset"] = name
    app.run()
    assert not app.exception
    assert not app.error
    assert app.session_state.asked.scenario == preset(name)


def test_choosing_a_preset_moves_every_knob_there_and_back() -> None:
    app = open_page(rate="20", seqs="8")
    for name in ("memory-pressure", "textbook-straggler", "azure-chat", "chat"):
        turn(app, "preset", name)
        assert app.session_state.asked.scenario == preset(name)


def test_tiles_show_the_run_of_the_knobs() -> None:
    app = open_page(rate="5")
    expected = tiles(
        run_view(with_values(preset("chat"), {"workload.arrivals.rate_rps": 5, "workload.num_requests": 300})).summary
    )
    assert [metric.label for metric in app.metric] == [tile.label for tile in expected]
    assert [metric.value.split(" ")[0] for metric in app.metric] == [tile.value for tile in expected]


def test_saturated_lets_every_request_wait_from_the_start() -> None:
    app = open_page()
    asked = app.metric[0].value
    turn(app, "at", "saturated")
    assert app.title[0].value.startswith("Saturated")
    assert app.metric[0].value != asked
    assert "10 % and 90 %" in app.metric[0].help


def test_a_pin_turns_the_tiles_into_differences() -> None:
    app = open_page()
    app.button(key="pin").click().run()
    assert all(metric.delta in {"as pinned", "not comparable"} for metric in app.metric)
    turn(app, "rate", "20")
    deltas = {metric.label: metric.delta for metric in app.metric}
    assert deltas["Output"].startswith(("+", "x "))
    assert "against the pinned run" in app.title[0].value
    app.button(key="unpin").click().run()
    assert "against the pinned run" not in app.title[0].value


def test_a_pin_in_a_link_is_run_again() -> None:
    pinned = with_values(preset("memory-pressure"), {"workload.num_requests": 300})
    app = open_page(p1=pack(to_query(pinned, "memory-pressure")))
    assert app.session_state.asked.pinned == pinned
    assert "against the pinned run" in app.title[0].value


def test_a_pin_that_cannot_be_read_is_said_so() -> None:
    app = open_page(p1="garbage")
    assert any("The pinned run cannot be shown: p1 is 'garbage'" in warning.value for warning in app.warning)


def test_the_longest_link_from_any_preset_to_any_other_with_a_pin_is_short() -> None:
    names = preset_names("explore")
    far = [to_query(preset(there), here) for here in names for there in names]
    longest_pin = max((pack(query) for query in far), key=len)
    links = [
        f"https://longtail.example.org/?{urlencode({'at': 'saturated', 'p1': longest_pin, **query})}" for query in far
    ]
    assert max(map(len, links)) < 2000


def test_four_runs_can_be_pinned_and_no_fifth() -> None:
    app = open_page()
    for rate in ("6", "10", "12", "15"):
        assert not app.button(key="pin").disabled
        app.button(key="pin").click().run()
        turn(app, "rate", rate)
    assert app.button(key="pin").disabled
    pins = app.session_state.asked.pins
    assert [(pin.key, pin.name, pin.label) for pin in pins] == [
        ("p1", "pin 1", "Chat"),
        ("p2", "pin 2", "rate 6"),
        ("p3", "pin 3", "rate 10"),
        ("p4", "pin 4", "rate 12"),
    ]
    assert [pin.scenario.workload.arrivals.rate_rps for pin in pins] == [8, 6, 10, 12]
    assert len({pin.dash for pin in pins}) == 4
    assert any("**pin 4** (dash and dot): rate 12" in caption.value for caption in app.caption)


def test_the_chosen_pin_changes_the_deltas_and_not_the_numbers() -> None:
    pins = {f"p{i}": pack({"v": "1", "preset": "chat", "n": QUICK, "rate": rate}) for i, rate in ((1, "4"), (2, "16"))}
    app = open_page(**pins)
    values, deltas = ([getattr(metric, name) for metric in app.metric] for name in ("value", "delta"))
    assert "against pin 1, output +" in app.title[0].value
    app.button(key="base_p2").click().run()
    assert [metric.value for metric in app.metric] == values
    assert [metric.delta for metric in app.metric] != deltas
    assert "against pin 2, output -" in app.title[0].value
    assert app.query_params["base"] == "p2"


def test_unpinning_the_compared_run_compares_with_the_first_of_the_others() -> None:
    pins = {f"p{i}": pack({"v": "1", "preset": "chat", "n": QUICK, "rate": rate}) for i, rate in ((1, "4"), (2, "16"))}
    app = open_page(**pins, base="p2")
    assert app.session_state.asked.base == "p2"
    app.button(key="unpin_p2").click().run()
    asked = app.session_state.asked
    assert (asked.base, [pin.key for pin in asked.pins]) == ("p1", ["p1"])
    assert "p2" not in app.query_params


def test_a_broken_pin_is_told_and_the_others_stay() -> None:
    app = open_page(p1="garbage", p2=pack({"v": "1", "preset": "chat", "n": QUICK}))
    assert any("The pinned run cannot be shown: p1 is 'garbage'" in warning.value for warning in app.warning)
    assert "against pin 2" in app.title[0].value


@pytest.mark.parametrize("name", preset_names("explore"))
def test_a_link_with_four_pins_that_depart_little_is_short(name: str) -> None:
    departures = (
        {"scheduler.max_num_seqs": 48},
        {"deployment.tensor_parallel_size": 4, "deployment.gpu": "H200"},
        {"scheduler.max_num_batched_tokens": 4096, "scheduler.max_num_seqs": 128, "seed": 7},
        {"deployment.gpu_memory_utilization": 0.8, "deployment.block_size": 32, "scheduler.watermark": 0.05},
    )
    queries = [to_query(with_values(preset(name), each), name) for each in departures]
    pins = {f"p{i}": pack(query) for i, query in enumerate(queries, 1)}
    link = f"https://longtail.example.org/?{urlencode({'at': 'saturated', 'base': 'p4', **pins, **queries[2]})}"
    assert len(link) < 2000


def test_a_value_out_of_range_is_refused_with_its_limit() -> None:
    app = open_page(rate="-3")
    assert [error.value for error in app.error] == ["workload.arrivals.rate_rps is -3; more than 0 is needed"]


def test_choices_that_contradict_each_other_are_refused_beside_them_and_stay() -> None:
    app = open_page(order="rank", reserve="quantile")
    assert not app.error
    turn(app, "reserve", "peak_cap")
    sentence = "scheduler.reserve is peak_cap; with order rank, which may displace anybody, a future peak means nothing"
    assert [error.value.startswith(sentence) for error in app.error] == [True, True]
    assert (app.selectbox(key="order_named").value, app.selectbox(key="reserve_named").value) == ("rank", "peak_cap")
    assert (app.query_params["order"], app.query_params["reserve"]) == ("rank", "peak_cap")
    turn(app, "reserve", "cap")
    assert not app.error
    assert app.session_state.asked.scenario.scheduler.choices.reserve == "cap"


def test_a_scheduler_says_what_it_knows_and_which_predictor_it_has() -> None:
    app = open_page(sched="s3")
    captions = [caption.value for caption in app.caption]
    assert any(text.startswith("Knows a predicted class of lengths. Reserves prompt") for text in captions)
    assert any(text.startswith("None is named: S3 uses its own, kind bucket") for text in captions)
    turn(app, "pred", "oracle")
    assert not any(caption.value.startswith("None is named") for caption in app.caption)


def test_vllms_mode_of_scheduling_is_named() -> None:
    app = open_page(**{"async": "false"})
    assert any(caption.value.endswith("Scheduling is synchronous.") for caption in app.caption)
    turn(app, "async", "true")
    assert any(caption.value.endswith("Scheduling is asynchronous.") for caption in app.caption)


def test_a_scheduler_that_does_not_exist_falls_back_to_the_preset() -> None:
    app = open_page(sched="nonsense", order="whatever")
    assert app.session_state.asked.scenario == with_values(preset("chat"), {"workload.num_requests": 300})


def test_a_value_that_is_no_number_falls_back_to_the_preset() -> None:
    app = open_page(rate="fast", output="nonsense", cache="maybe")
    assert app.session_state.asked.scenario == with_values(preset("chat"), {"workload.num_requests": 300})


def test_a_model_that_does_not_fit_is_refused_with_the_numbers() -> None:
    app = open_page(model="Llama-3.1-405B")
    assert len(app.error) == 1
    assert "GiB" in app.error[0].value


def test_an_unstable_run_has_a_banner() -> None:
    app = open_page(rate="100", n="1000")
    assert any(warning.value.startswith("Unstable") for warning in app.warning)
    assert app.title[0].value.startswith("Overloaded")


def test_a_short_run_has_a_banner() -> None:
    app = open_page(n="30")
    assert any(warning.value.startswith("Too short") for warning in app.warning)


def test_an_uncalibrated_cost_has_a_banner() -> None:
    app = open_page(model="gpt-oss-20b", gpu="L40S")
    assert any(warning.value.startswith("Uncalibrated") for warning in app.warning)


def test_batch_delivery_shows_end_to_end_time_per_token_instead_of_tpot() -> None:
    app = AppTest.from_file(MAIN, default_timeout=120)
    app.query_params["preset"] = "textbook-straggler"
    app.run()
    assert [metric.label for metric in app.metric][3:5] == [
        "E2E per token (batch delivery) p50",
        "E2E per token (batch delivery) p99",
    ]
    verdict = app.title[0].value
    assert "E2E per token (what the article calls TPOT) is 20 T" in verdict
    assert "19.4 T on average" in verdict


def test_knobs_survive_a_visit_to_another_page() -> None:
    app = open_page()
    turn(app, "rate", "5")
    app.switch_page("glossary.py").run()
    assert "in this run, on average" in app.title[0].value
    assert app.select_slider(key="rate").value == "5"


def test_a_link_to_a_missing_trace_asks_for_the_file() -> None:
    file = {"name": "hour.csv", "sha256": "0" * 64, "rows": 12}
    app = open_page(x=pack({"workload.trace_file": file}), arr="trace")
    assert len(app.error) == 1
    assert "hour.csv (12 requests" in app.error[0].value
