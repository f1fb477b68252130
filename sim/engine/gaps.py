"""Gaps between tokens: a pooled histogram, and the largest gap of each request.

Members that decode in two calls in a row wait exactly the second call's duration. A stack of durations, each larger
than all that follow it, answers "the largest since call k" without visiting anybody in quiet calls.
"""

import math

from sim.engine.accounts import LOWEST_OCTAVE, NUM_GAP_BINS, STEPS_PER_OCTAVE
from sim.engine.kernel import kernel, part
from sim.engine.state import GAP_BACK, GAP_BIN, GAP_FRONT, GAP_HIGH, GAP_LOW


@kernel
def note_gap(gap_s, members, gap_hist, count, real):
    """`members` members waited `gap_s` for their next token."""
    if gap_s <= 0.0:
        gap_hist[0, 0] += members
        return
    if not real[GAP_LOW] <= gap_s < real[GAP_HIGH]:
        fraction, octave = math.frexp(gap_s)  # gap = fraction * 2 ** octave, fraction in [0.5, 1)
        step = int((fraction - 0.5) * (2 * STEPS_PER_OCTAVE))
        place = (octave - LOWEST_OCTAVE) * STEPS_PER_OCTAVE + step
        count[GAP_BIN] = min(max(place, 0), NUM_GAP_BINS - 1)
        real[GAP_LOW] = math.ldexp(0.5 + step / (2 * STEPS_PER_OCTAVE), octave)
        real[GAP_HIGH] = math.ldexp(0.5 + (step + 1) / (2 * STEPS_PER_OCTAVE), octave)
    gap_hist[count[GAP_BIN], 0] += members
    gap_hist[count[GAP_BIN], 1] += members * gap_s


@kernel
def push_duration(call, duration_s, gap_stack, count):
    """Put a call's duration on the stack; shorter ones before it can no longer be the largest."""
    mask = len(gap_stack) - 1
    front = count[GAP_FRONT]
    back = count[GAP_BACK]
    while back > front and gap_stack[(back - 1) & mask, 1] <= duration_s:
        back -= 1
    gap_stack[back & mask, 0] = call
    gap_stack[back & mask, 1] = duration_s
    back += 1
    if call - gap_stack[front & mask, 0] >= mask:  # no stretch of decoding is longer
        front += 1
    count[GAP_FRONT] = front
    count[GAP_BACK] = back


@part
def largest_since(call, gap_stack, count):
    """Largest duration of the calls after `call`, 0 when there are none."""
    mask = len(gap_stack) - 1
    low = count[GAP_FRONT]
    high = count[GAP_BACK]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if gap_stack[middle & mask, 0] > call:
            high = middle
        else:
            low = middle + 1
    return gap_stack[low & mask, 1] if low < end else 0.0
