"""What this loop keeps beside `sim.engine.state`: more counters, more columns of members, a small row a request."""

from typing import NamedTuple

from sim.engine import state as st
from sim.engine.inputs import Floats, Ints

# Further entries of `count`. CALL is the number of the present decoding iteration: an iteration in which no member
# decodes does not count, so that members age only when they decode.
(
    STEP,  # iterations so far
    TICKS,  # 1: decoding members take a token in this iteration
    NUM_YOUNG,  # decoding members whose newest token came after the last decoding iteration
    NUM_REDO,  # decoding members whose tokens were all delivered before
    REDO_KV,
    NUM_OUTGROWN,  # members that have filled their reservation and must go
    HEAP_SIZE,  # entries of the heap, stale ones too
    NUM_RANKED,  # live requests in the ranked list
    NUM_FIRST,  # ... of which its first ones all run
    NUM_TAKEN,  # ... and these are served, by the present choice
    NUM_CHOSEN,  # ... that were looked at one by one
    CHOSEN_BLOCKS,  # ... and that want so many blocks
    NUM_LATE_RUNNING,  # requests that ran before the choice and were not taken together with others
    LAST_RUNNING,  # entries of the list after which nobody ran before the choice
    IS_DIRTY,  # 1: the choice must be made again
    IS_SHUFFLED,  # 1: keys have changed, the list is not in order
    NUM_SWAPPED,
    HOST_FREE,
    MOVED_BLOCKS,  # between GPU and host in this iteration
    NUM_NEW,  # arrivals since the last iteration
    READY_POINT,  # requests whose prediction is there
    TIMEOUT_POINT,  # requests whose client may still give up
    STARVED_POINT,  # untouched requests, by arrival, that may have waited too long
    OLDEST_POINT,  # no request before it waits
    NEED_LOW,  # no waiting request needs fewer blocks
    NEED_HIGH,  # ... or more
    NEXT_TURN,  # running number that orders a queue by time of joining
    WAS_PREFILL,  # 1: the last iteration computed prompts
    REFUSED_AT,  # last iteration in which the future peak kept the next request out
    NUM_FUTURES,  # decoding members that are kept in order of what is to come
    NUM_FAILED,  # members cut by their batch, to be run again
    NUM_HISTORY,
    NUM_RESIDUALS,
    SUM_SWAPPED,
    SUM_OUT_OF_MEMORY,
    SUM_ABORTED,
    SUM_GUARDED,
    SEATS,  # members allowed at present: fewer after the engine ran out of memory
    IS_OPEN,  # 1: this iteration may admit, as far as the interval goes
) = range(st.NUM_COUNT, st.NUM_COUNT + 39)
NUM_COUNT = st.NUM_COUNT + 39

# Further columns of `live`.
(
    END_CALL,  # decoding iteration that brings the last token (DUE is the next one with anything to do)
    IS_PLEDGED,  # 1: still grows into its reservation
    IS_YOUNG,
    REDO_UNTIL,  # decoding iteration whose token is the first one not delivered before; -1: none
    IS_RUNNING,  # 0: holds its memory but is not served
) = range(st.NUM_LIVE, st.NUM_LIVE + 5)
NUM_LIVE = st.NUM_LIVE + 5

# Further columns of `slots`: members whose newest token came late, those that decode again what was delivered, those
# that have outgrown their reservation, those cut by their batch (request ids); places in the ranked list of members in
# mid-prompt.
YOUNG, REDO, OUTGROWN, FAILED, PLACE = range(st.NUM_SLOT_LISTS, st.NUM_SLOT_LISTS + 5)
NUM_SLOT_LISTS = st.NUM_SLOT_LISTS + 5

# Spare column of `out_n`: tokens that were delivered and thrown away again.
LOST_TOKENS = 7

# Columns of `kept`, one row a request.
(
    WHERE,
    SLOT,
    HOST_TOKENS,  # KV tokens in host memory
    OUTPUT_SLOTS,  # output tokens that its next admission reserves; 0: as hinted
    LEVEL,
    STARVED,  # iterations in a row without service
    QUANTUM,  # iterations left as a promoted request; 0: not promoted
    IS_SETTLED,  # 1: nobody displaces it
    PLAN,  # tokens that the present choice gives it
    IN_HEAP,  # 1: has a valid entry in the heap
    ARRIVED_AT,  # step
    AFTER,  # next of its list
    REFRESHED,  # tokens generated at the last estimate
    SETBACKS,  # evictions since its last token
) = range(14)
NUM_KEPT = 14
MOST_SETBACKS = 16
RESCUED = 2**40  # value of QUANTUM: in front of everybody until its next token
NOWHERE, WAITING, RUNNING, PAUSED, SWAPPED, GONE = range(6)

# Columns of `kept_s`. AGES is 1 for who decodes and is ordered by what is left: its key is KEY less CALL.
KEY, AGES, SINCE_S, USED_S, QUANTUM_S = range(5)
NUM_KEPT_S = 5

# Columns of `futures`: decoding iteration in which the member is thought to end, tokens that it counts with less that
# iteration's number, slot.
FUTURE_END, FUTURE_BASE, FUTURE_SLOT = range(3)

HISTORY_COLUMNS = 2  # newest values in order of time, and sorted


class More(NamedTuple):
    """The rest of the state."""

    kept: Ints  # (n, NUM_KEPT)
    kept_s: Floats  # (n, NUM_KEPT_S)
    ranked: Ints  # (n,) live requests in order; one entry where iterations do not choose among all
    chosen: Ints  # (n,) those that the present choice looked at one by one; likewise
    lists: Ints  # (lists, 2) first and last of waiting requests by need or by class
    counter: Floats  # (classes, 2) counter, members and waiting requests of the class
    history: Floats  # (history, 2)
    residual: Floats  # (residuals, 2)
    scratch: Floats  # (slots + 1, 2) tokens held, tokens to come
    futures: Ints  # (slots, 3) decoding members, the last to end first; one row where no future peak is asked for
    posterior: Floats  # (n, classes of length) belief of each request: REFINED
