"""The state before the first iteration, and room for what is recorded: nothing has arrived, the pool is empty."""

import numpy as np

from sim.engine.accounts import NUM_COLUMNS, NUM_GAP_BINS
from sim.engine.first_state import fill_records, power_of_two, room_to_think
from sim.engine.inputs import Floats, Ints, Requests
from sim.engine.sglang.inputs import SglangOrder, SglangRules
from sim.engine.sglang.state import (
    CHUNKED,
    CONTENT,
    END_AT,
    END_SEGMENT,
    EOS_AT,
    FIRST_SEGMENT,
    IGNORE_EOS,
    LAST,
    MAX_NEW,
    MOST_MATCHED,
    NO_EOS,
    NUM_LISTS,
    NUM_NODE,
    NUM_NUMBERS,
    NUM_REQ,
    NUM_SGLANG_COUNT,
    NUM_SGLANG_FLIGHT,
    NUM_SGLANG_REAL,
    POOL_FREE,
    PROMPT,
    RATIO,
    REACH,
    RETRY,
    TYPICAL,
    SglangInputs,
    SglangState,
    SglangTape,
)
from sim.engine.sglang.tree_room import link_free_nodes, most_new_nodes, most_nodes
from sim.engine.state import (
    NUM_BINS,
    NUM_FLIGHT_S,
    NUM_OUT_N,
)

FIRST_NODES = 4096
LARGEST_HASH = 1 << 16


def largest_outputs(rules: SglangRules, prompt_len: Ints, asked: Ints) -> Ints:
    """Tokens that each request may produce: what fits an empty pool.

    Source: README of the SGLang goldens, finding 10.
    """
    longest = min(rules.context_len, rules.pool_tokens) - 1
    pages = -(-prompt_len // rules.page_size) * rules.page_size
    room = np.minimum(longest - prompt_len - 1, rules.pool_tokens - pages - rules.page_size - 1)
    return np.maximum(np.minimum(asked, room), 0)


def sglang_inputs(requests: Requests, linear_s: Floats, counted: bool) -> SglangInputs:
    """Requests as the kernels read them.

    Parameters
    ----------
    counted : bool
        Arrivals are numbers of iterations, as in a golden, and answers that end before their cap end with a token
        that is the same for all requests. Else arrivals are seconds, and answers are all their own.
    """
    start = requests.segment_start
    texts = np.zeros((len(requests.prompt_len), 4), np.int32)
    if requests.again is not None:
        texts[:, RETRY] = requests.again
    texts[:, FIRST_SEGMENT], texts[:, END_SEGMENT] = start[:-1], start[1:]
    last = requests.prompt_len + requests.output_len - 1
    texts[:, EOS_AT] = np.where((requests.output_len < requests.cap) & counted, last, NO_EOS)
    segments = np.empty((len(requests.segment_len), 2), np.int64)
    segments[:, CONTENT] = requests.segment_content
    reach = np.cumsum(requests.segment_len)
    before = np.concatenate([[0], reach])[start[:-1]]
    segments[:, REACH] = reach - np.repeat(before, np.diff(start))
    arrival_s = np.array(requests.arrival_s, np.float64)
    if requests.users == 0 and not counted:
        arrival_s -= arrival_s[0]
    return SglangInputs(arrival_s, texts, segments, np.require(linear_s, np.float64, ["C", "W"]))


def sglang_state(rules: SglangRules, requests: Requests, arrival_s: Floats, ignore_eos: np.ndarray) -> SglangState:
    """State before the first iteration: nothing has arrived, the pool is empty."""
    n = len(requests.prompt_len)
    seats = min(rules.max_running_requests, n) + 1
    pages = rules.pool_tokens // rules.page_size
    rows = min(most_nodes(rules), max(FIRST_NODES, 2 * most_new_nodes(seats))) if rules.radix_cache else 1
    state = SglangState(
        counts=np.zeros(NUM_SGLANG_COUNT, np.int64),
        real=np.zeros(NUM_SGLANG_REAL),
        req=np.zeros((n, NUM_REQ), np.int32),
        lists=np.zeros((NUM_LISTS, seats), np.int64),
        ring=np.zeros(power_of_two(n), np.int32),
        spare=np.zeros(n if rules.order == SglangOrder.LOF else 1, np.int32),
        sorting=np.zeros((3, MOST_MATCHED), np.int64),
        nodes=np.zeros((rows, NUM_NODE), np.int64),
        heads=np.full(power_of_two(min(2 * pages, LARGEST_HASH)), -1, np.int64),
        heap=np.zeros((rows, 2)),
        flight=np.zeros((2, NUM_SGLANG_FLIGHT), np.int64),
        flight_s=np.zeros((2, NUM_FLIGHT_S)),
        out_s=np.zeros((n, 8)),
        out_n=np.zeros((n, NUM_OUT_N), np.int32),
        gap_hist=np.zeros((NUM_GAP_BINS, 2)),
        bins=np.zeros((NUM_BINS + 1, NUM_COLUMNS)),
        thinking=room_to_think(requests),
        finish_times=np.zeros((seats + 1, 2)),
    )
    fill_requests(rules, requests, ignore_eos, state.req)
    fill_counters(rules, state)
    fill_records(requests, arrival_s, state.thinking, state.out_s, state.counts, state.real)
    return state


def fill_requests(rules: SglangRules, requests: Requests, ignore_eos: np.ndarray, req: np.ndarray) -> None:
    """Columns of `req` that do not start at zero."""
    most = largest_outputs(rules, requests.prompt_len, requests.cap)
    ends_by_text = (requests.output_len < requests.cap) & ~ignore_eos
    req[:, MAX_NEW] = most
    req[:, END_AT] = np.maximum(np.where(ends_by_text, np.minimum(requests.output_len, most), most), 1)
    req[:, PROMPT] = requests.prompt_len
    req[:, TYPICAL] = 1 - requests.is_straggler
    req[:, IGNORE_EOS] = ignore_eos


def fill_counters(rules: SglangRules, state: SglangState) -> None:
    """Entries that do not start at zero."""
    state.counts[CHUNKED] = state.counts[LAST] = -1
    state.counts[POOL_FREE] = rules.pool_tokens // rules.page_size * rules.page_size
    link_free_nodes(state, 1)
    state.real[RATIO] = rules.init_ratio


def sglang_tape(rows: int, seats: int) -> SglangTape:
    """Room for `rows` iterations, and for one more batch in each of the lists."""
    room = rows + seats
    return SglangTape(
        times_s=np.zeros((rows, 2)),
        ratios=np.zeros((rows, 2)),
        numbers=np.zeros((rows, NUM_NUMBERS), np.int64),
        scheduled=np.zeros((room, 4), np.int64),
        preempted=np.zeros((room, 2), np.int64),
        finished=np.zeros(room, np.int64),
    )
