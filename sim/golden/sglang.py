"""Golden tables of SGLang: from a golden to what simulates it, and its run back to a table.

Source: README of the SGLang goldens, file format and findings 10 and 12.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sim.engine.inputs import Ints, Requests
from sim.engine.loop import Stop
from sim.engine.sglang.inputs import END_OF_TEXT, SglangRules
from sim.engine.sglang.run import count_iterations, starts
from sim.engine.sglang.state import (
    ITERATION,
    MAX_NEW,
    T_APPLIED,
    T_AVAILABLE,
    T_BATCH,
    T_CHUNKED,
    T_EVICTABLE,
    T_HIT,
    T_IS_FULL,
    T_IS_RESET,
    T_KIND,
    T_NUM_FINISHED,
    T_NUM_PREFILL,
    T_PREEMPTED,
    T_SCHEDULED,
    T_STEP,
    T_WAITING,
    SglangState,
    SglangTape,
)
from sim.engine.state import FINISHED_RECORDED, PREEMPTED_RECORDED, SCHEDULED_RECORDED, STEPS_RECORDED
from sim.golden.files import GoldenError
from sim.golden.sglang_format import ORDERS
from sim.golden.sglang_run import SglangRequests, SglangRun, SglangSteps
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


def engine_run(rules: SglangRules, asked: SglangRequests) -> SglangRun:
    """The engine's run, iteration by iteration.

    Raises
    ------
    GoldenError
        SGLang itself would have ended without memory.
    """
    state, tape, stop = count_iterations(rules, asked.requests, asked.ignore_eos)
    if stop == Stop.OUT_OF_MEMORY:
        step = int(state.counts[ITERATION])
        raise GoldenError(f"step {step} continues a prompt for which memory is short; SGLang's process ends there")
    return SglangRun(recorded_steps(state, tape), state.req[:, MAX_NEW].astype(np.int64))


def recorded_steps(state: SglangState, tape: SglangTape) -> SglangSteps:
    """The tape's columns as a golden has them: in mixed steps prefill first, then who decodes."""
    counts = state.counts
    rows = int(counts[STEPS_RECORDED])
    n = tape.numbers[:rows]
    begin, end = n[:, T_SCHEDULED], np.append(n[1:, T_SCHEDULED], counts[SCHEDULED_RECORDED])
    scheduled = tape.scheduled[: counts[SCHEDULED_RECORDED]]
    place = np.arange(len(scheduled)) - np.repeat(begin, end - begin)
    is_prefill = place < np.repeat(n[:, T_NUM_PREFILL], end - begin)
    applied = n[:, T_APPLIED]
    num_finished = np.where(applied >= 0, n[applied, T_NUM_FINISHED], 0)
    return SglangSteps(
        step=n[:, T_STEP],
        kind=n[:, T_KIND],
        prefill_start=starts(n[:, T_NUM_PREFILL]),
        prefill=scheduled[is_prefill, :3],
        hit=n[:, T_HIT],
        decode_start=starts(end - begin - n[:, T_NUM_PREFILL]),
        decode=scheduled[~is_prefill, 0],
        retracted_start=np.append(n[:, T_PREEMPTED], counts[PREEMPTED_RECORDED]),
        retracted=tape.preempted[: counts[PREEMPTED_RECORDED], 0],
        finished_start=starts(num_finished),
        finished=tape.finished[: counts[FINISHED_RECORDED]],
        running=n[:, T_BATCH],
        waiting=n[:, T_WAITING],
        available=n[:, T_AVAILABLE],
        evictable=n[:, T_EVICTABLE],
        chunked=n[:, T_CHUNKED],
        is_full=n[:, T_IS_FULL],
        ratio=tape.ratios[:rows, 0],
        ratio_end=tape.ratios[:rows, 1],
        is_reset=n[:, T_IS_RESET],
    )
