"""The state before the first iteration: nothing has arrived, all blocks are free."""

import numpy as np

from sim.engine import state as st
from sim.engine.accounts import NUM_COLUMNS, NUM_GAP_BINS
from sim.engine.first_state import fill_counters, power_of_two, room_to_think
from sim.engine.general.choices import GeneralRules, Queue, Reservation
from sim.engine.general.state import (
    HISTORY_COLUMNS,
    HOST_FREE,
    NEED_LOW,
    NUM_COUNT,
    NUM_HISTORY,
    NUM_KEPT,
    NUM_KEPT_S,
    NUM_LIVE,
    NUM_SLOT_LISTS,
    REFUSED_AT,
    SEATS,
    More,
)
from sim.engine.inputs import Floats, Requests
from sim.engine.state import Inputs, State


def first_state(
    rules: GeneralRules, requests: Requests, inputs: Inputs, classes: int, posterior: Floats
) -> tuple[State, More]:
    """State before the first iteration: nothing has arrived, all blocks are free."""
    n = len(inputs.asked)
    slots = min(n, rules.usable_blocks if rules.is_preemptive else rules.max_num_seqs)
    ring = power_of_two(int(requests.output_len.max()) + 4)
    state = State(
        counts=np.zeros(NUM_COUNT, np.int64),
        real=np.zeros(st.NUM_REAL),
        live=np.full((slots, NUM_LIVE), -1, np.int64),  # -1: no request in the slot
        live_s=np.zeros((slots, 2)),
        slots=np.zeros((slots, NUM_SLOT_LISTS), np.int64),
        calendar=np.full((ring, 2), -1, np.int64),
        phases=np.zeros((2 * rules.block_size, 4), np.int64),  # second half: members that grow into a reservation
        flight=np.zeros((2, st.NUM_FLIGHT), np.int64),
        flight_s=np.zeros((2, st.NUM_FLIGHT_S)),
        out_s=np.zeros((n, 8)),
        out_n=np.zeros((n, st.NUM_OUT_N), np.int32),
        gap_stack=np.zeros((ring, 2)),
        gap_hist=np.zeros((NUM_GAP_BINS, 2)),
        bins=np.zeros((st.NUM_BINS + 1, NUM_COLUMNS)),
        heap=np.zeros((heap_room(rules, n), 2)),
        thinking=room_to_think(requests),
        blocks=np.zeros((1, st.NUM_BLOCK_COLUMNS), np.int32),
        table=np.zeros((1, 1), np.int32),
        key_heads=np.zeros(1, np.int32),
    )
    fill_counters(rules.usable_blocks, requests, inputs, state)
    lists = classes if rules.queue == Queue.CLASS else needs(rules) if rules.queue == Queue.NEED else 1
    more = More(
        kept=np.zeros((n, NUM_KEPT), np.int64),
        kept_s=np.zeros((n, NUM_KEPT_S)),
        ranked=np.zeros(n if rules.is_preemptive else 1, np.int64),
        chosen=np.zeros(n if rules.is_preemptive else 1, np.int64),
        lists=np.full((lists, 2), -1, np.int64),
        counter=np.zeros((max(classes, 1), 2)),
        history=np.zeros((max(rules.history, 1), HISTORY_COLUMNS)),
        residual=np.zeros((max(rules.residuals, 1), HISTORY_COLUMNS)),
        scratch=np.zeros((slots + 1, 2)),
        futures=np.zeros((slots if rules.reservation == Reservation.PEAK else 1, 3), np.int64),
        posterior=posterior,
    )
    state.counts[HOST_FREE] = rules.host_blocks
    state.counts[SEATS] = rules.max_num_seqs
    state.counts[NEED_LOW] = lists
    state.counts[REFUSED_AT] = -1
    if rules.history:  # at first, outputs are thought to be as long as can be; schedulers.md 4: 100 of 200
        more.history[:] = float(requests.cap.max())
        state.counts[NUM_HISTORY] = (rules.history + 1) // 2
    return state, more


def heap_room(rules: GeneralRules, n: int) -> int:
    """Entries of the heap: a request may have a stale one."""
    return 2 * n + 2 if rules.queue == Queue.KEY or rules.is_preemptive else 1


def needs(rules: GeneralRules) -> int:
    """One list for each number of blocks that a request may need."""
    return min(rules.usable_blocks, -(-(2 * rules.max_model_len + 1) // rules.block_size)) + 1
