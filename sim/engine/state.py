"""Everything the engine writes, as one value of arrays; `advance` can stop and go on at any call.

Members of the running set have a slot, a row of `live`; requests have a row of `out_s` and `out_n`. A member that only
decodes ages without being touched: its KV tokens after call `k` are `BASE + k`, the call that finishes it waits in
a calendar, and the next block it needs is known from its phase. Source: design.md 3.3.
"""

from typing import NamedTuple

import numpy as np

from sim.engine.inputs import Floats, Ints

# Columns of `live`, one row a slot.
(
    REQUEST,
    SEQ,  # number of the admission: the running order
    STRAGGLER,  # 1 or 0
    KNOWN,  # tokens of prompt and answer so far, at admission
    COMPUTED,  # tokens with KV before this call; while decoding BASE tells
    CHUNK,  # tokens scheduled in this call
    SERVED,  # last call that scheduled the member outside the quiet path
    DECODING,  # 1 once the prompt is done
    BASE,  # KV tokens after call k are BASE + k
    PHASE,  # needs a new block at calls k with k % block_size == PHASE
    DUE,  # call that produces the last token
    SEGMENT,  # call that produced the first token of the present stretch of decoding; -1 until it came
    FIRST_SAMPLE,  # call that completed the prompt
    KEYED_BLOCKS,  # prefix caching: full blocks with a key
    ENDING,  # 1: the last token is on its way, nothing more to compute
    RESERVED,  # KV blocks set aside at admission, those held included
    CHAIN,  # prefix caching: key of the last full block
    RUN_PREV,
    RUN_NEXT,
    DUE_PREV,
    DUE_NEXT,
    PHASE_PREV,
    PHASE_NEXT,
    HELD_DONE,  # 1: has its last token, keeps its slot until the batch ends
) = range(24)
NUM_LIVE = 24
NEVER = -2  # no call

# Columns of `asked`, one row a request: what comes in, as one array.
# AGAIN is the row of the retry that follows the answer, 0 where none does.
PROMPT_LEN, OUTPUT_LEN, CAP, PRIORITY, IS_STRAGGLER, FIRST_SEGMENT, END_SEGMENT, AGAIN = range(8)

# Columns of `segments`.
CONTENT, LENGTH = range(2)

# Columns of `slots`: a stack of free slots; lists of slots in mid-prompt and just admitted; victims of this call with
# the tokens they lost; victims whose token is still on its way, with their place in the running order; and for each of
# two steps in flight, the slots whose prompt it completes and those whose last token it brings; requests whose
# token of the newest step is thrown away.
FREE_SLOT, PARTIAL, FRESH, VICTIM, LOST, LATE, LATE_SEQ, SAMPLED, SAMPLED_TOO, DUE_LIST, DUE_LIST_TOO, DROPPED = range(
    12
)
NUM_SLOT_LISTS = 12

# Columns of `flight`, one row for each of two steps in flight: what a call scheduled, applied with its outputs.
(
    F_CALL,  # number of the call
    F_ROW,  # row of the step table
    F_TOKENS,
    F_DECODING,  # members past their prompt, one token each
    F_DECODING_KV,
    F_HELD,  # finished members of a held batch, one token each
    F_HELD_KV,
    F_CHUNK_TOKENS,
    F_CHUNK_REDO,
    F_CHUNK_CONTEXT,
    F_CHUNKS_DONE,
    F_DROPPED,  # tokens of requests that had ended before
    F_NUM_SAMPLED,
    F_NUM_DUE,
    F_NUM_PREEMPTED,
    F_REDO,  # decoding members whose tokens were delivered before
    F_REDO_KV,
) = range(17)
NUM_FLIGHT = 17
# Columns of `flight_s`; the last two lengthen the step.
F_END_S, F_LINEAR_S, F_CHUNK_USEFUL_S, F_CHUNK_REDO_S, F_SWAP_S, F_PREDICTOR_S = range(6)
NUM_FLIGHT_S = 6

# Columns of `phases`, one row a phase of block growth: decoding members, stragglers among them, ends of their list.
MEMBERS, STRAGGLER_MEMBERS, FIRST, LAST = range(4)

# Columns of `live_s`: the clock and the call-weighted clock when the present stretch of decoding began.
SEGMENT_S, SEGMENT_AGE = range(2)

