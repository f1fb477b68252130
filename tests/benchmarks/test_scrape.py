"""One scrape of a vLLM server: its lengths as distributions, its state and its latencies as values to compare."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.benchmarks import read_scrape
from sim.benchmarks.benchmark import NOT_MEASURED
from sim.benchmarks.histograms import lengths_of, stats_ms_of
from sim.benchmarks.prometheus import Histogram
from sim.scenario import Scenario
from sim.workload import make_requests
from sim.workload.lengths import tokens_at
from tests.benchmarks.files import of
from tests.broken import refused
from tests.data_files import DATA

FILE = DATA / "scrapes" / "vllm.prom"
TEXT = FILE.read_text()
EDGES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]
# What the file was written from: two engines.
PROMPT = [30, 150, 150, 700, 6000, 7500, 80, 300]
OUTPUT = [1, 4, 40, 180, 180, 900, 7, 60]


def histogram(lengths, edges=(*EDGES, np.inf)):
    upto = np.searchsorted(np.sort(lengths), edges, side="right")
    return Histogram(np.array(edges, dtype=float), np.diff(upto, prepend=0).astype(float), float(np.mean(lengths)))


def ranks(n):
    """Evenly spread."""
    return (np.arange(n) + 0.5) / n


def test_state_and_counts_of_all_engines_are_added_up():
    scrape = read_scrape(FILE)
    assert (scrape.name, scrape.model, scrape.engines) == ("vllm.prom", "example/Model-8B", 2)
    assert (scrape.running, scrape.waiting, scrape.preemptions, scrape.finished) == (21, 3, 5, 8)
    assert (scrape.prompt_tokens, scrape.output_tokens) == (sum(PROMPT), sum(OUTPUT) + 120)
    assert scrape.kv_usage == 0.5
    assert scrape.prefix_cache_hit_rate == pytest.approx(0.2)
    assert (scrape.num_gpu_blocks, scrape.block_size) == (27_000, 16)
    assert scrape.notes == ("vLLM counts answers of one token with a TPOT of 0.",)


def test_lengths_are_distributions_that_a_scenario_takes():
    scrape = read_scrape(FILE)
    assert (scrape.prompt.count, scrape.output.count) == (8, 8)
    assert scrape.prompt.mean == np.mean(PROMPT)
    assert scrape.output.mean == np.mean(OUTPUT)
    task = {"prompt": scrape.prompt.lengths, "output": scrape.output.lengths}
    scenario = Scenario.model_validate({"workload": {"num_requests": 8000, "types": [task]}})
    requests, info = make_requests(scenario, max_model_len=1_000_000)
    for drawn, given_lengths in ((requests.prompt_len, PROMPT), (info.true_len, OUTPUT)):
        for edge in EDGES:
            assert np.mean(drawn <= edge) == pytest.approx(np.mean(np.array(given_lengths) <= edge), abs=0.03)


def test_latencies_are_means_and_interpolated_quantiles():
    scrape = read_scrape(FILE)
    assert scrape.ttft_ms.mean == pytest.approx(152.5)
    # 8 values: 2 up to 40 ms, 2 up to 60, 1 up to 80, 1 up to 100, 1 up to 500, 1 up to 750.
    assert scrape.ttft_ms.p50 == pytest.approx(60)
    assert scrape.ttft_ms.p99 == pytest.approx(500 + 250 * 0.92)
    # 120 gaps: 50 up to 10 ms, 60 up to 25 ms, 10 up to 300 ms.
    assert scrape.itl_ms.mean == pytest.approx(1000 * (0.008 * 30 + 0.02 * 60 + 0.3 * 10 + 0.009 * 20) / 120)
    assert scrape.itl_ms.p50 == pytest.approx(10 + 15 * 10 / 60)
    assert scrape.itl_ms.p99 == pytest.approx(200 + 100 * 8.8 / 10)
    assert scrape.tpot_ms.mean == pytest.approx(14.75)
    assert scrape.e2e_ms.p99 is not None
    assert scrape.queue_ms == NOT_MEASURED


def test_gaps_under_their_earlier_name_and_kv_usage_under_its_are_found():
    text = TEXT.replace("inter_token_latency", "time_per_output_token").replace("kv_cache_usage", "gpu_cache_usage")
    scrape, new = read_scrape(text.encode()), read_scrape(FILE)
    assert scrape.itl_ms == new.itl_ms
    assert scrape.kv_usage == new.kv_usage


def test_metrics_behind_a_prefix_are_found():
    assert of(read_scrape(TEXT.replace("vllm:", "ray_vllm:").encode()).ttft_ms) == of(read_scrape(FILE).ttft_ms)


def test_a_server_that_has_served_nothing_has_no_lengths():
    lines = [line for line in TEXT.splitlines() if "_bucket" not in line and "_sum" not in line]
    scrape = read_scrape("\n".join(lines).encode())
    assert scrape.prompt is None
    assert scrape.ttft_ms == NOT_MEASURED
    assert scrape.notes == ()


@given(lengths=st.lists(st.integers(1, 4999), min_size=1, max_size=60))
def test_a_distribution_of_buckets_puts_every_length_back_into_its_bucket(lengths):
    found = histogram(lengths)
    drawn = tokens_at(lengths_of(found), "prompt", ranks(100 * len(lengths)))
    again = histogram(drawn)
    assert again.counts / again.total == pytest.approx(found.counts / found.total, abs=0.011)


@given(first=st.integers(1, 20), lengths=st.lists(st.integers(5001, 12_000), min_size=1, max_size=20))
def test_the_bucket_without_upper_edge_ends_where_the_mean_says_as_far_as_the_next_edge_may_be(first, lengths):
    found = histogram([*[3] * first, *lengths])
    drawn = tokens_at(lengths_of(found), "prompt", ranks(20_000))
    assert 5000 <= drawn.max() <= 12_501
    wanted = 2 * np.mean(lengths) - 5000
    if wanted <= 12_500:
        assert drawn.mean() == pytest.approx(found.mean + first / found.total, rel=0.01, abs=1)


def test_lengths_that_are_all_equal_stay_in_their_bucket():
    drawn = tokens_at(lengths_of(histogram([7] * 5)), "prompt", ranks(1000))
    assert (drawn.min(), drawn.max()) == (6, 10)
    assert lengths_of(histogram([1])).points == ((0.0, 1.0), (1.0, 1.5))


def test_a_quantile_beyond_the_last_edge_is_not_known():
    seconds = Histogram(np.array([1.0, np.inf]), np.array([9.0, 1.0]), 0.5)
    assert stats_ms_of(seconds).p50 == pytest.approx(1000 * 5 / 9)
    assert stats_ms_of(seconds).p99 is None


RUNNING = 'vllm:num_requests_running{engine="0",model_name="example/Model-8B"} 12.0'
BUCKET = 'vllm:request_prompt_tokens_bucket{engine="0",le="200.0",model_name="example/Model-8B"} 3.0'
INFINITE = 'vllm:request_prompt_tokens_bucket{engine="0",le="+Inf",model_name="example/Model-8B"} 6.0'
LINES = TEXT.splitlines()
AT = {line: LINES.index(line) + 1 for line in (RUNNING, BUCKET, INFINITE)}
BROKEN = {
    **{
        f"running is {wrong}": (
            RUNNING,
            RUNNING.replace("12.0", wrong),
            f"vllm:num_requests_running is '{re.escape(wrong)}'; a number",
        )
        for wrong in ("many", "-1", "NaN", "+Inf", "1e300")
    },
    **{
        f"sample is {label}": (RUNNING, wrong, ".* is no (sample|label); ")
        for label, wrong in {
            "cut short": RUNNING[:-5],
            "open": RUNNING.replace("}", ""),
            "without value": RUNNING.replace(" 12.0", ""),
            "of two values": RUNNING + " 12.0 13.0",
            "without quotes": RUNNING.replace('"0"', "0"),
            "of half a label": RUNNING.replace('engine="0"', "engine"),
        }.items()
    },
    **{
        f"edge is {wrong or 'empty'}": (
            BUCKET,
            BUCKET.replace("200.0", wrong),
            f"le of .*_bucket is '{wrong}'; a number",
        )
        for wrong in ("many", "", "-1", "NaN")
    },
    "edge missing": (BUCKET, BUCKET.replace('le="200.0",', ""), "le of request_prompt_tokens_bucket is ''; a number"),
    "count falls": (BUCKET, BUCKET.replace("3.0", "0.0"), "request_prompt_tokens_bucket is 0 up to 200 after 1"),
    "edge falls": (
        BUCKET,
        BUCKET.replace("200.0", "20.0"),
        "request_prompt_tokens_bucket is 3 up to 20 after 1 up to 100",
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_scrape_is_refused(broken):
    line, wrong, pattern = BROKEN[broken]
    refused(read_scrape, TEXT.replace(line, wrong), "s.prom", f" line {AT[line]}: {pattern}")


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("", " has no metric that begins with vllm:; those of one scrape are needed"),
        ("go_threads 5\n", " has no metric that begins with vllm:"),
        (
            TEXT.replace(INFINITE + "\n", ""),
            r" line \d+: request_prompt_tokens_bucket is last up to 5000; \+Inf is needed",
        ),
        (TEXT.replace("0.75\n", "75\n"), r" line \d+: kv_cache_usage_perc is 75; a share from 0 to 1 is needed"),
        (TEXT.replace("Model-8B", "Other", 1), ": model_name is 'example/Other' and 'example/Model-8B'; one model"),
    ],
)
def test_scrapes_that_cannot_be_right_are_refused(text, pattern):
    refused(read_scrape, text, "s.prom", pattern)


def test_engines_with_different_buckets_are_refused():
    first, second = [5.0, 6.0], [9.0, 9.0]
    rows = [("0", "10", first[0]), ("0", "+Inf", first[1]), ("1", "20", second[0]), ("1", "+Inf", second[1])]
    text = "\n".join(f'vllm:request_prompt_tokens_bucket{{engine="{e}",le="{le}"}} {n}' for e, le, n in rows)
    refused(read_scrape, text, "s.prom", ": the buckets of request_prompt_tokens differ between engines")


def test_a_histogram_of_too_many_buckets_is_refused():
    rows = [f'vllm:request_prompt_tokens_bucket{{le="{le}"}} {le}' for le in [*range(1, 402), "+Inf"]]
    text = "\n".join(rows).replace("} +Inf", "} 999")
    refused(read_scrape, text, "s.prom", ": request_prompt_tokens has 402 buckets; at most 400 are allowed")
