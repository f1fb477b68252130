"""Golden tables of SGLang: from a golden to what simulates it, and its run back to a table.

Source: README of the SGLang goldens, file format and findings 10 and 12.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sim.engine.inputs import Ints, Requests
from sim.golden.files import GoldenError
from sim.golden.sglang_format import ORDERS
from sim.golden.sglang_run import END_OF_TEXT, SglangRequests, SglangRules, SglangRun
from sim.golden.sglang_table import table_of

NAME = "SGLang golden 1"  # such a file says `"format": 1, "engine": "sglang"`
RunFunction = Callable[[SglangRules, SglangRequests], SglangRun]
Segments = list[tuple[int, int]]  # content id, tokens


def own_table(golden: dict[str, Any], run_function: RunFunction) -> dict[str, Any]:
    """The simulator's table for the workload and settings of a golden.

    Parameters
    ----------
    golden : dict
        One that `sglang_format.check` accepts; its `steps` and `summary` are not read.
    run_function : function
        Simulates the workload to its end.
    """
    row_of = np.argsort([row["arrival_step"] for row in golden["requests"]], kind="stable")
    run = run_function(rules_of(golden["config"]), requests_of(golden["requests"], row_of))
    return {**golden, "simulator": "longtail", **table_of(run, golden["requests"], row_of)}


def rules_of(config: dict[str, Any]) -> SglangRules:
    """A scheduler with a golden's settings."""
    init_ratio = min(config["init_new_token_ratio"] * config["schedule_conservativeness"], 1.0)
    min_ratio = min(init_ratio * config["min_new_token_ratio_factor"], 1.0)
    pool_tokens = config["max_total_num_tokens"]
    return SglangRules(
        order=ORDERS[config["schedule_policy"]],
        pool_tokens=pool_tokens,
        page_size=config["page_size"],
        max_running_requests=config["max_running_requests"],
        max_prefill_tokens=config["max_prefill_tokens"],
        chunked_prefill_size=config["chunked_prefill_size"] or 0,
        prefill_max_requests=config["prefill_max_requests"] or 0,
        context_len=config["context_len"] or pool_tokens,
        clip_max_new_tokens=config["clip_max_new_tokens"],
        retract_decode_steps=config["retract_decode_steps"],
        mixed_chunk=config["enable_mixed_chunk"] and config["chunked_prefill_size"] is not None,
        radix_cache=not config["disable_radix_cache"],
        overlap=config["overlap"],
        init_ratio=init_ratio,
        min_ratio=min_ratio,
        ratio_drop=(init_ratio - min_ratio) / config["new_token_ratio_decay_steps"],
    )


def requests_of(rows: list[dict[str, Any]], row_of: Ints) -> SglangRequests:
    """Requests in order of arrival; content ids that name a row follow the row to its new place."""
    place_of = np.argsort(row_of)
    prompts = prompt_segments(rows, place_of)
    segments = [prompts[row] for row in row_of]

    def column(key: str) -> Ints:
        return np.array([rows[row][key] for row in row_of], np.int64)

    zeros = np.zeros(len(rows), np.int64)
    requests = Requests(
        arrival_s=column("arrival_step").astype(np.float64),
        prompt_len=column("prompt_len"),
        output_len=column("true_output_len"),
        cap=column("max_new_tokens"),
        priority=zeros,
        is_straggler=zeros,
        segment_start=np.cumsum([0, *map(len, segments)], dtype=np.int64),
        segment_content=np.array([content for each in segments for content, _ in each], np.int64),
        segment_len=np.array([tokens for each in segments for _, tokens in each], np.int64),
        users=0,
    )
    return SglangRequests(requests, np.array([bool(rows[row].get("ignore_eos")) for row in row_of]))


def prompt_segments(rows: list[dict[str, Any]], place_of: Ints) -> list[Segments]:
    """The quoted beginning of each row's prompt.

    A group's segment is told by where it starts, too: at equal positions two segments of one group hold the same
    tokens exactly if they started together.
    """
    shared: dict[tuple[int, int], int] = {}  # (group, start) -> content id
    prompts: list[Segments] = []
    for row in rows:
        segments: Segments = []
        start = 0
        for group, tokens in row.get("prefix", ()):
            content = shared.setdefault((group, start), END_OF_TEXT + 1 + len(shared))
            segments.append((content, tokens))
            start += tokens
        if "parent" in row:
            segments += whole_text(rows, prompts, place_of, row["parent"])
        prompts.append(segments)
    return prompts


def whole_text(rows: list[dict[str, Any]], prompts: list[Segments], place_of: Ints, number: int) -> Segments:
    """Prompt and true output of a row; the last token of an output below its cap ends the text."""
    row, own = rows[number], int(place_of[number])
    quoted = sum(tokens for _, tokens in prompts[number])
    text = [*prompts[number], (own, row["prompt_len"] - quoted + row["true_output_len"])]
    if row["true_output_len"] < row["max_new_tokens"]:
        text[-1] = (own, text[-1][1] - 1)
        text.append((END_OF_TEXT, 1))
    return [(content, tokens) for content, tokens in text if tokens]


def engine_run(*_: Any) -> SglangRun:
    """Refuse: the compiled engine has no SGLang."""
    raise GoldenError('engine is "sglang"; the engine has only the rules of vLLM')
