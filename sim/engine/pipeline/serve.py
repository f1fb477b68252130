"""Who is in the next batch: running members with something to compute, then the queue.

Source: schedulers.md 1.3 and 3; vLLM's `Scheduler.schedule` with a batch queue. There a prompt's chunks may be in
several batches at once, elsewhere a request is in one at most; nobody decodes before the token that it needs is back,
and nobody comes back to the running set while a batch that it was displaced from is still under way. Who waits for that
is passed over, but where requests are served strictly by arrival: there all others wait behind it.
"""

from sim.engine.general.admit import admit, has_memory, tokens_to_admit
from sim.engine.general.choices import Prefill, Queue
from sim.engine.general.evict import choose_victim, evict
from sim.engine.general.grow import fill_chunk
from sim.engine.general.head import look_at, look_at_head
from sim.engine.general.queue import leave_queue
from sim.engine.general.reserve import known_tokens
from sim.engine.general.state import (
    AFTER,
    HOST_TOKENS,
    IS_OPEN,
    NUM_SWAPPED,
    SEATS,
    SLOT,
    STEP,
    SWAPPED,
    WAITING,
    WAS_PREFILL,
    WHERE,
)
from sim.engine.kernel import kernel
from sim.engine.kv_memory import blocks_for, fill, release
from sim.engine.pipeline.state import (
    AHEAD,
    B_SIZE,
    E_BEFORE,
    E_REQUEST,
    E_SLOT,
    E_TOKENS,
    ELIGIBLE,
    ENTRY,
    FLYING,
    HAS_SAMPLED,
    SERVED,
)
from sim.engine.segments import mark_memory, settle_held
from sim.engine.state import (
    CAP,
    CHUNK,
    COMPUTED,
    EMITTED,
    FREE,
    HEAD,
    HEAD_KNOWN,
    HEAD_KNOWN_GOOD,
    NUM_FRESH,
    NUM_PREEMPTED,
    NUM_RUNNING,
    NUM_WAITING,
    PLEDGED,
    PUSHED,
    REQUEST,
    RESERVED,
    RUN_HEAD,
    RUN_NEXT,
    STRAGGLER,
    SUM_BLOCKS,
    WAIT_HEAD,
)

ANYBODY, DECODES, PROMPTS = range(3)  # whom a walk through the running set serves


@kernel
def schedule(rules, engine):
    """Fill the entries of the batch at place `PUSHED`; members and their memory are as after the call."""
    count = engine.counts
    flight = engine.flight
    budget = rules.max_num_batched_tokens
    flight.batches[count[PUSHED] % rules.most_in_flight, B_SIZE] = 0
    count[NUM_FRESH] = 0
    is_alone = count[NUM_RUNNING] + count[NUM_WAITING] <= 1
    count[IS_OPEN] = count[STEP] % rules.admission_interval == 0 or count[NUM_RUNNING] == 0
    is_open = count[NUM_WAITING] > 0 and count[IS_OPEN] == 1
    if rules.prefill == Prefill.FIRST:
        if is_open and not (rules.swapped_first and count[NUM_SWAPPED] > 0):
            admit_waiting(budget, False, rules, engine)
            if count[NUM_FRESH] > 0:
                return
        serve_running(ANYBODY, budget, is_alone, rules, engine)
        if is_open and count[NUM_PREEMPTED] == 0 and rules.swapped_first and count[NUM_SWAPPED] > 0:
            admit_waiting(budget, True, rules, engine)
        return
    if rules.prefill == Prefill.ALTERNATE:
        if count[WAS_PREFILL] and serve_running(DECODES, budget, is_alone, rules, engine) < budget:
            return
        left = serve_running(PROMPTS, budget, is_alone, rules, engine)
        if is_open and count[NUM_PREEMPTED] == 0:
            admit_waiting(left, False, rules, engine)
        if flight.batches[count[PUSHED] % rules.most_in_flight, B_SIZE] == 0:
            serve_running(DECODES, budget, is_alone, rules, engine)
        return
    if rules.is_overlapping:
        left = serve_running(ANYBODY, budget, is_alone, rules, engine)
    else:
        left = serve_running(DECODES, budget, is_alone, rules, engine)
        left = serve_running(PROMPTS, left, is_alone, rules, engine)
    if is_open and count[NUM_PREEMPTED] == 0:
        admit_waiting(left, False, rules, engine)


