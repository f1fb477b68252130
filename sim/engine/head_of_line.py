"""Head-of-line delay: how long requests waited while a longer one had the server.

Source: metrics.md, section 3.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sim.engine.jit import ENTRY

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def hol_delay_s(arrival_s: Floats, first_scheduled_s: Floats, finish_s: Floats, output_len: Ints) -> Floats:
    """Waiting time of each request during which at least one request with a longer answer was running.

    A request waits from its arrival to its first scheduling, and runs from there to its finish; pauses after a
    preemption count as running. The rest of the iteration under way at the arrival is waiting too.

    Parameters
    ----------
    arrival_s, first_scheduled_s, finish_s : (n,) float64
        Seconds; the end of the run for what did not happen before it.
    output_len : (n,) int64
        True lengths, in tokens.

    Returns
    -------
    (n,) float64
        Seconds.
    """
    if not output_len.size:
        return np.zeros(0)
    instants = np.unique(np.concatenate((arrival_s, first_scheduled_s, finish_s)))
    arrival, start, finish = (np.searchsorted(instants, each) for each in (arrival_s, first_scheduled_s, finish_s))
    longest_first = np.argsort(-output_len, kind="stable")
    waits = np.zeros(output_len.size)
    covered = np.zeros(instants.size + 1)
    next_open = np.arange(instants.size + 1)
    _cover_longest_first(instants, arrival, start, finish, output_len, longest_first, covered, next_open, waits)
    return waits


@njit(**ENTRY)
def _cover_longest_first(instants, arrival, start, finish, output_len, longest_first, covered, next_open, waits):
    """Look up each wait in the time that longer requests cover, then add the request's own run.

    `covered` is a Fenwick tree over the stretches between instants: seconds covered. `next_open` leads from each
    stretch to the first one, at or after it, that is not covered yet.
    """
    n = len(output_len)
    first = 0
    while first < n:
        end = first
        while end < n and output_len[longest_first[end]] == output_len[longest_first[first]]:
            i = longest_first[end]
            if start[i] > arrival[i]:
                waits[i] = _seconds_before(covered, start[i]) - _seconds_before(covered, arrival[i])
            end += 1
        for k in range(first, end):
            i = longest_first[k]
            stretch = _find(next_open, start[i])
            while stretch < finish[i]:
                _add(covered, stretch, instants[stretch + 1] - instants[stretch])
                next_open[stretch] = stretch + 1
                stretch = _find(next_open, stretch)
        first = end


@njit(**ENTRY)
def _find(next_open, stretch):
    """Follow the links to the first open stretch, halving the path."""
    while next_open[stretch] != stretch:
        next_open[stretch] = next_open[next_open[stretch]]
        stretch = next_open[stretch]
    return stretch


@njit(**ENTRY)
def _add(tree, stretch, seconds):
    place = stretch + 1
    while place < len(tree):
        tree[place] += seconds
        place += place & -place


@njit(**ENTRY)
def _seconds_before(tree, stretch):
    """Seconds covered in all stretches before this one."""
    total = 0.0
    place = stretch
    while place > 0:
        total += tree[place]
        place -= place & -place
    return total
