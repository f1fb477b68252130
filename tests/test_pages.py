"""The pages as scripts: what each knob changes and what it leaves alone, presets, the operating point."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from streamlit.testing.v1 import AppTest

from sim.deployment import resolve
from sim.keys import KEY_OF, KEYS, pack
from sim.presets import preset, preset_names
from sim.scenario import with_values
from sim.view.knobs import KNOBS
from sim.view.run_view import run_view
from sim.view.tiles import tiles
from tests.page_script import MAIN, headline, open_page, turn


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
    assert headline(app).startswith("Saturated")
    assert app.metric[0].value != asked
    assert "10 % and 90 %" in app.metric[0].help


def test_knobs_survive_a_visit_to_another_page() -> None:
    app = open_page()
    turn(app, "rate", "5")
    app.switch_page("glossary.py").run()
    assert "in this run, on average" in headline(app)
    assert app.select_slider(key="rate").value == "5"


def test_a_link_to_a_missing_trace_asks_for_the_file() -> None:
    file = {"name": "hour.csv", "sha256": "0" * 64, "rows": 12}
    app = open_page(x=pack({"workload.trace_file": file}), arr="trace")
    assert len(app.error) == 1
    assert "hour.csv (12 requests" in app.error[0].value
