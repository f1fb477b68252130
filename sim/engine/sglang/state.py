"""Everything the SGLang engine writes, as one value of arrays; `advance` can stop and go on at any iteration.

Counters, step times in flight and records of requests have the columns of `sim.engine.state`, so that time bins, gaps
and ledgers are kept by the same functions; what only SGLang has comes after them. Lengths are in tokens.
"""

from typing import NamedTuple

import numpy as np

from sim.engine.inputs import Floats, Ints
from sim.engine.state import (
    NUM_COUNT,
    NUM_FLIGHT,
    NUM_REAL,
    PAUSED_SINCE_S,
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
