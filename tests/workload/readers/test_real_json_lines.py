"""The real files of APEX, LLMServingSim and BurstGPT, to the last row."""

import json

import pytest

from sim.workload import read_trace
from tests.shared import SHARED, needs_shared

SERVING_SIM = ("arrival_time_ns", 1e-9, "input_toks", "output_toks")
MEASURED = ("arrival_time", 1, "input_toks", "output_toks")
APEX = ("StartTimeOffset", 1e-9, "ContextTokens", "GeneratedTokens")
FILES = {
    "traces/apex_llama_creation_025.jsonl": APEX,
    "traces/apex_llama_lmsys_025.jsonl": APEX,
    "traces/llmservingsim_sharegpt-llama-3.1-8b-300-sps10.jsonl": SERVING_SIM,
    "traces/llmservingsim_workload_me2_01_mixed.jsonl": SERVING_SIM,
    "vllm_runs/RTX4090_Llama-3.1-8B_requests.jsonl": MEASURED,
    "vllm_runs/RTXPRO6000_Llama-3.1-8B_requests.jsonl": MEASURED,
    "vllm_runs/RTXPRO6000_Qwen3-30B-A3B-Instruct-2507_requests.jsonl": MEASURED,
}


@needs_shared
@pytest.mark.parametrize("file", FILES)
def test_real_json_lines_are_read_to_the_last_number(file):
    arrival, seconds, prompt, output = FILES[file]
    path = SHARED / "data" / file
    records = [json.loads(line) for line in path.read_text().splitlines()]
    records.sort(key=lambda record: record[arrival])
    trace = read_trace(path)
    assert len(trace) == len(records)
    since_first = [(record[arrival] - records[0][arrival]) * seconds for record in records]
    assert trace.arrival_s.tolist() == pytest.approx(since_first, abs=1e-6)
    assert trace.prompt_len.tolist() == [record[prompt] for record in records]
    assert trace.output_len.tolist() == [record[output] for record in records]


@needs_shared
def test_burstgpts_documented_rows_are_read():
    trace = read_trace(SHARED / "data/traces/burstgpt_format_example.csv")
    assert trace.layout.startswith("BurstGPT")
    assert trace.arrival_s.tolist() == [0, 40, 113]
    assert trace.prompt_len.tolist() == [472, 1087, 417]
    assert trace.output_len.tolist() == [18, 230, 276]
    assert trace.type_names == ("Conversation log",)
