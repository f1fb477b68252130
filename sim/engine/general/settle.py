"""Bring the records of requests that still have a slot up to the present clock."""

from numba import njit

from sim.engine.general.state import IS_RUNNING
from sim.engine.jit import ENTRY
from sim.engine.segments import settle_held, settle_memory, settle_tokens
from sim.engine.state import DECODING, PROMPT_LEN, REQUEST
from sim.engine.time_bins import flush


@njit(**ENTRY)
def settle(inputs, state):
    """Records of members that decode or are held, and the time bins."""
    flush(state.bins, state.counts)
    live = state.live
    for s in range(len(live)):
        i = live[s, REQUEST]
        if i < 0:
            continue
        if live[s, DECODING]:
            settle_tokens(
                s,
                inputs.asked[i, PROMPT_LEN],
                live,
                state.out_s,
                state.out_n,
                state.gap_stack,
                state.counts,
                state.real,
            )
            settle_memory(s, live, state.live_s, state.out_s, state.real)
        elif not live[s, IS_RUNNING]:
            settle_held(s, live, state.live_s, state.out_s, state.real)
