"""The future peak of the running set: most tokens that it holds at once if outputs are as long as believed.

Each (held, to come) grows by one an iteration and then leaves. With members in order of what is to come, largest
first, the peak is the largest of `to come of the k-th * k + what the first k hold`: all of them have grown by what the
k-th had to come. Source: schedulers.md 4, `past_future`.

Where beliefs stay as they are, a decoding member's terms do not change as it ages: it holds one token more and has one
less to come. Such members are kept in order, and only those that come and go are moved.
"""

from sim.engine.general.choices import Peak, Reservation
from sim.engine.general.reserve import believed_output, known_tokens
from sim.engine.general.state import FUTURE_BASE, FUTURE_END, FUTURE_SLOT, NUM_FUTURES, STEP
from sim.engine.kernel import kernel
from sim.engine.state import (
    BASE,
    CALL,
    DECODING,
    NUM_DECODING,
    NUM_RUNNING,
    PROMPT_LEN,
    REQUEST,
    RUN_HEAD,
    RUN_NEXT,
    RUN_PREV,
    RUN_TAIL,
)

MOST_DRAWS = 5


@kernel
def future_fits(candidate, rules, inputs, hints, records, members, more, count):
    """Whether all members, and the candidate, stay within `peak_tokens` as they grow."""
    if is_kept(rules):
        drop_stale(-1, members.live, more.futures, count)
        others = list_others(candidate, rules, inputs, hints, records, members, more, count)
        return peak_of_kept(others, more.scratch, more.futures, count) <= rules.peak_tokens
    draws = 1
    if rules.peak == Peak.HISTORY:
        draws = min(MOST_DRAWS, rules.history // (count[NUM_RUNNING] + 1) + 1)
    for k in range(draws):
        draw = count[STEP] * MOST_DRAWS + k
        size = list_futures(candidate, draw, rules, inputs, hints, records, members, more, count)
        if rules.peak == Peak.HORIZON:
            total = 0.0
            for j in range(size):
                total += more.scratch[j, 0] + min(more.scratch[j, 1], float(rules.horizon))
            if total > rules.peak_tokens:
                return False
        elif future_peak(more.scratch, size) > rules.peak_tokens:
            return False
    return True


@kernel
def is_kept(rules):
    """Whether members are kept in order: what is believed of each does not change while it decodes."""
    is_constant = rules.peak == Peak.GUESS or rules.peak == Peak.BOUND
    return is_constant and rules.reservation == Reservation.PEAK and rules.predict_delay_s == 0.0


@kernel
def future_of(i, held, draw, rules, inputs, hints, more, count):
    """Tokens to come of a request that holds so many."""
    generated = held + 1 - inputs.asked[i, PROMPT_LEN]
    return max(believed_output(i, generated, draw, rules, inputs.asked, hints, more, count) - generated, 1)


@kernel
def list_one(at, i, held, draw, rules, inputs, hints, more, count):
    """Write down one request; it counts as if its last block had only one token, as blocks are what runs out."""
    more.scratch[at, 0] = held + rules.block_size - 1
    more.scratch[at, 1] = future_of(i, held, draw, rules, inputs, hints, more, count)


@kernel
def list_futures(candidate, draw, rules, inputs, hints, records, members, more, count):
    """Tokens held and tokens to come of every member and of the candidate; their number."""
    live = members.live
    size = 0
    s = count[RUN_HEAD]
    while s >= 0:
        i = live[s, REQUEST]
        held = (
            live[s, BASE] + count[CALL] - 1 if live[s, DECODING] else known_tokens(i, inputs.asked, records.out_n) - 1
        )
        list_one(size, i, held, draw, rules, inputs, hints, more, count)
        size += 1
        s = live[s, RUN_NEXT]
    if candidate >= 0:
        held = known_tokens(candidate, inputs.asked, records.out_n) - 1
        list_one(size, candidate, held, draw, rules, inputs, hints, more, count)
        size += 1
    return size


@kernel
def list_others(candidate, rules, inputs, hints, records, members, more, count):
    """The same for the candidate and for members that do not decode, largest to come first; their number."""
    live = members.live
    scratch = more.scratch
    size = 0
    left = count[NUM_RUNNING] - count[NUM_DECODING]
    s = count[RUN_TAIL]  # the last admitted first: they are the ones in mid-prompt
    i = candidate
    while left > 0 or i >= 0:
        if i < 0:
            if not live[s, DECODING]:
                i = live[s, REQUEST]
                left -= 1
            s = live[s, RUN_PREV]
        if i >= 0:
            held = known_tokens(i, inputs.asked, records.out_n) - 1
            list_one(size, i, held, 0, rules, inputs, hints, more, count)
            size += 1
            i = -1
    sort_by_to_come(scratch, size)
    return size


@kernel
def sort_by_to_come(scratch, size):
    """Largest first."""
    gap = size // 2
    while gap > 0:
        for k in range(gap, size):
            held = scratch[k, 0]
            to_come = scratch[k, 1]
            at = k
            while at >= gap and scratch[at - gap, 1] < to_come:
                scratch[at, 0] = scratch[at - gap, 0]
                scratch[at, 1] = scratch[at - gap, 1]
                at -= gap
            scratch[at, 0] = held
            scratch[at, 1] = to_come
        gap //= 2


@kernel
def future_peak(scratch, size):
    """Most tokens that a set holds at once."""
    sort_by_to_come(scratch, size)
    peak = 0.0
    total = 0.0
    for k in range(size):
        total += scratch[k, 0]
        peak = max(peak, scratch[k, 1] * (k + 1) + total)
    return peak


@kernel
def keep_future(s, kv_tokens, rules, inputs, hints, members, more, count):
    """A member has begun to decode and holds `kv_tokens`: it takes its place among those kept in order."""
    if not is_kept(rules):
        return
    drop_stale(s, members.live, more.futures, count)
    futures = more.futures
    i = members.live[s, REQUEST]
    held = kv_tokens - 1
    end = future_of(i, held, 0, rules, inputs, hints, more, count) + count[CALL]
    low = 0
    high = count[NUM_FUTURES]
    while low < high:
        middle = (low + high) >> 1
        if futures[middle, FUTURE_END] > end:
            low = middle + 1
        else:
            high = middle
    for k in range(count[NUM_FUTURES], low, -1):
        futures[k, FUTURE_END] = futures[k - 1, FUTURE_END]
        futures[k, FUTURE_BASE] = futures[k - 1, FUTURE_BASE]
        futures[k, FUTURE_SLOT] = futures[k - 1, FUTURE_SLOT]
    futures[low, FUTURE_END] = end
    futures[low, FUTURE_BASE] = held + rules.block_size - 1 - count[CALL]
    futures[low, FUTURE_SLOT] = s
    count[NUM_FUTURES] += 1


@kernel
def drop_stale(new, live, futures, count):
    """Members that do not decode any more are forgotten, and whoever had the slot of the `new` one, if there is one."""
    if count[NUM_FUTURES] == count[NUM_DECODING] - (new >= 0):
        return
    size = 0
    for k in range(count[NUM_FUTURES]):
        s = futures[k, FUTURE_SLOT]
        if live[s, DECODING] and s != new:
            futures[size, FUTURE_END] = futures[k, FUTURE_END]
            futures[size, FUTURE_BASE] = futures[k, FUTURE_BASE]
            futures[size, FUTURE_SLOT] = s
            size += 1
    count[NUM_FUTURES] = size


@kernel
def peak_of_kept(others, scratch, futures, count):
    """Most tokens that decoding members, kept in order, and `others` listed requests hold at once."""
    call = count[CALL]
    peak = 0
    total = 0
    k = 0
    for size in range(1, count[NUM_FUTURES] + others + 1):
        to_come = max(futures[k, FUTURE_END] - call, 1) if k < count[NUM_FUTURES] else 0
        other = size - 1 - k
        if other < others and scratch[other, 1] > to_come:
            to_come = int(scratch[other, 1])
            total += int(scratch[other, 0])
        else:
            total += futures[k, FUTURE_BASE] + call
            k += 1
        peak = max(peak, to_come * size + total)
    return peak