@kernel
def serve_running(whom, left, is_alone, rules, engine):
    """Walk through the running set in order of admission; tokens left of the budget.

    Who finds no block makes somebody give way, be it a member that this call has served before, whose tokens come
    free again. Where prompts are computed whole, the budget is one of prompt tokens.
    """
    inputs, hints, members, records, _, _, more, flight, count, real, _, _, _ = engine
    live = members.live
    is_cut = rules.prefill >= Prefill.CHUNKED
    s = count[RUN_HEAD]
    while s >= 0 and (left > 0 or not is_cut or whom == DECODES):
        i = live[s, REQUEST]
        is_decode = flight.on_way[i, HAS_SAMPLED]
        tokens = 0
        if whom == ANYBODY or is_decode == (whom == DECODES):
            tokens = tokens_wanted(i, s, rules, inputs, records, members, flight, count)
            if is_cut and not is_decode:
                if rules.long_prefill_token_threshold > 0 and not is_alone:
                    tokens = min(tokens, rules.long_prefill_token_threshold)
                tokens = min(tokens, max(left, 0))
        after = -1
        while tokens > 0 and not has_blocks(s, tokens, rules, members, count):
            victim = s
            if not (rules.doubles and live[s, COMPUTED] + tokens > live[s, RESERVED] * rules.block_size):
                victim = choose_victim(rules, inputs, hints, records, members, more, count)
            if victim == s:
                tokens = -1
                after = live[s, RUN_NEXT]
            left += displace(victim, rules, engine)
        if tokens > 0:
            take(s, i, tokens, rules, members, records, flight, count, real)
            left -= tokens if is_cut else 0
        s = live[s, RUN_NEXT] if tokens >= 0 else after
    return left


@kernel
def tokens_wanted(i, s, rules, inputs, records, members, flight, count):
    """Tokens that a running member could compute now, whatever the budget."""
    on_way = flight.on_way
    if on_way[i, SERVED] > 0:
        return 0
    if rules.is_async:
        emitted = records.out_n[i, EMITTED]
        if on_way[i, AHEAD] > 0 and emitted + on_way[i, AHEAD] >= inputs.asked[i, CAP]:
            return 0  # its last token is on its way
        if count[PUSHED] < on_way[i, ELIGIBLE]:
            return 0
    elif on_way[i, FLYING] > 0 and not rules.is_overlapping:
        return 0
    return known_tokens(i, inputs.asked, records.out_n) + on_way[i, AHEAD] - members.live[s, COMPUTED]


@kernel
def has_blocks(s, tokens, rules, members, count):
    """Whether a member finds the blocks for so many tokens more."""
    live = members.live
    reached = blocks_for(live[s, COMPUTED] + tokens, rules.block_size)
    if rules.doubles and reached > live[s, RESERVED] > 0:
        return False
    held = max(blocks_for(live[s, COMPUTED], rules.block_size), live[s, RESERVED])
    return reached - held <= count[FREE]


@kernel
def take(s, i, tokens, rules, members, records, flight, count, real):
    """A running member is in the batch with so many tokens."""
    live = members.live
    settle_held(s, live, members.live_s, records.out_s, real)
    live[s, CHUNK] = tokens
    fill_chunk(s, rules.block_size, live, count)
    add_entry(i, s, tokens, live[s, COMPUTED], rules, flight, count)
    live[s, COMPUTED] += tokens


@kernel
def add_entry(i, s, tokens, before, rules, flight, count):
    """Write a member down in the batch."""
    at = count[PUSHED] % rules.most_in_flight
    k = flight.batches[at, B_SIZE]
    flight.batches[at, B_SIZE] = k + 1
    flight.entries[at, k, E_REQUEST] = i
    flight.entries[at, k, E_SLOT] = s
    flight.entries[at, k, E_TOKENS] = tokens
    flight.entries[at, k, E_BEFORE] = before
    flight.on_way[i, SERVED] = tokens
    flight.on_way[i, ENTRY] = k


