"""Systems in which every iteration chooses among all live requests, running or not.

Requests that were served once are in a ranked list; the others wait in the heap. Who is served is the list's first
part, and it is chosen anew only after something has changed. Source: schedulers.md 3.9 and 4.
"""

import math

from numba import njit

from sim.engine.general.admit import admit
from sim.engine.general.choices import Prefill, Refresh, Reservation
from sim.engine.general.decoding import catch_up, grow_decoding
from sim.engine.general.evict import evict, stop_serving
from sim.engine.general.grow import fill_chunk
from sim.engine.general.queue import change_key, push, top_of_heap
from sim.engine.general.reserve import held_tokens, known_tokens, reserved_blocks
from sim.engine.general.state import (
    ARRIVED_AT,
    HOST_FREE,
    HOST_TOKENS,
    IS_DIRTY,
    IS_RUNNING,
    IS_SETTLED,
    KEY,
    LEVEL,
    LOST_TOKENS,
    MARK,
    NEXT_TURN,
    NUM_RANKED,
    NUM_REDO,
    NUM_TAKEN,
    OLDEST_POINT,
    PAUSED,
    PLAN,
    QUANTUM,
    READY_POINT,
    REFRESHED,
    RUNNING,
    SEATS,
    SINCE_S,
    SLOT,
    STARVED,
    STARVED_POINT,
    STEP,
    SUM_GUARDED,
    SWAPPED,
    USED_S,
    WAITING,
    WHERE,
)
from sim.engine.general.told import GUESS, KEY_HINT
from sim.engine.jit import JIT
from sim.engine.kv_memory import blocks_for
from sim.engine.refine import refresh
from sim.engine.segments import mark_memory, settle_held
from sim.engine.state import (
    ARRIVED,
    CALL_PHASE,
    CHUNK,
    CLOCK,
    COMPUTED,
    DECODING,
    EMITTED,
    FIRST_SCHEDULED_S,
    FREE,
    FRESH,
    HEAD_KNOWN,
    HEAD_WHOLE,
    KNOWN,
    MEMBERS,
    NUM_FRESH,
    NUM_PARTIAL,
    NUM_RUNNING,
    NUM_WAITING,
    OUTPUT_LEN,
    PARTIAL,
    PAUSE_S,
    PAUSED_SINCE_S,
    REQUEST,
    RESERVED,
    RUN_HEAD,
    RUN_NEXT,
    RUN_PREV,
    RUN_TAIL,
    START_S,
)

TURNS = 1e12  # keys of a queue of level l lie between l and l + 1 times so much
FIRST_OF_ALL = -1e18


