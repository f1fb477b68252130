"""Files without arrivals, and files without prompts: the scenario says the rest."""

import csv
import gzip
import json

import numpy as np
import pytest

from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.workload import make_requests, read_trace
from tests.broken import refused
from tests.shared import SHARED, needs_shared
from tests.workload.readers.layouts import FOLDER

TRACES = SHARED / "data/traces"
ALPACA = (FOLDER / "alpaca.json").read_text()
POISSON = Scenario()


def test_lengths_without_arrivals_come_as_the_scenario_says():
    trace = read_trace(FOLDER / "lengths.csv")
    assert trace.arrival_s is None
    assert trace.prompt_len.tolist() == [500 + i for i in range(8)]
    assert trace.output_len.tolist() == [50 + i for i in range(8)]
    requests, _ = make_requests(POISSON, trace, max_model_len=10_000)
    assert requests.prompt_len.tolist() == trace.prompt_len.tolist()
    assert np.all(np.diff(requests.arrival_s) > 0)


def test_types_of_lengths_are_read():
    trace = read_trace(b"isl,osl,type\n5,6,chat\n7,8,code\n")
    assert trace.type_names == ("chat", "code")


@pytest.mark.parametrize("header", ["when,prompt_tokens,output_tokens", "prompt_tokens,output_tokens,sent_at"])
def test_a_column_that_might_be_the_arrivals_is_not_passed_over(header):
    refused(read_trace, f"{header}\n1,2,3\n", "t.csv", r" line 1: the header \(.*\) has no column arrival_s")


def test_lengths_without_prompts_are_refused_in_a_plain_file():
    refused(
        read_trace, "output_tokens\n5\n", "t.csv", r" line 1: the header \(output_tokens\) has no column prompt_tok"
    )


@pytest.mark.parametrize(
    ("file", "output"), [("ssjf.csv", [40 + 7 * i for i in range(8)]), ("alpaca.json", [220 + i for i in range(8)])]
)
def test_prompts_that_a_file_does_not_know_are_the_scenarios(file, output):
    trace = read_trace(FOLDER / file)
    assert trace.prompt_len is None
    assert trace.arrival_s is None
    assert trace.output_len.tolist() == output
    assert len(trace) == 8
    requests, info = make_requests(POISSON, trace, max_model_len=100_000)
    drawn, _ = make_requests(POISSON, max_model_len=100_000)
    assert requests.prompt_len.tolist() == drawn.prompt_len[:8].tolist()
    assert info.true_len.tolist() == output


def test_a_file_of_lengths_cannot_be_replayed_as_a_trace():
    scenario = Scenario.model_validate({"workload": {"arrivals": {"kind": "trace"}}})
    with pytest.raises(ScenarioError, match=r"^workload\.arrivals\.kind is 'trace'; ssjf\.csv has lengths only"):
        make_requests(scenario, read_trace(FOLDER / "ssjf.csv"), max_model_len=10_000)


def test_alpaca_says_which_of_its_lengths_it_takes():
    assert read_trace(FOLDER / "alpaca.json").notes == (
        "Outputs are those that Vicuna sampled at temperature 0.7 (L_t0.7).",
    )


THIRD = '"L_t0.7": 222'
BROKEN_ALPACA = {
    "cut short": (ALPACA[:-40], r" line \d+: this is no JSON"),
    "a number in the list": (ALPACA.replace("[", "[7, ", 1), " item 1 is 7; an object with L_t0.7 is needed"),
    "a list in the list": (ALPACA.replace("[", "[[], ", 1), r" item 1 is \[\]"),
    "nested too deeply": ('[{"L_gt": ' + "[" * 100_000, " line 1: this is no JSON"),
    "missing": (ALPACA.replace(THIRD, '"L_t0.8": 222'), r" item 3: L_t0\.7 is missing"),
    **{
        repr(wrong): (ALPACA.replace(THIRD, f'"L_t0.7": {wrong}'), r" item 3: L_t0\.7 is ")
        for wrong in ("null", '"222"', "-1", "2.5", "NaN", "1e300", "true", "[222]", "{}")
    },
}


@pytest.mark.parametrize("broken", BROKEN_ALPACA)
def test_broken_alpaca_is_refused(broken):
    text, pattern = BROKEN_ALPACA[broken]
    assert text != ALPACA
    refused(read_trace, text, "a.json", pattern)


@needs_shared
@pytest.mark.parametrize(
    ("file", "prompt", "output"),
    [
        ("arxiv_summarization_stats_llama2_tokenizer_filtered_v2", "num_prefill_tokens", "num_decode_tokens"),
        ("sharegpt_8k_filtered_stats_llama2_tokenizer", "num_prefill_tokens", "num_decode_tokens"),
        ("ssjf_predictions_warmup_cls_1000K", None, "output_token_length"),
        ("ssjf_predictions_warmup_multi_cls_1000K", None, "output_token_length"),
    ],
)
def test_real_lengths_are_read_to_the_last_row(file, prompt, output):
    path = TRACES / f"{file}.first_2_3.csv.gz"
    with gzip.open(path, "rt", newline="") as text:
        rows = list(csv.DictReader(text))
    trace = read_trace(path)
    assert trace.output_len.tolist() == [int(row[output]) for row in rows]
    if prompt is None:
        assert trace.prompt_len is None
    else:
        assert trace.prompt_len.tolist() == [int(row[prompt]) for row in rows]


@needs_shared
def test_alpacas_own_file_is_read_to_the_last_item():
    path = TRACES / "alpaca-train-10k-length.json.gz"
    with gzip.open(path, "rt") as text:
        items = json.load(text)
    assert read_trace(path).output_len.tolist() == [item["L_t0.7"] for item in items]