@kernel
def displace(s, rules, engine):
    """A member gives way; tokens of the budget that come free."""
    inputs, hints, members, records, gap_stack, heap, more, flight, count, real, _, _, _ = engine
    live = members.live
    i = live[s, REQUEST]
    on_way = flight.on_way
    settle_held(s, live, members.live_s, records.out_s, real)
    served = on_way[i, SERVED]
    if served > 0:  # undone: this call computes nothing for it
        computed = live[s, COMPUTED] - served
        blocks = count[SUM_BLOCKS]
        release(live[s, COMPUTED], live[s, STRAGGLER], live[s, RESERVED], rules.block_size, count)
        count[FREE] -= live[s, RESERVED]
        count[PLEDGED] += live[s, RESERVED]
        refill(s, computed, rules.block_size, live, count)
        count[SUM_BLOCKS] = blocks
        live[s, COMPUTED] = computed
        flight.entries[count[PUSHED] % rules.most_in_flight, on_way[i, ENTRY], E_TOKENS] = 0
        on_way[i, SERVED] = 0
    on_way[i, AHEAD] = 0
    on_way[i, HAS_SAMPLED] = 0
    evict(s, rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
    if on_way[i, FLYING] > 0 and rules.queue != Queue.ARRIVAL:  # in that one it is passed over where it stands
        leave_queue(i, rules, hints, heap, more, count)
        count[NUM_WAITING] += 1
        more.kept[i, WHERE] = SWAPPED
    return served if rules.prefill >= Prefill.CHUNKED else 0


@kernel
def refill(s, computed, block_size, live, count):
    """The member holds so many tokens again, its reservation first."""
    within = min(computed, live[s, RESERVED] * block_size)
    if within > 0:
        fill(0, within, live[s, STRAGGLER], True, block_size, count)
    if computed > within:
        fill(within, computed - within, live[s, STRAGGLER], False, block_size, count)


@kernel
def admit_waiting(left, only_swapped, rules, engine):
    """Admit from the queue while budget, seats and memory allow; on request only those in host memory."""
    inputs, hints, members, records, _, heap, more, flight, count, real, _, _, _ = engine
    live = members.live
    while left > 0 and count[NUM_RUNNING] < count[SEATS] and count[NUM_WAITING] > 0:
        if only_swapped and count[NUM_SWAPPED] == 0:
            return
        i = look_at_next(rules, engine)
        if i < 0:
            return
        moved = more.kept[i, HOST_TOKENS]
        tokens = tokens_to_admit(left, count[HEAD_KNOWN] - moved, rules, count)
        if tokens == 0 or not has_memory(tokens, rules, inputs, hints, records, members, more, count):
            return
        leave_queue(i, rules, hints, heap, more, count)
        admit(i, tokens, rules, inputs, hints, members, records, more, count, real)
        s = more.kept[i, SLOT]
        add_entry(i, s, tokens, moved, rules, flight, count)
        live[s, COMPUTED] = moved + tokens
        mark_memory(s, members.live_s, real)
        left -= tokens


@kernel
def look_at_next(rules, engine):
    """The waiting request to be tried next, -1 when there is none; the HEAD entries are its own."""
    inputs, hints, _, records, _, heap, more, flight, count, real, _, _, _ = engine
    if rules.queue == Queue.ARRIVAL and not (rules.swapped_first and count[NUM_SWAPPED] > 0):
        i = count[WAIT_HEAD]
        while i >= 0 and (more.kept[i, WHERE] != WAITING or (flight.on_way[i, FLYING] > 0 and rules.is_overlapping)):
            i = more.kept[i, AFTER]
        look_at(i, rules, inputs, hints, records, more, count)
    else:
        look_at_head(rules, inputs, hints, records, heap, more, count, real)
    count[HEAD_KNOWN_GOOD] = 0
    if count[HEAD] >= 0 and flight.on_way[count[HEAD], FLYING] > 0:
        count[HEAD] = -1
    return count[HEAD]
