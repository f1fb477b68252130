"""Your data: what a file is, what is fitted to it, how a server compares, and what using it changes."""

import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.files import LARGEST_UPLOAD_MB
from sim.benchmarks import Benchmark, read_data, read_scrape
from sim.presets import preset
from sim.scenario import with_values
from sim.view.run_view import run_view
from sim.view.server_now import Beside, beside, beside_rows
from sim.view.your_data import KINDS, described, measured_points, scrape_lengths, trace_lengths, with_lengths
from sim.workload import read_trace
from tests.cost.points import RICH, measured
from tests.page_script import headline, open_page, turn

DATA = Path(__file__).parent / "data"
ROWS = "arrival_s,prompt_tokens,output_tokens\n" + "".join(f"{0.3 * i},{200 + i},{20 + 7 * i}\n" for i in range(120))
SCRAPE = DATA / "scrapes" / "vllm.prom"
PATIENCE_S = 120


def your_data(*files: tuple[str, bytes], **query: str) -> AppTest:
    """The page with these files dropped on it."""
    app = open_page(**query).switch_page("your_data.py").run()
    assert not app.exception
    if files:
        app.file_uploader(key="data_upload").set_value([(*file, "text/plain") for file in files]).run()
        assert not app.exception
    return app


def press(app: AppTest, key: str) -> None:
    app.button(key=key).click().run()
    assert not app.exception


def fitted(app: AppTest) -> AppTest:
    """Wait for the fit, as the page's fragment does."""
    end = time.monotonic() + PATIENCE_S
    while len(app.dataframe) == 0:
        assert time.monotonic() < end, [error.value for error in app.error]
        time.sleep(0.3)
        app.run()
        assert not app.exception
        assert not app.error
    return app


@pytest.fixture(scope="module")
def benchmark() -> bytes:
    """Eight points of a synthetic deployment."""
    lines = ["concurrency,isl,osl,num_prompts,ttft_mean_ms,tpot_mean_ms"]
    lines += [
        f"{each.arrivals.concurrency},{each.prompt_tokens},{each.output_tokens},{each.num_requests},"
        f"{each.ttft_ms},{each.tpot_ms}"
        for each in measured(RICH, client_ms=30.0)
    ]
    return ("\n".join(lines) + "\n").encode()


def test_without_a_file_the_page_offers_the_uploader_and_nothing_else() -> None:
    app = your_data()
    assert not app.dataframe
    assert not app.error
    assert app.session_state.asked.scenario == with_values(preset("chat"), {"workload.num_requests": 300})


@pytest.mark.parametrize("name", sorted(path.name for path in (DATA / "benchmarks").iterdir()))
def test_every_benchmark_layout_is_described_with_its_number_of_runs(name: str) -> None:
    data = read_data(DATA / "benchmarks" / name)
    sentence = described(data).sentence
    assert name in sentence
    assert f"{len(data.points)} run" in sentence


def test_without_a_file_the_page_shows_what_can_be_brought_and_every_example_is_taken() -> None:
    app = your_data()
    shown = [code.value for code in app.code]
    assert all(kind.example in shown for kind in KINDS)
    trace, benchmark, metrics = (kind.example for kind in KINDS)
    assert len(read_data(trace.encode(), "trace.csv")) == 2
    read = read_data(benchmark.encode(), "points.csv")
    assert isinstance(read, Benchmark)
    assert [point.load for point in measured_points(read)[0]] == ["1 user", "64 users"]
    assert metrics.startswith("curl ")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("arrival_s,prompt_tokens,output_tokens\n7,10,20\n", "1 request at one instant; median prompt 10"),
        ("arrival_s,prompt_tokens,output_tokens\n7,10,20\n9,10,20\n", "2 requests over 2 s, 1 a second; median"),
        ("num_prefill_tokens,num_decode_tokens\n10,20\n", "1 request, lengths only; median prompt 10"),
    ],
)
def test_a_short_trace_is_not_given_a_rate(rows: str, said: str) -> None:
    assert said in described(read_data(rows.encode(), "small.csv")).sentence