# Columns of `out_s`, one row a request.
ARRIVAL_S, FIRST_SCHEDULED_S, FIRST_TOKEN_S, LAST_TOKEN_S, PAUSE_S, PAUSED_SINCE_S, MAX_ITL_S, MEMORY_TOKEN_S = range(8)

# Columns of `out_n`, one row a request.
STATUS, EMITTED, PREEMPTED, RECOMPUTED, CACHED, HIGH_WATER, NEXT_WAITING = range(7)
NUM_OUT_N = 8

# Entries of `count`.
(
    CALL,  # number of the present call of the scheduler
    CALL_PHASE,  # CALL % block_size
    ARRIVED,  # requests that have joined or been rejected
    ISSUED,  # closed loop: questions asked so far
    FIRST_TRIES,  # arrivals that are no retries
    NUM_DUE,  # entries of `thinking`
    EXPECTED,  # requests that come for certain
    NUM_DONE,  # finished or rejected
    NUM_WAITING,
    WAIT_HEAD,
    WAIT_TAIL,
    HEAD_KNOWN_GOOD,  # 1 while the next nine hold for the head of the queue
    HEAD,  # request at the head
    HEAD_KNOWN,  # tokens of its prompt and answer so far
    HEAD_HIT,  # blocks found in the prefix cache
    HEAD_IDLE,  # ... of which nobody holds
    HEAD_FIRST,  # blocks its next iteration would take if the pool were the only limit, idle hits not counted
    HEAD_WHOLE,  # blocks its admission test wants whatever the budget: reservation or full prompt, else 0
    HEAD_CHAIN,  # key of the last block found
    HEAD_NEXT_KEY,  # key of the first block not found
    HEAD_WATCH,  # mark on the blocks found
    NUM_RUNNING,
    RUN_HEAD,
    RUN_TAIL,
    NEXT_SEQ,
    NUM_FREE_SLOTS,
    NUM_DECODING,
    STRAGGLERS_DECODING,
    DECODING_KV,  # KV tokens of decoding members
    NUM_PARTIAL,  # members between two chunks of their prompt
    NUM_FRESH,  # admitted in this call
    NUM_PREEMPTED,  # in this call
    NUM_LATE,  # victims whose token is on its way
    LATE_DECODING,  # ... that were past their prompt
    IN_FLIGHT,  # steps called and not yet applied, 0 to 2
    PUSHED,  # steps called so far, empty ones too
    FLIGHT_CALL,  # call of the newest step in flight that computes anything, else -1
    APPLIED_CALL,  # call whose outputs were applied last
    UNANNOUNCED,  # 1: somebody has ended since the last call
    EPOCH,  # calls and applications so far: orders what is registered in the prefix cache
    FREE,  # blocks nobody holds and nobody was promised
    CACHED_IDLE,  # ... of which with findable content
    PLEDGED,  # blocks promised and still empty
    KV_TYPICAL,  # computed tokens in blocks that a typical request holds
    KV_STRAGGLER,  # computed tokens in blocks that only stragglers hold
    UNFILLED,  # token places without a token in held blocks
    STRAGGLER_BLOCKS,  # blocks that only stragglers hold
    NUM_HELD_DONE,
    HELD_DONE_KV,
    HELD_DONE_BLOCKS,
    HOST_USED,  # blocks in host memory
    CHUNK_TOKENS,  # of this call's prefill chunks, and the next three
    CHUNK_REDO,
    CHUNK_CONTEXT,
    CHUNKS_DONE,  # chunks that complete a prompt, each with a token
    GAP_FRONT,  # monotone stack of step durations: oldest entry
    GAP_BACK,  # ... one past the newest
    GAP_BIN,  # histogram bin of the last gap
    BIN,  # time bin being filled
    SUM_STEPS,
    SUM_TOKENS,
    SUM_BLOCKS,  # blocks handed out
    SUM_HIT_BLOCKS,
    SUM_PADDING,  # slot-steps of finished members in held batches
    SUM_OUTPUT,
    SUM_PREEMPTED,
    STEPS_RECORDED,
    SCHEDULED_RECORDED,
    PREEMPTED_RECORDED,
    FINISHED_RECORDED,
    LATE_RECORDED,
    DROPPED_RECORDED,
) = range(72)
NUM_COUNT = 72