@njit(**JIT)
def choose(rules, inputs, hints, refinement, members, records, gap_stack, heap, more, count, real):
    """Decide who is served in this iteration, and serve them."""
    if rules.guard_steps > 0:
        note_starved(rules, hints, heap, more, count)
    if rules.boost_steps > 0 and count[STEP] % rules.boost_steps == 0:
        boost(rules, more, count, real)
    if rules.refresh >= Refresh.LEVELS:
        count[IS_DIRTY] = 1
    needed = members.phases[count[CALL_PHASE], MEMBERS]
    if not count[IS_DIRTY] and count[NUM_PARTIAL] == 0 and needed <= count[FREE]:
        grow_decoding(rules.block_size, members.phases, count)
        if count[NUM_REDO] > 0:
            catch_up(members, records, count)
        return
    if rules.refresh != Refresh.NEVER:
        renew_keys(rules, inputs, hints, refinement, members, records, more, count, real)
        sort_ranked(more, count)
    count[IS_DIRTY] = walk(rules, inputs, hints, members, records, heap, more, count)
    make_room(rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
    apply_choice(rules, inputs, hints, members, records, gap_stack, more, count, real)


@njit(**JIT)
def comes_before(i, j, more):
    """Promoted requests first, then by key, then by id."""
    a = more.kept[i, QUANTUM] > 0
    b = more.kept[j, QUANTUM] > 0
    if a != b:
        return a
    if more.kept_s[i, KEY] != more.kept_s[j, KEY]:
        return more.kept_s[i, KEY] < more.kept_s[j, KEY]
    return i < j


@njit(**JIT)
def insert_at(at, i, more, count):
    """Put a request into the ranked list before entry `at`."""
    for k in range(count[NUM_RANKED], at, -1):
        more.ranked[k] = more.ranked[k - 1]
    more.ranked[at] = i
    count[NUM_RANKED] += 1


@njit(**JIT)
def sort_ranked(more, count):
    """Insertion sort: the list is nearly in order."""
    for k in range(1, count[NUM_RANKED]):
        i = more.ranked[k]
        at = k
        while at > 0 and comes_before(i, more.ranked[at - 1], more):
            more.ranked[at] = more.ranked[at - 1]
            at -= 1
        more.ranked[at] = i


@njit(**JIT)
def drop_ranked(i, more, count):
    """A request that ended leaves the ranked list."""
    at = 0
    while more.ranked[at] != i:
        at += 1
    for k in range(at, count[NUM_RANKED] - 1):
        more.ranked[k] = more.ranked[k + 1]
    count[NUM_RANKED] -= 1
    count[IS_DIRTY] = 1


@njit(**JIT)
def generated_of(i, members, records, inputs, more, count):
    """Output tokens that the request has so far."""
    s = more.kept[i, SLOT]
    if more.kept[i, WHERE] == RUNNING and members.live[s, DECODING]:
        return held_tokens(s, members.live, count) + 1 - inputs.asked[i, 0]
    return records.out_n[i, EMITTED] - records.out_n[i, LOST_TOKENS]


@njit(**JIT)
def renew_keys(rules, inputs, hints, refinement, members, records, more, count, real):
    """Keys of the ranked requests as they stand now."""
    for k in range(count[NUM_RANKED]):
        i = more.ranked[k]
        if rules.refresh == Refresh.LEVELS:
            if more.kept[i, WHERE] == RUNNING:
                use_quantum(i, rules, more, count, real)
            continue
        generated = generated_of(i, members, records, inputs, more, count)
        if rules.refresh == Refresh.REMAINING:
            if i < count[READY_POINT]:
                more.kept_s[i, KEY] = float(hints.numbers[i, GUESS] - generated)
        elif rules.refresh == Refresh.DECLARED:
            if generated >= rules.declare_tokens:
                more.kept_s[i, KEY] = hints.keys[i, KEY_HINT]
        elif i < count[READY_POINT] and more.kept[i, IS_SETTLED] == 0 and records.out_s[i, FIRST_SCHEDULED_S] >= 0.0:
            estimate(i, generated, rules, inputs, hints, refinement, more)


@njit(**JIT)
def estimate(i, generated, rules, inputs, hints, refinement, more):
    """REFINED: take the looks that are due, and settle the request once it is far enough."""
    seen = more.kept[i, REFRESHED]
    while seen + refinement.every <= generated:
        seen += refinement.every
        more.kept_s[i, KEY] = refresh(
            i,
            seen,
            inputs.asked[i, OUTPUT_LEN] - seen,
            refinement.key,
            refinement.every,
            refinement.width,
            refinement.scale,
            refinement.thresholds,
            refinement.likelihood,
            more.posterior,
        )
    more.kept[i, REFRESHED] = seen
    if rules.keep_share <= 1.0 and generated >= math.floor(rules.keep_share * hints.numbers[i, GUESS]):
        more.kept[i, IS_SETTLED] = 1
        more.kept_s[i, KEY] = FIRST_OF_ALL + i


@njit(**JIT)
def use_quantum(i, rules, more, count, real):
    """LEVELS: a request that has run longer than its queue's quantum moves to the next queue's end."""
    used_s = more.kept_s[i, USED_S] + (real[CLOCK] - more.kept_s[i, SINCE_S])
    more.kept_s[i, USED_S] = used_s
    more.kept_s[i, SINCE_S] = real[CLOCK]
    if used_s > rules.quantum_s * rules.quantum_growth ** more.kept[i, LEVEL]:
        more.kept[i, LEVEL] += 1
        enter_level(i, more, count)


@njit(**JIT)
def enter_level(i, more, count):
    """The request joins the end of its queue with a full quantum."""
    more.kept_s[i, USED_S] = 0.0
    count[NEXT_TURN] += 1
    change_key(i, more.kept[i, LEVEL] * TURNS + count[NEXT_TURN], more)


@njit(**JIT)
def boost(rules, more, count, real):
    """LEVELS: who has not run for long, or never, returns to the first queue."""
    for i in range(count[OLDEST_POINT], count[ARRIVED]):
        is_new = more.kept[i, WHERE] == WAITING and more.kept[i, LEVEL] > 0
        if is_new and real[CLOCK] - more.kept_s[i, SINCE_S] >= rules.boost_wait_s:
            touch(i, more, count)
    for k in range(count[NUM_RANKED]):
        i = more.ranked[k]
        is_stale = more.kept[i, WHERE] != RUNNING and real[CLOCK] - more.kept_s[i, SINCE_S] >= rules.boost_wait_s
        if is_stale and more.kept[i, LEVEL] > 0:
            more.kept[i, LEVEL] = 0
            enter_level(i, more, count)
            count[SUM_GUARDED] += 1


@njit(**JIT)
def note_starved(rules, hints, heap, more, count):
    """Starvation guard: count iterations without service, promote, and use up quanta. Source: schedulers.md 3.9."""
    for k in range(count[NUM_RANKED]):
        i = more.ranked[k]
        if more.kept[i, WHERE] == RUNNING:
            if more.kept[i, QUANTUM] > 0:
                more.kept[i, QUANTUM] -= 1
                if more.kept[i, QUANTUM] == 0:
                    count[IS_DIRTY] = 1
            more.kept[i, STARVED] = 0
        else:
            more.kept[i, STARVED] += 1
            if more.kept[i, STARVED] >= rules.guard_steps:
                promote(i, rules, more, count)
    sort_ranked(more, count)
    i = count[STARVED_POINT]
    while i < count[ARRIVED]:
        if more.kept[i, WHERE] == WAITING:
            if count[STEP] - more.kept[i, ARRIVED_AT] < rules.guard_steps:
                break
            promote(i, rules, more, count)
            touch(i, more, count)
        i += 1
    count[STARVED_POINT] = i


@njit(**JIT)
def promote(i, rules, more, count):
    """The request goes first for some iterations."""
    more.kept[i, STARVED] = 0
    more.kept[i, QUANTUM] = rules.guard_quantum
    count[SUM_GUARDED] += 1
    count[IS_DIRTY] = 1


@njit(**JIT)
def touch(i, more, count):
    """A request leaves the heap for its place in the ranked list."""
    more.kept[i, WHERE] = SWAPPED
    at = 0
    while at < count[NUM_RANKED] and comes_before(more.ranked[at], i, more):
        at += 1
    insert_at(at, i, more, count)


@njit(**JIT)
def untouch(at, heap, more, count):
    """Entry `at` of the ranked list, which never ran, goes back to the heap."""
    i = more.ranked[at]
    for k in range(at, count[NUM_RANKED] - 1):
        more.ranked[k] = more.ranked[k + 1]
    count[NUM_RANKED] -= 1
    more.kept[i, WHERE] = WAITING
    push(i, heap, more, count)
    count[STARVED_POINT] = min(count[STARVED_POINT], i)
    count[OLDEST_POINT] = min(count[OLDEST_POINT], i)


@njit(**JIT)
def walk(rules, inputs, hints, members, records, heap, more, count):
    """Take requests in order while budget and seats allow; stop at the first that does not fit.

    1 if the budget ended it: prompts that are complete will leave more of it.
    """
    taken = 0
    is_short = 0
    left = rules.max_num_batched_tokens
    is_cut = rules.prefill >= Prefill.CHUNKED
    takes_new = rules.host_keep == 0 or count[HOST_FREE] >= rules.host_keep
    while taken < count[SEATS] and (left > 0 or not is_cut):
        i = more.ranked[taken] if taken < count[NUM_RANKED] else -1
        new = top_of_heap(heap, more, count) if takes_new else -1
        is_new = new >= 0 and (i < 0 or comes_before(new, i, more))
        if is_new:
            i = new
        if i < 0:
            break
        tokens = tokens_wanted(i, inputs, members, records, more, count)
        if is_cut:
            tokens = min(tokens, left)
            left -= tokens
        elif tokens > 1 or is_new:  # where prompts are computed whole, the budget is one of prompt tokens
            if tokens > left and taken > 0:
                is_short = 1
                break
            left -= tokens
        if is_new:
            more.kept[i, WHERE] = SWAPPED
            insert_at(taken, i, more, count)
        more.kept[i, PLAN] = tokens
        taken += 1
    count[NUM_TAKEN] = taken
    return is_short or (is_cut and left == 0)


@njit(**JIT)
def tokens_wanted(i, inputs, members, records, more, count):
    """Tokens that the request could compute now."""
    s = more.kept[i, SLOT]
    if more.kept[i, WHERE] == RUNNING and members.live[s, DECODING]:
        return 1
    known = known_tokens(i, inputs.asked, records.out_n)
    if more.kept[i, WHERE] == RUNNING or more.kept[i, WHERE] == PAUSED:
        return known - members.live[s, COMPUTED]
    return known - more.kept[i, HOST_TOKENS]


@njit(**JIT)
def blocks_wanted(i, rules, inputs, hints, records, members, more, count):
    """Blocks that the planned tokens take from the pool."""
    s = more.kept[i, SLOT]
    if more.kept[i, WHERE] == RUNNING or more.kept[i, WHERE] == PAUSED:
        held = max(blocks_for(held_tokens(s, members.live, count), rules.block_size), members.live[s, RESERVED])
        reached = held_tokens(s, members.live, count) + more.kept[i, PLAN]
        return max(blocks_for(reached, rules.block_size) - held, 0)
    if rules.reservation != Reservation.CHUNK:
        return reserved_blocks(i, rules, inputs.asked, hints, records.out_n, more, count)
    return blocks_for(more.kept[i, HOST_TOKENS] + more.kept[i, PLAN], rules.block_size)


@njit(**JIT)
def make_room(rules, inputs, hints, members, records, gap_stack, heap, more, count, real):
    """Blocks are short: requests from the end of the order lose theirs; then the choice is cut from its end."""
    needed = 0
    for k in range(count[NUM_TAKEN]):
        needed += blocks_wanted(more.ranked[k], rules, inputs, hints, records, members, more, count)
    spare = rules.spare_blocks
    k = count[NUM_RANKED] - 1
    while k >= 0 and needed + (spare if k >= count[NUM_TAKEN] else 0) > count[FREE]:
        i = more.ranked[k]
        if k < count[NUM_TAKEN]:
            if needed <= count[FREE]:
                break
            needed -= blocks_wanted(i, rules, inputs, hints, records, members, more, count)
            count[NUM_TAKEN] -= 1
            count[IS_DIRTY] = 1
            has_run = records.out_s[i, FIRST_SCHEDULED_S] >= 0.0  # else not a number
            if not has_run and more.kept[i, QUANTUM] == 0:
                untouch(k, heap, more, count)
            if needed <= count[FREE]:
                break
        if more.kept[i, WHERE] == RUNNING or more.kept[i, WHERE] == PAUSED:
            s = more.kept[i, SLOT]
            evict(s, rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
        k -= 1


@njit(**JIT)
def apply_choice(rules, inputs, hints, members, records, gap_stack, more, count, real):
    """Pause who runs and was not chosen; let the chosen run."""
    live = members.live
    for k in range(count[NUM_TAKEN]):
        more.kept[more.ranked[k], MARK] = count[STEP] + 1
    s = count[RUN_HEAD]
    while s >= 0:
        after = live[s, RUN_NEXT]
        if more.kept[live[s, REQUEST], MARK] != count[STEP] + 1:
            pause(s, inputs, members, records, gap_stack, more, count, real)
        s = after
    for k in range(count[NUM_PARTIAL]):
        s = members.slots[k, PARTIAL]
        live[s, CHUNK] = more.kept[live[s, REQUEST], PLAN]
    grow_decoding(rules.block_size, members.phases, count)
    if count[NUM_REDO] > 0:
        catch_up(members, records, count)
    for k in range(count[NUM_PARTIAL]):
        s = members.slots[k, PARTIAL]
        fill_chunk(s, rules.block_size, live, count)
    for k in range(count[NUM_TAKEN]):
        i = more.ranked[k]
        if more.kept[i, WHERE] == PAUSED:
            resume(i, rules, inputs, members, records, more, count, real)
        elif more.kept[i, WHERE] == SWAPPED:
            count[NUM_WAITING] -= 1
            count[HEAD_KNOWN] = known_tokens(i, inputs.asked, records.out_n)
            count[HEAD_WHOLE] = reserved_blocks(i, rules, inputs.asked, hints, records.out_n, more, count)
            admit(i, more.kept[i, PLAN], rules, inputs, hints, members, records, more, count, real)
            more.kept_s[i, SINCE_S] = real[CLOCK]


@njit(**JIT)
def pause(s, inputs, members, records, gap_stack, more, count, real):
    """The member keeps its memory and is not served."""
    live = members.live
    i = live[s, REQUEST]
    stop_serving(s, inputs, members, records, gap_stack, count, real)
    mark_memory(s, members.live_s, real)
    before = live[s, RUN_PREV]
    after = live[s, RUN_NEXT]
    if before >= 0:
        live[before, RUN_NEXT] = after
    else:
        count[RUN_HEAD] = after
    if after >= 0:
        live[after, RUN_PREV] = before
    else:
        count[RUN_TAIL] = before
    live[s, IS_RUNNING] = 0
    more.kept[i, WHERE] = PAUSED
    more.kept_s[i, SINCE_S] = real[CLOCK]
    count[NUM_RUNNING] -= 1
    count[NUM_WAITING] += 1


@njit(**JIT)
def resume(i, rules, inputs, members, records, more, count, real):
    """A paused request is served again from where it stood."""
    live = members.live
    s = more.kept[i, SLOT]
    settle_held(s, live, members.live_s, records.out_s, real)
    tail = count[RUN_TAIL]
    live[s, RUN_PREV] = tail
    live[s, RUN_NEXT] = -1
    if tail >= 0:
        live[tail, RUN_NEXT] = s
    else:
        count[RUN_HEAD] = s
    count[RUN_TAIL] = s
    live[s, IS_RUNNING] = 1
    live[s, KNOWN] = known_tokens(i, inputs.asked, records.out_n)
    live[s, CHUNK] = more.kept[i, PLAN]
    fill_chunk(s, rules.block_size, live, count)
    records.out_s[i, PAUSE_S] += real[START_S] - records.out_s[i, PAUSED_SINCE_S]
    more.kept[i, WHERE] = RUNNING
    more.kept_s[i, SINCE_S] = real[CLOCK]
    count[NUM_RUNNING] += 1
    count[NUM_WAITING] -= 1
    members.slots[count[NUM_FRESH], FRESH] = s
    count[NUM_FRESH] += 1