def test_a_benchmark_without_its_load_says_so() -> None:
    path = DATA / "benchmarks" / "aiperf.csv"
    assert described(read_data(path)).sentence.endswith("neither users nor rate is known.")


def test_a_trace_is_described_with_its_rows_and_replayed() -> None:
    app = your_data(("small.csv", ROWS.encode()))
    assert "120 requests over 36 s" in headline(app)
    assert any("a heavier tail" in caption.value for caption in app.caption)
    press(app, "data_replay")
    asked = app.session_state.asked
    assert asked.scenario.workload.trace_file.rows == 120
    assert asked.trace.sha256 == read_trace(ROWS.encode(), "small.csv").sha256
    assert asked.scenario.deployment == preset("chat").deployment


def test_lengths_of_a_trace_replace_lengths_and_leave_arrivals_and_server_alone() -> None:
    app = your_data(("small.csv", ROWS.encode()))
    before = app.session_state.asked.scenario
    press(app, "data_lengths")
    after = app.session_state.asked.scenario
    assert after == with_lengths(before, *trace_lengths(read_trace(ROWS.encode(), "small.csv")))
    assert (after.workload.arrivals, after.deployment, after.cost) == (
        before.workload.arrivals,
        before.deployment,
        before.cost,
    )
    assert run_view(after).summary["tokens"]["output"] != run_view(before).summary["tokens"]["output"]
    assert app.button(key="data_lengths").disabled
    turn(app, "rate", "5")  # knobs still move on top of it
    assert app.session_state.asked.scenario.workload.types == after.workload.types


def test_lengths_without_arrivals_arrive_as_the_knobs_say() -> None:
    app = your_data(("lengths.csv", (DATA / "traces" / "lengths.csv").read_bytes()))
    press(app, "data_replay")
    asked = app.session_state.asked
    assert asked.refusal == ""
    assert asked.scenario.workload.arrivals == preset("chat").workload.arrivals
    assert asked.scenario.workload.trace_file is not None


def test_two_files_of_one_layout_are_read_together() -> None:
    names = ("chunk-1-trace.csv", "chunk-1-dataset.json")
    app = your_data(*((name, (DATA / "traces" / name).read_bytes()) for name in names))
    assert not app.error
    assert "ServeGen" in headline(app)