# Entries of `real`.
(
    CLOCK,  # seconds since the first arrival
    AGE,  # sum over calls k of k * duration: with CLOCK it integrates what decoding members hold
    CHUNK_WORK,  # prefill attention work of this call
    CHUNK_USEFUL_S,  # attention and context time of this call's chunks, and what of it is done again
    CHUNK_REDO_S,
    GAP_LOW,  # border of the last gap's histogram bin
    GAP_HIGH,
    BIN_WIDTH,
    BIN_END,
    LAST_END,  # of the newest step in flight: the next one cannot begin before
    START_S,  # when the step being called begins
    TOKEN_S,  # end of the last applied step: every decoding member got a token then
    RETRY_S,  # from an answer to the retry that follows it
) = range(13)
NUM_REAL = 13

# Columns of `blocks` (prefix caching), one row a block; row 0, vLLM's null block, closes the ring of free blocks.
(
    REFS,
    TYPICAL_REFS,
    KEY_LOW,  # a key is 64 bits
    KEY_HIGH,  # negative: the content cannot be found
    STAMP,
    OWNER_SEQ,
    WATCH,
    FREE_PREV,
    FREE_NEXT,
    KEY_NEXT,
) = range(10)
NUM_BLOCK_COLUMNS = 10

NUM_BINS = 512
FIRST_BIN_WIDTH = 2.0**-10


class Inputs(NamedTuple):
    """Requests and step time as the kernels read them."""

    arrival_s: Floats  # (n,) think times in a closed loop
    asked: np.ndarray  # (n, 8) int32, columns PROMPT_LEN ...
    segments: Ints  # (m, 2) content id, tokens
    linear_s: Floats  # (tokens + 1,)


class State(NamedTuple):
    """All that changes during a run."""

    counts: Ints  # the entries named above
    real: Floats
    live: Ints  # (max_num_seqs, NUM_LIVE)
    live_s: Floats  # (max_num_seqs, 2)
    slots: Ints  # (max_num_seqs, NUM_SLOT_LISTS)
    calendar: Ints  # (ring, 2) first and last slot due at a call
    phases: Ints  # (block_size, 4)
    flight: Ints  # (2, NUM_FLIGHT)
    flight_s: Floats  # (2, NUM_FLIGHT_S)
    out_s: Floats  # (n, 8)
    out_n: np.ndarray  # (n, NUM_OUT_N) int32
    gap_stack: Floats  # (ring, 2) call, duration: monotone stack of durations
    gap_hist: Floats  # (NUM_GAP_BINS, 2) gaps, seconds
    bins: Floats  # (NUM_BINS + 1, NUM_COLUMNS); the last row is what has not been put into a bin yet
    heap: Floats  # (n, 2) key, request: waiting queue of every order but FCFS
    thinking: Floats  # (users + retries, 2) heap of times at which users ask, and row: 0 is a closed loop's next one
    blocks: np.ndarray  # (usable + 1, NUM_BLOCK_COLUMNS) int32 with prefix caching; small rows stay in the cache
    table: np.ndarray  # (max_num_seqs + 1, longest request in blocks) int32; last row: found for the queue's head
    key_heads: np.ndarray  # (power of two,) int32, newest block of a hash chain, or -1


class Members(NamedTuple):
    """The running set, as functions that touch much of it get it."""

    live: Ints
    live_s: Floats
    slots: Ints
    calendar: Ints
    phases: Ints


class RequestRecords(NamedTuple):
    """What becomes of each request."""

    out_s: Floats
    out_n: np.ndarray


class Cache(NamedTuple):
    """Blocks with content."""

    blocks: np.ndarray
    table: np.ndarray
    key_heads: np.ndarray


class Tape(NamedTuple):
    """The recorded calls."""

    times_s: Floats  # (steps, 3) start, end, call
    numbers: Ints  # (steps, 11) columns T_RUNNING ...
    scheduled: Ints  # (rows, 4) request, tokens, computed before, blocks
    preempted: Ints  # (rows, 2) request, tokens lost
    finished: Ints  # (rows,) request
    late: Ints  # (rows,) request
    dropped: Ints  # (rows,) request


(
    T_RUNNING,
    T_WAITING,
    T_FREE,
    T_FREE_END,
    T_AHEAD,
    T_APPLIED_AFTER,
    T_SCHEDULED,  # starts of the lists
    T_PREEMPTED,
    T_FINISHED,
    T_LATE,
    T_DROPPED,
) = range(11)
