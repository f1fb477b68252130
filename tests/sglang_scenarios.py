"""Random small workloads for SGLang: tight pools, bursts, one-token answers, shared beginnings, conversations."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from sim.engine.inputs import Requests, StepTime
from sim.engine.sglang.inputs import END_OF_TEXT, SglangOrder, SglangRules
from sim.golden.sglang_run import SglangRequests
from tests.scenarios import gaps, step_times

PLAIN_RULES = SglangRules(
    order=SglangOrder.FCFS,
    pool_tokens=100,
    page_size=1,
    max_running_requests=8,
    max_prefill_tokens=16384,
    chunked_prefill_size=0,
    prefill_max_requests=0,
    context_len=100,
    clip_max_new_tokens=4096,
    retract_decode_steps=20,
    mixed_chunk=False,
    radix_cache=True,
    overlap=False,
    init_ratio=0.7,
    min_ratio=0.098,
    ratio_drop=0.01,
)

Segments = list[tuple[int, int]]  # content id, tokens


class SglangScenario(NamedTuple):
    """Arguments of a run function."""

    rules: SglangRules
    asked: SglangRequests


@st.composite
def sglang_scenarios(draw: Any, max_requests: int = 14) -> SglangScenario:
    """SGLang with any combination of its settings; every request fits an empty pool."""
    asked = draw(workloads(max_requests))
    page_size = draw(st.sampled_from([1, 1, 2, 4, 16]))
    longest = int(asked.requests.prompt_len.max())
    pool = longest + draw(st.integers(5, 200)) + 2 * page_size
    pool = -(-pool // page_size) * page_size
    max_running = draw(st.integers(1, 10))
    chunk = draw(st.sampled_from([0, 0, 8, 32, 100])) and max(16, max_running + page_size, draw(st.integers(8, 100)))
    init_ratio = draw(st.sampled_from([0.05, 0.3, 0.7, 1.0]))
    min_ratio = init_ratio * draw(st.sampled_from([0.14, 1.0]))
    rules = SglangRules(
        order=draw(st.sampled_from(SglangOrder)),
        pool_tokens=pool,
        page_size=page_size,
        max_running_requests=max_running,
        max_prefill_tokens=draw(st.sampled_from([20, 100, 16384])),
        chunked_prefill_size=chunk,
        prefill_max_requests=draw(st.sampled_from([0, 0, 0, 2])),
        context_len=pool,
        clip_max_new_tokens=draw(st.sampled_from([10, 4096])),
        retract_decode_steps=draw(st.sampled_from([1, 20])),
        mixed_chunk=bool(chunk) and draw(st.booleans()),
        radix_cache=draw(st.sampled_from([True, True, True, False])),
        overlap=draw(st.booleans()),
        init_ratio=init_ratio,
        min_ratio=min_ratio,
        ratio_drop=(init_ratio - min_ratio) / draw(st.sampled_from([5, 600])),
    )
    return SglangScenario(rules, asked)


@st.composite
def workloads(draw: Any, max_requests: int) -> SglangRequests:
    """Lengths, arrivals and texts."""
    n = draw(st.integers(1, max_requests))
    arrivals = np.cumsum([draw(st.sampled_from([0, 0, 0, 1, 3, 40])) for _ in range(n)])
    outputs = [draw(st.one_of(st.just(1), st.integers(1, 12), st.integers(1, 60))) for _ in range(n)]
    ignore_eos = np.array([draw(st.sampled_from([False, False, True])) for _ in range(n)])
    caps = [output if stays else output + draw(st.sampled_from([0, 1, 40])) for output, stays in zip(
        outputs, ignore_eos, strict=True
    )]  # fmt: skip
    prompts: list[int] = []
    segments: list[Segments] = []
    for i in range(n):
        text = draw(beginnings(i, prompts, segments, outputs, caps))
        segments.append(text)
        prompts.append(sum(tokens for _, tokens in text) + draw(st.integers(1, 40)))
    zeros = np.zeros(n, np.int64)
    requests = Requests(
        arrival_s=arrivals.astype(np.float64),
        prompt_len=np.array(prompts, np.int64),
        output_len=np.array(outputs, np.int64),
        cap=np.array(caps, np.int64),
        priority=zeros,
        is_straggler=zeros,
        segment_start=np.cumsum([0, *map(len, segments)], dtype=np.int64),
        segment_content=np.array([content for each in segments for content, _ in each], np.int64),
        segment_len=np.array([tokens for each in segments for _, tokens in each], np.int64),
        users=0,
    )
    return SglangRequests(requests, ignore_eos)


@st.composite
def beginnings(
    draw: Any, i: int, prompts: list[int], segments: list[Segments], outputs: list[int], caps: list[int]
) -> Segments:
    """What a prompt begins with: nothing, a text that others begin with, or an earlier request and its answer."""
    kind = draw(st.sampled_from(["own", "shared", "shared", "turn"] if i else ["own", "shared"]))
    if kind == "own":
        return []
    if kind == "shared":
        return [(END_OF_TEXT + draw(st.integers(1, 2)), draw(st.sampled_from([5, 31, 40, 64])))]
    j = draw(st.integers(0, i - 1))
    if prompts[j] > 150:
        return []
    own = prompts[j] - sum(tokens for _, tokens in segments[j]) + outputs[j]
    end: Segments = [(END_OF_TEXT, 1)] if outputs[j] < caps[j] else []
    return [*segments[j], (j, own - len(end)), *end]


class TimedScenario(NamedTuple):
    """Settings, requests that come at times, and what a step takes."""

    rules: SglangRules
    asked: SglangRequests
    step_time: StepTime


@st.composite
def timed_scenarios(draw: Any, max_requests: int = 14) -> TimedScenario:
    """The same on a clock: open and closed loops, stragglers, some requests that can never run."""
    rules, asked = draw(sglang_scenarios(max_requests))
    n = len(asked.requests.prompt_len)
    users = draw(st.sampled_from([0, 0, 0, 1, 3]))
    between = [draw(gaps()) for _ in range(n)]
    output_len = asked.requests.output_len
    share = draw(st.sampled_from([0.5, 0.8, 0.95]))
    requests = asked.requests._replace(
        arrival_s=np.array(between if users else np.cumsum(between), np.float64),
        is_straggler=(output_len > np.quantile(output_len, share)).astype(np.int64),
        users=users,
    )
    if draw(st.sampled_from([False, False, True])):
        rules = rules._replace(context_len=draw(st.integers(3, rules.pool_tokens)))
    return TimedScenario(rules, SglangRequests(requests, asked.ignore_eos), draw(step_times()))


def crowded(seed: int, order: SglangOrder, **rules: Any) -> SglangScenario:
    """A burst of 200 requests, more than SGLang matches against its tree, on a small server."""
    numbers = np.random.default_rng(seed)
    n = 200
    shared = numbers.choice([0, 5, 31, 33, 64], n)
    prompt_len = shared + numbers.integers(1, 60, n)
    output_len = numbers.geometric(0.1, n)
    pool = int(prompt_len.max()) + 300
    settings = PLAIN_RULES._replace(
        order=order,
        pool_tokens=pool,
        context_len=pool,
        max_prefill_tokens=300,
        chunked_prefill_size=100,
        clip_max_new_tokens=10,
        overlap=True,
        init_ratio=0.3,
        min_ratio=0.05,
        ratio_drop=0.005,
    )
    requests = Requests(
        arrival_s=np.sort(numbers.integers(0, 60, n)).astype(np.float64),
        prompt_len=prompt_len.astype(np.int64),
        output_len=output_len.astype(np.int64),
        cap=(output_len + numbers.integers(0, 20, n)).astype(np.int64),
        priority=np.zeros(n, np.int64),
        is_straggler=np.zeros(n, np.int64),
        segment_start=np.cumsum([0, *(shared > 0)], dtype=np.int64),
        segment_content=END_OF_TEXT + numbers.integers(1, 6, int((shared > 0).sum())),
        segment_len=shared[shared > 0].astype(np.int64),
        users=0,
    )
    return SglangScenario(settings._replace(**rules), SglangRequests(requests, np.zeros(n, np.bool_)))