@pytest.mark.parametrize(
    ("name", "content"),
    [("empty.csv", b""), ("image.png", b"\x89PNG\r\n\x1a\n\x00\x00"), ("words.txt", b"once upon a time\n")],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(name: str, content: bytes) -> None:
    app = your_data((name, content))
    assert len(app.error) == 1
    assert name in app.error[0].value
    assert app.session_state.asked.scenario is not None


def test_a_file_that_is_too_large_is_refused_by_its_size() -> None:
    app = your_data(("huge.csv", b"x" * (LARGEST_UPLOAD_MB * 2**20 + 1)))
    assert [error.value for error in app.error] == [
        f"huge.csv has {LARGEST_UPLOAD_MB} MB; at most {LARGEST_UPLOAD_MB} MB are taken."
    ]


def test_a_fit_shows_both_coefficient_sets_and_becomes_the_step_time(benchmark: bytes) -> None:
    app = fitted(your_data(("bench.csv", benchmark), maxlen="40000"))
    coefficients = app.dataframe[0].value
    assert len(coefficients) == 5
    assert (coefficients["Catalogue"] != coefficients["Fitted"]).all()
    assert len(app.dataframe[1].value) == 8
    assert any("left out of the fit" in markdown.value for markdown in app.markdown)
    before = app.session_state.asked.scenario
    press(app, "data_cost")
    after = app.session_state.asked.scenario
    assert after.cost.source == "calibrated"
    assert after.cost.coefficients.points == 8
    assert after.cost.coefficients.error_percent < 1
    assert after.workload == before.workload
    assert run_view(after).cost_band.text.startswith("±5 %: calibrated on 8")
    app.switch_page("explore.py").run()
    assert not app.exception
    assert all("calibrated on 8 measured points" in metric.help for metric in app.metric)


def test_few_points_are_fitted_with_warnings() -> None:
    app = fitted(your_data(("points.csv", (DATA / "benchmarks" / "points.csv").read_bytes())))
    warnings = " ".join(warning.value for warning in app.warning)
    assert "4 points for five parameters" in warnings
    assert "(condition number 300,000)" in warnings  # 315,875: its size is what counts


def test_one_point_is_no_fit() -> None:
    app = your_data(("one.csv", b"concurrency,isl,osl,tpot_mean_ms\n4,100,20,9\n"))
    assert not app.dataframe
    assert any("at least 2 are needed" in info.value for info in app.info)


def test_a_load_of_a_benchmark_becomes_the_workload(benchmark: bytes) -> None:
    app = fitted(your_data(("bench.csv", benchmark), maxlen="40000"))
    before = app.session_state.asked.scenario
    press(app, "data_load")
    after = app.session_state.asked.scenario
    assert after.workload.arrivals.kind == "closed_loop"
    assert after.workload.arrivals.concurrency == 1  # the first row
    assert (after.deployment, after.cost) == (before.deployment, before.cost)


def test_a_server_stands_beside_the_simulation_in_the_same_units() -> None:
    app = your_data((SCRAPE.name, SCRAPE.read_bytes()))
    frame = app.dataframe[0].value
    assert list(frame[""]) == [
        "running", "waiting", "KV blocks in use", "p50 TTFT", "p99 TTFT", "p50 TPOT", "p99 TPOT"
    ]  # fmt: skip
    scenario = app.session_state.asked.scenario
    rows = {row.name: row for row in beside(read_scrape(SCRAPE), run_view(scenario))}
    assert rows["running"].server == (12 + 9) / 2  # of one engine
    assert rows["KV blocks in use"].server == 50
    assert rows["p50 TPOT"].middle == pytest.approx(1000 * run_view(scenario).summary["metrics"]["tpot_p50_s"])
    assert rows["p50 TPOT"].high == pytest.approx(1.1 * rows["p50 TPOT"].middle)  # the band
    assert 0 < rows["KV blocks in use"].middle < 100


def test_a_range_tells_its_unit_once_where_both_ends_have_it() -> None:
    rows = [
        Beside("requests", "running", 10.5, 14.7, 21.1, 27.8),
        Beside("ms", "p50 TTFT", 60.0, 33.4, 36.8, 40.5),
        Beside("ms", "p99 TTFT", None, 900.0, 1000.0, 1100.0),
        Beside("ms", "p99 TPOT", 48.0, None, None, None),
    ]
    told = beside_rows(rows)
    assert told["Range"] == ["14.7 to 27.8 requests", "33.4 to 40.5 ms", "900 ms to 1.1 s", "-"]
    assert told["Server"] == ["10.5 requests", "60 ms", "-", "48 ms"]


def test_a_knob_moves_the_simulation_and_not_the_server() -> None:
    app = your_data((SCRAPE.name, SCRAPE.read_bytes()))
    before = app.dataframe[0].value
    turn(app, "rate", "20")
    after = app.dataframe[0].value
    assert list(after["Server"]) == list(before["Server"])
    assert after["Simulation"][0] != before["Simulation"][0]


def test_histograms_and_cache_of_a_server_become_the_scenario() -> None:
    app = your_data((SCRAPE.name, SCRAPE.read_bytes()))
    press(app, "data_lengths")
    prompt, output = scrape_lengths(read_scrape(SCRAPE))
    after = app.session_state.asked.scenario
    assert (after.workload.types[0].prompt, after.workload.types[0].output) == (prompt, output)
    press(app, "data_blocks")
    deployment = app.session_state.asked.scenario.deployment
    assert (deployment.num_gpu_blocks_override, deployment.block_size) == (27_000, 16)
    assert app.session_state.asked.scenario.workload == after.workload


def test_a_file_is_kept_over_a_visit_to_another_page_and_can_be_forgotten() -> None:
    app = your_data((SCRAPE.name, SCRAPE.read_bytes()))
    app.switch_page("glossary.py").run()
    app.switch_page("your_data.py").run()
    assert len(app.dataframe) == 1
    press(app, "data_forget")
    assert not app.dataframe
