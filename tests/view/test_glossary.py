"""The glossary: formulas with numbers that follow them, and one sentence from the run."""

import numpy as np
import pytest

from sim.presets import preset
from sim.scenario import with_values
from sim.simulate import simulate
from sim.view.glossary import GROUPS, TIMES_A_TOKEN, USAGES, example, glossary_verdict
from sim.view.glossary_figure import times_a_token, words
from sim.view.number_words import short_number

TERMS = {term.name: term for group in GROUPS for term in group.terms}


@pytest.fixture(scope="module")
def result():
    return simulate(
        with_values(preset("memory-pressure"), {"workload.num_requests": 500, "workload.arrivals.rate_rps": 5})
    )


@pytest.fixture(scope="module")
def summary(result):
    return result.summary()


def test_examples_follow_the_formulas_on_the_requests(result, summary):
    """Each computed here from arrival, first token, last token and number of tokens."""
    rows = result.requests
    a, n = rows["arrival_s"], rows["output_tokens"]
    first, last = a + rows["ttft_s"], a + rows["e2e_s"]
    expected = {
        "TTFT": f"median {short_number(float(np.median(first - a)))} s",
        "E2E": f"median {short_number(float(np.median(last - a)))} s",
        "TPOT": f"p99 {short_number(1e3 * float(np.quantile(((last - first) / (n - 1))[n > 1], 0.99)))} ms",
        "E2E per token": f"mean {short_number(1e3 * float(np.mean((last - a) / n)))} ms",
        "Output tokens/s": f"{short_number(float(n.sum() / (last.max() - a.min())))} tokens/s",
        "Tail ratio": short_number(float(np.quantile(n, 0.99) / n.mean())),
        "CV": short_number(float(n.std() / n.mean())),
    }
    assert {name: example(TERMS[name], summary) for name in expected} == expected


def test_every_example_has_a_number_in_a_run_that_lacks_nothing(summary):
    for term in TERMS.values():
        assert not term.figure or example(term, summary)


def test_every_word_elsewhere_is_one_of_ours(summary):
    for usage in USAGES:
        assert any(usage.here.startswith(name.partition(" tokens/s")[0]) for name in TERMS), usage


def test_the_verdict_names_all_three_times_per_token(summary):
    values = {name: summary["metrics"][key] for name, (key, _) in TIMES_A_TOKEN.items()}
    sentence = glossary_verdict(summary)
    for name, value in values.items():
        assert f"{short_number(1e3 * value)} ms as {name}" in sentence
    assert f"a factor of {short_number(max(values.values()) / min(values.values()))}" in sentence


def test_batch_delivery_leaves_only_e2e_per_token():
    batch = simulate(preset("textbook-straggler")).summary()
    assert "only E2E per token" in glossary_verdict(batch)
    told = words(batch)
    assert "TPOT undefined, ITL undefined, E2E per token 194 ms" in told  # 20 T, 31 times, and T, of 10 ms
    (bars,) = times_a_token(batch).data
    assert list(bars.x) == [None, None, pytest.approx(1e3 * batch["metrics"]["norm_latency_mean_s"])]
    assert example(TERMS["TPOT"], batch) == example(TERMS["ITL"], batch) == ""


def test_the_picture_shows_the_means_of_the_run(summary):
    (bars,) = times_a_token(summary).data
    assert list(bars.x) == [1e3 * summary["metrics"][key] for key, _ in TIMES_A_TOKEN.values()]
