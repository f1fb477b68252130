"""Everything the SGLang engine writes, as one value of arrays; `advance` can stop and go on at any iteration.

Counters, step times in flight and records of requests have the columns of `sim.engine.state`, so that time bins, gaps
and ledgers are kept by the same functions; what only SGLang has comes after them. Lengths are in tokens.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from sim.engine.accounts import NUM_COLUMNS, NUM_GAP_BINS
from sim.engine.inputs import Floats, Ints, Requests
from sim.engine.sglang.inputs import SglangOrder, SglangRules
from sim.engine.state import (
    BIN_END,
    BIN_WIDTH,
    FIRST_BIN_WIDTH,
    FIRST_SCHEDULED_S,
    GAP_BIN,
    GAP_HIGH,
    LAST_TOKEN_S,
    NUM_BINS,
    NUM_COUNT,
    NUM_FLIGHT,
    NUM_FLIGHT_S,
    NUM_OUT_N,
    NUM_REAL,
    PAUSED_SINCE_S,
    RETRY_S,
    fill_arrivals,
    power_of_two,
    room_to_think,
)

# Columns of `req`, one row a request: what changes with every step, one line of the processor's cache.
(
    EMITTED,
    FILLED,  # tokens known when its newest batch was built
    PREFIX,  # tokens with KV before the newest prefill
    EXTEND_END,  # tokens with KV after it
    COMMITTED,  # tokens with KV, those of the step in flight included
    PROTECTED,  # of these, tokens whose KV belongs to the tree
    LOCK,  # node that ends the locked path; the root locks nothing
    MIDDLE_CHUNKS,  # prefills whose results come next and that end before the prompt does
    IS_FINISHED,
    IS_RETRACTED,  # and not yet admitted again
    MAX_NEW,  # largest output, after the clip at arrival
    END_AT,  # tokens with which it finishes
    PROMPT,
    TYPICAL,  # 0: a straggler
    HIGH_WATER,  # tokens that a retraction has thrown away
    IGNORE_EOS,
) = range(16)
NUM_REQ = 16
SINCE_S = PAUSED_SINCE_S  # while the request runs: since when it has held COMMITTED tokens

# Columns of `texts`, one row a request.
# EOS_AT: position of the end-of-sequence token. RETRY: row of the request that follows the answer, 0 where none does.
FIRST_SEGMENT, END_SEGMENT, EOS_AT, RETRY = range(4)
NO_EOS = 2**31 - 1

# Columns of `segments`.
CONTENT, REACH = range(2)  # content id; where the segment ends, counted from the beginning of the text

# Columns of `nodes`, one row a node of the prefix tree; row 0 is the root.
(
    PARENT,
    LENGTH,  # 0: no such node
    OWNER,  # a request whose text the node holds, from START on
    START,
    LOCKS,
    TYPICAL_LOCKS,
    CHILDREN,
    TOUCHED,  # clock of the tree
    KEY,  # of the first page
    NEXT,  # of the hash chain, or of the list of free rows
    IN_HEAP,
) = range(11)
NUM_NODE = 11
# Typed, as a plain 0 is another type to the compiler, and every function it is passed to would be compiled twice.
NOTHING = np.int64(0)
ROOT = NOTHING

# Rows of `lists`, requests in order: the running batch, for each of two steps in flight its batch and what each of its
# decoding members reads, and who was retracted in this iteration with the tokens that lost.
RUNNING, FLYING, FLYING_TOO, READS, READS_TOO, VICTIM, LOST = range(7)
NUM_LISTS = 7

# Rows of `sorting`: ranks of the queue's first entries; requests that a like one may wait for, and their keys.
RANK, SEEN, SEEN_KEY = range(3)

# Columns of `flight` beyond those of `sim.engine.state`.
(
    F_SIZE,  # members, those in prefill first
    F_NUM_PREFILL,
    F_CUT,  # whose prompt goes on after the step, or -1
    F_DEPARTED,  # requests that had finished or been retracted when the step was launched
) = range(NUM_FLIGHT, NUM_FLIGHT + 4)
NUM_SGLANG_FLIGHT = NUM_FLIGHT + 4

# Entries of `count` beyond those of `sim.engine.state`.
(
    POOL_FREE,  # tokens of empty pages
    EVICTABLE,  # cached tokens that nothing locks
    UNFILLED_STRAGGLER,  # of UNFILLED, in the tails of stragglers
    TREE_CLOCK,
    FREE_NODE,  # first free row of `nodes`
    NUM_FREE_NODES,
    HEAP_SIZE,  # leaves that may be evictable
    QUEUE_HEAD,
    NUM_SORTED,  # of the queue, from its head on
    PASSES,
    NUM_BATCH,  # members of the running batch
    FIRST_IN_FLIGHT,  # of these, from here on their newest token is on its way
    IS_FULL,  # no admission is tried
    CHUNKED,  # request between two chunks, or -1
    LAST,  # step of the iteration before, 0 or 1 as in `flight`, or -1
    ITERATION,
    HIT,  # tokens found in the cache by this pass
    RESERVED_NOW,  # this pass' own tokens
    INPUT_LEFT,
    CHUNK_LEFT,
    BATCH_SIZE,  # of the batch being built
    BATCH_CUT,
    NUM_FINISH_TIMES,
    DEPARTED,  # requests finished or retracted so far
    NOTICED,  # ... when the running batch was last searched for them
    IS_BROKEN,  # a prefill that had been decided on cannot be allocated: SGLang's process ends
) = range(NUM_COUNT, NUM_COUNT + 26)
NUM_SGLANG_COUNT = NUM_COUNT + 26

# Entries of `real` beyond those of `sim.engine.state`.
RATIO, RESERVED = range(NUM_REAL, NUM_REAL + 2)
NUM_SGLANG_REAL = NUM_REAL + 2

# Columns of the tape's `numbers`.
(
    T_STEP,
    T_KIND,
    T_HIT,
    T_BATCH,  # running batch
    T_RUNNING,  # everybody admitted and not finished
    T_WAITING,
    T_AVAILABLE,
    T_EVICTABLE,
    T_FREE_SCHEDULED,
    T_FREE_END,
    T_CHUNKED,
    T_IS_FULL,
    T_IS_RESET,
    T_NUM_PREFILL,
    T_APPLIED,  # row whose results the iteration took, or -1
    T_SCHEDULED,  # starts of the lists
    T_PREEMPTED,
    T_NUM_FINISHED,
) = range(18)
NUM_NUMBERS = 18

MOST_MATCHED = 128  # longer queues are not matched against the tree
FIRST_NODES = 4096
LARGEST_HASH = 1 << 16


class SglangInputs(NamedTuple):
    """Requests and step time as the kernels read them."""

    arrival_s: Floats  # (n,) think times in a closed loop
    texts: np.ndarray  # (n, 4) int32
    segments: Ints  # (m, 2)
    linear_s: Floats  # (tokens + 1,)


class SglangState(NamedTuple):
    """All that changes during a run."""

    counts: Ints
    real: Floats
    req: np.ndarray  # (n, 16) int32
    lists: Ints  # (NUM_LISTS, seats)
    ring: np.ndarray  # (power of two,) int32, the queue
    spare: np.ndarray  # (n,) int32 where the order needs it
    sorting: Ints  # (3, MOST_MATCHED)
    nodes: Ints  # (nodes, NUM_NODE)
    heads: Ints  # (power of two,) first node of a hash chain, or -1
    heap: Floats  # (nodes, 2) touched, node
    flight: Ints  # (2, NUM_SGLANG_FLIGHT)
    flight_s: Floats  # (2, NUM_FLIGHT_S)
    out_s: Floats  # (n, 8)
    out_n: np.ndarray  # (n, NUM_OUT_N) int32
    gap_hist: Floats
    bins: Floats
    thinking: Floats  # (users, 2)
    finish_times: Floats  # (seats, 2) tokens left, tokens held


class SglangTape(NamedTuple):
    """The recorded iterations."""

    times_s: Floats  # (steps, 2) start, end
    ratios: Floats  # (steps, 2) right after scheduling, at the end of the iteration
    numbers: Ints  # (steps, NUM_NUMBERS)
    scheduled: Ints  # (rows, 4) request, tokens, computed before, blocks
    preempted: Ints  # (rows, 2) request, tokens lost
    finished: Ints  # (rows,) request


class Queue(NamedTuple):
    """Who waits, and what sorting them takes."""

    ring: np.ndarray
    spare: np.ndarray
    sorting: Ints


class Texts(NamedTuple):
    """What prompts and answers consist of."""

    page_size: int
    texts: np.ndarray
    segments: Ints


class Tree(NamedTuple):
    """The prefix tree."""

    nodes: Ints
    heads: Ints
    heap: Floats


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
    fill_counters(rules, requests, state)
    fill_arrivals(requests, arrival_s, state.thinking, state.out_s, state.counts)
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


def fill_counters(rules: SglangRules, requests: Requests, state: SglangState) -> None:
    """Entries that do not start at zero."""
    for entry in (CHUNKED, LAST, GAP_BIN):
        state.counts[entry] = -1
    state.counts[POOL_FREE] = rules.pool_tokens // rules.page_size * rules.page_size
    link_free_nodes(state, 1)
    state.real[RATIO] = rules.init_ratio
    state.real[BIN_WIDTH] = state.real[BIN_END] = FIRST_BIN_WIDTH
    state.real[GAP_HIGH] = -1.0
    state.out_s[:, FIRST_SCHEDULED_S : LAST_TOKEN_S + 1] = np.nan
    state.real[RETRY_S] = requests.retry_s


def link_free_nodes(state: SglangState, first: int) -> None:
    """Rows of the tree from `first` on join the list of free ones."""
    rows = len(state.nodes)
    state.nodes[first:, NEXT] = np.arange(first + 1, rows + 1)
    if first < rows:
        state.nodes[rows - 1, NEXT] = state.counts[FREE_NODE]
        state.counts[FREE_NODE] = first
        state.counts[NUM_FREE_NODES] += rows - first


def with_more_nodes(rules: SglangRules, state: SglangState) -> SglangState:
    """The same state with twice the room in its tree, up to a node for each page of the pool."""
    rows = len(state.nodes)
    more = min(2 * rows, most_nodes(rules))
    nodes = np.zeros((more, NUM_NODE), np.int64)
    heap = np.zeros((more, 2))
    nodes[:rows], heap[:rows] = state.nodes, state.heap
    larger = state._replace(nodes=nodes, heap=heap)
    link_free_nodes(larger, rows)
    return larger


@register_jitable
def most_nodes(rules):
    """Rows that the tree can ever need: the root, and a node for each page."""
    return rules.pool_tokens // rules.page_size + 2


@register_jitable
def most_new_nodes(seats):
    """Nodes that one iteration makes at most: a split for each match, and a leaf and two splits for each insertion."""
    return MOST_MATCHED + 8 * seats


@register_jitable
def lacks_nodes(rules, seats, nodes, count):
    """Whether the next iteration might need more nodes than the tree has rows for; a page each is enough for ever."""
    if not rules.radix_cache or len(nodes) == most_nodes(rules):
        return False
    return count[NUM_FREE_NODES] < most_new_nodes(seats)


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
