"""Random small scenarios for the engine and the naive simulator: hard ones, where several rules meet.

Memories of a few blocks, bursts, one-token answers, prompts of nearly the whole memory, shared beginnings, turns that
quote earlier ones. Every request fits the memory alone.
"""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from sim.engine.inputs import SHARED_TEXT, Batching, Order, Requests, Reserve, Rules, StepTime
from sim.engine.rules import with_release
from sim.vllm_releases import GROUPS, NEWEST, PriorityPolicy

# Requests of equal priority and arrival can preempt each other for ever in mid-prompt (priority policy without the
# full-prompt check). That is vLLM's rule, so it is compared like everything else, but not to its end.
MAX_CALLS = 1500

Segments = list[tuple[int, int]]  # content id, tokens


class Scenario(NamedTuple):
    """Arguments of `engine.run`."""

    rules: Rules
    requests: Requests
    step_time: StepTime


class Sizes(NamedTuple):
    """One request."""

    prompt: int
    output: int
    cap: int


@st.composite
def vllm_scenarios(draw: Any, max_requests: int = 12) -> Scenario:
    """vLLM V1 of any release with any combination of its settings."""
    sizes = draw(st.lists(request_sizes(), min_size=1, max_size=max_requests))
    longest = max(size.prompt + size.output for size in sizes)
    block_size = draw(st.sampled_from([1, 2, 3, 4, 8, 16]))
    usable = -(-longest // block_size) + draw(st.sampled_from([0, 0, 1, 2, 5, 20, 200]))
    max_num_seqs = draw(st.integers(1, 10))
    chunked = draw(st.booleans())
    budget = max_num_seqs + draw(st.one_of(st.integers(0, 4), st.integers(0, 40)))
    if not chunked:
        budget = max(budget, longest)  # or a prompt could never be scheduled
    release = draw(st.one_of(st.just(NEWEST), st.sampled_from([release for _, release in GROUPS])))
    rules = Rules(
        batching=Batching.ITERATION,
        order=draw(st.sampled_from(Order)) if release.priority == PriorityPolicy.RELIABLE else Order.FCFS,
        reserve=Reserve.CHUNK,
        hold=0,
        batch_delivery=0,
        batch_wait_s=0.0,
        block_size=block_size,
        usable_blocks=usable,
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=budget,
        max_model_len=longest + draw(st.integers(1, 3)),
        chunked_prefill=int(chunked),
        long_prefill_token_threshold=draw(st.sampled_from([0, 0, 1, 3, 8])),
        prefix_caching=draw(st.integers(0, 1)),
        keep_blocks=draw(st.sampled_from([0, 0, 1, 2, usable // 4])),
        reserve_full_isl=draw(st.integers(0, 1)),
    )
    return Scenario(with_release(rules, release), draw(requests_of(sizes)), draw(step_times()))


@st.composite
def static_scenarios(draw: Any, max_requests: int = 12) -> Scenario:
    """Static batching: held or not, delivered at the end or as produced, both reservations."""
    sizes = draw(st.lists(request_sizes(), min_size=1, max_size=max_requests))
    longest = max(size.prompt + size.cap for size in sizes)
    block_size = draw(st.sampled_from([1, 3, 16]))
    max_model_len = longest + draw(st.integers(1, 3))
    hold = draw(st.integers(0, 1))
    rules = Rules(
        batching=Batching.REQUEST,
        order=draw(st.sampled_from(Order)),
        reserve=draw(st.sampled_from([Reserve.CAP, Reserve.MAX_MODEL_LEN])),
        hold=hold,
        batch_delivery=hold and draw(st.integers(0, 1)),
        batch_wait_s=draw(st.sampled_from([0.0, 0.5, 4.0, 60.0])),
        block_size=block_size,
        usable_blocks=-(-max_model_len // block_size) * draw(st.integers(1, 5)) + draw(st.integers(0, 3)),
        max_num_seqs=draw(st.integers(1, 8)),
        max_num_batched_tokens=8192,
        max_model_len=max_model_len,
        chunked_prefill=1,
        long_prefill_token_threshold=0,
        prefix_caching=0,
        keep_blocks=0,
        reserve_full_isl=0,
    )
    return Scenario(rules, draw(requests_of(sizes)), draw(step_times()))


@st.composite
def request_sizes(draw: Any) -> Sizes:
    """Mostly short answers, some long ones."""
    prompt = draw(st.one_of(st.integers(1, 12), st.integers(1, 60)))
    output = draw(st.one_of(st.just(1), st.integers(1, 8), st.integers(1, 40)))
    return Sizes(prompt, output, output + draw(st.sampled_from([0, 0, 1, 10])))


@st.composite
def requests_of(draw: Any, sizes: list[Sizes]) -> Requests:
    """Arrivals, priorities and texts for requests of these sizes."""
    n = len(sizes)
    users = draw(st.sampled_from([0, 0, 0, 1, 3]))
    arrivals = [draw(gaps()) for _ in range(n)] if users else np.cumsum([0.0, *(draw(gaps()) for _ in range(n - 1))])
    segments = draw(texts(sizes))
    output_len = np.array([size.output for size in sizes], np.int64)
    return Requests(
        arrival_s=np.array(arrivals, np.float64),
        prompt_len=np.array([size.prompt for size in sizes], np.int64),
        output_len=output_len,
        cap=np.array([size.cap for size in sizes], np.int64),
        priority=np.array([draw(st.integers(0, 2)) for _ in range(n)], np.int64),
        is_straggler=(output_len > np.quantile(output_len, draw(st.sampled_from([0.5, 0.8, 0.95])))).astype(np.int64),
        segment_start=np.cumsum([0, *map(len, segments)], dtype=np.int64),
        segment_content=np.array([content for each in segments for content, _ in each], np.int64),
        segment_len=np.array([tokens for each in segments for _, tokens in each], np.int64),
        users=users,
    )


def gaps() -> st.SearchStrategy[float]:
    """Seconds between arrivals: bursts, times that fall on the end of a step, any others, long silences."""
    return st.one_of(st.just(0.0), st.integers(0, 6).map(float), st.floats(0.0, 3.0), st.just(100.0))


@st.composite
def texts(draw: Any, sizes: list[Sizes]) -> list[Segments]:
    """For each request: text of its own, a shared beginning, or the whole of an earlier request and its answer."""
    written: list[Segments] = []
    for i, size in enumerate(sizes):
        kind = draw(st.sampled_from(["own", "shared", "shared", "turn"] if i else ["own", "shared"]))
        text: Segments = []
        if kind == "shared":
            text = [(SHARED_TEXT + draw(st.integers(0, 1)), draw(st.integers(1, 40)))]
        elif kind == "turn":
            j = draw(st.integers(0, i - 1))
            quoted = sizes[j].prompt - sum(tokens for _, tokens in written[j]) + sizes[j].output
            text = [*written[j], (j, quoted)]
        written.append(cut(text, size.prompt))
    return written


def cut(text: Segments, prompt: int) -> Segments:
    """No more segments than the prompt has room for."""
    kept: Segments = []
    for content, tokens in text:
        room = prompt - sum(tokens for _, tokens in kept)
        if min(tokens, room) > 0:
            kept.append((content, min(tokens, room)))
    return kept


def step_times() -> st.SearchStrategy[StepTime]:
    """Steps of one second each, or times in which every term counts; the table may be shorter than a step."""
    unit = StepTime(np.ones(9), 0.0, 0.0, 0.0)
    return st.sampled_from(
        [
            unit,
            StepTime(0.5 + 0.03 * np.arange(30.0) ** 1.1, 0.04, 0.0007, 0.0003),
            StepTime(np.zeros(2) + 0.25, 0.5, 0.0, 0.0),
        ]
    )
