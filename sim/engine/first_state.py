"""The state before the first call, and room for what is recorded: nothing has arrived, all blocks are free."""

import numpy as np

from sim.engine.accounts import NUM_COLUMNS, NUM_GAP_BINS
from sim.engine.inputs import Floats, Ints, Order, Requests, Rules
from sim.engine.state import (
    AGAIN,
    APPLIED_CALL,
    ARRIVAL_S,
    BIN_END,
    BIN_WIDTH,
    CONTENT,
    EXPECTED,
    FIRST,
    FIRST_BIN_WIDTH,
    FIRST_SCHEDULED_S,
    FLIGHT_CALL,
    FREE,
    FREE_NEXT,
    FREE_PREV,
    FREE_SLOT,
    GAP_BIN,
    GAP_HIGH,
    ISSUED,
    KEY_HIGH,
    KEY_NEXT,
    LAST,
    LAST_TOKEN_S,
    LENGTH,
    NUM_BINS,
    NUM_BLOCK_COLUMNS,
    NUM_COUNT,
    NUM_DUE,
    NUM_FLIGHT,
    NUM_FLIGHT_S,
    NUM_FREE_SLOTS,
    NUM_LIVE,
    NUM_OUT_N,
    NUM_REAL,
    NUM_SLOT_LISTS,
    RETRY_S,
    RUN_HEAD,
    RUN_TAIL,
    WAIT_HEAD,
    WAIT_TAIL,
    Inputs,
    State,
    Tape,
)


def inputs_of(requests: Requests, linear_s: Floats) -> Inputs:
    """Columns side by side: one row of a request is one line of the processor's cache."""
    asked = np.zeros((len(requests.prompt_len), 8), np.int32)
    columns = (requests.prompt_len, requests.output_len, requests.cap, requests.priority, requests.is_straggler)
    for column, values in enumerate((*columns, requests.segment_start[:-1], requests.segment_start[1:])):
        asked[:, column] = values
    if requests.again is not None:
        asked[:, AGAIN] = requests.again
    segments = np.empty((len(requests.segment_len), 2), np.int64)
    segments[:, CONTENT] = requests.segment_content
    segments[:, LENGTH] = requests.segment_len
    arrival_s = np.array(requests.arrival_s, np.float64)
    if requests.users == 0:
        arrival_s -= arrival_s[0]
    return Inputs(arrival_s, asked, segments, np.require(linear_s, np.float64, ["C", "W"]))


def first_state(rules: Rules, requests: Requests, inputs: Inputs) -> State:
    """State before the first call: nothing has arrived, all blocks are free."""
    n = len(inputs.asked)
    slots = min(rules.max_num_seqs, n)
    ring = power_of_two(int(requests.output_len.max()) + 4)
    block_rows = rules.usable_blocks + 1 if rules.prefix_caching else 1
    longest = min(int((requests.prompt_len + requests.output_len).max()), rules.max_model_len)
    state = State(
        counts=np.zeros(NUM_COUNT, np.int64),
        real=np.zeros(NUM_REAL),
        live=np.zeros((slots, NUM_LIVE), np.int64),
        live_s=np.zeros((slots, 2)),
        slots=np.zeros((slots, NUM_SLOT_LISTS), np.int64),
        calendar=np.full((ring, 2), -1, np.int64),
        phases=np.zeros((rules.block_size, 4), np.int64),
        flight=np.zeros((2, NUM_FLIGHT), np.int64),
        flight_s=np.zeros((2, NUM_FLIGHT_S)),
        out_s=np.zeros((n, 8)),
        out_n=np.zeros((n, NUM_OUT_N), np.int32),
        gap_stack=np.zeros((ring, 2)),
        gap_hist=np.zeros((NUM_GAP_BINS, 2)),
        bins=np.zeros((NUM_BINS + 1, NUM_COLUMNS)),
        heap=np.zeros((1 if rules.order == Order.FCFS else n, 2)),
        thinking=room_to_think(requests),
        blocks=np.zeros((block_rows, NUM_BLOCK_COLUMNS), np.int32),
        table=np.zeros((slots + 1, -(-longest // rules.block_size)) if rules.prefix_caching else (1, 1), np.int32),
        key_heads=np.full(power_of_two(2 * block_rows), -1, np.int32),
    )
    fill_counters(rules.usable_blocks, requests, inputs, state)
    if rules.prefix_caching:
        blocks = np.arange(rules.usable_blocks + 1)
        state.blocks[:, FREE_NEXT] = np.roll(blocks, -1)
        state.blocks[:, FREE_PREV] = np.roll(blocks, 1)
        state.blocks[:, KEY_HIGH] = state.blocks[:, KEY_NEXT] = -1
    return state


def first_tape(rows: int, slots: int) -> Tape:
    """Room for `rows` calls, and for one more batch in each of the lists."""
    room = rows + slots
    return Tape(
        times_s=np.zeros((rows, 3)),
        numbers=np.zeros((rows, 11), np.int64),
        scheduled=np.zeros((room, 4), np.int64),
        preempted=np.zeros((room, 2), np.int64),
        finished=np.zeros(room, np.int64),
        late=np.zeros(room, np.int64),
        dropped=np.zeros(room, np.int64),
    )


def fill_counters(usable_blocks: int, requests: Requests, inputs: Inputs, state: State) -> None:
    """Entries that do not start at zero."""
    for entry in (WAIT_HEAD, WAIT_TAIL, RUN_HEAD, RUN_TAIL, FLIGHT_CALL, APPLIED_CALL):
        state.counts[entry] = -1
    state.counts[NUM_FREE_SLOTS] = len(state.slots)
    state.slots[:, FREE_SLOT] = np.arange(len(state.slots))[::-1]
    state.phases[:, FIRST] = state.phases[:, LAST] = -1
    state.counts[FREE] = usable_blocks
    fill_records(requests, inputs.arrival_s, state.thinking, state.out_s, state.counts, state.real)


def fill_records(
    requests: Requests, arrival_s: Floats, thinking: Floats, out_s: Floats, count: Ints, real: Floats
) -> None:
    """Likewise in what every engine keeps: time bins, gaps, requests' times, and when they come."""
    count[GAP_BIN] = -1
    real[BIN_WIDTH] = real[BIN_END] = FIRST_BIN_WIDTH
    real[GAP_HIGH] = -1.0
    real[RETRY_S] = requests.retry_s
    out_s[:, FIRST_SCHEDULED_S : LAST_TOKEN_S + 1] = np.nan
    fill_arrivals(requests, arrival_s, thinking, out_s, count)


def room_to_think(requests: Requests) -> Floats:
    """An empty heap of times at which users ask."""
    retries = len(requests.prompt_len) - len(requests.arrival_s)
    return np.zeros((max(requests.users + retries, 1), 2))


def fill_arrivals(requests: Requests, arrival_s: Floats, thinking: Floats, out_s: Floats, count: Ints) -> None:
    """When requests come, as far as that is known at the start."""
    n = len(arrival_s)
    out_s[:, ARRIVAL_S] = np.nan
    if not requests.users:
        out_s[:n, ARRIVAL_S] = arrival_s
    first_questions = np.sort(arrival_s[: requests.users])  # sorted, so a heap
    first_questions -= first_questions[0] if requests.users else 0.0
    thinking[: len(first_questions), 0] = first_questions
    count[ISSUED] = len(first_questions) if requests.users else n
    count[NUM_DUE] = len(first_questions)
    count[EXPECTED] = n


def power_of_two(at_least: int) -> int:
    """Smallest power of two that is not smaller."""
    return 1 << max(at_least - 1, 1).bit_length()
