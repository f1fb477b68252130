"""What a call and its outputs change: prompts that are complete go on decoding, tokens come, requests leave.

Synchronously outputs are applied right after their call, asynchronously one call later; the two halves are apart.
"""

from sim.engine.accounts import Status
from sim.engine.arrivals import note_answer
from sim.engine.gaps import note_gap, push_duration
from sim.engine.kernel import kernel, part
from sim.engine.kv_memory import blocks_for, register_full, release, release_blocks
from sim.engine.members import leave, start_decoding, stop_decoding
from sim.engine.segments import mark_memory, settle_held, settle_memory, settle_tokens
from sim.engine.state import (
    AGAIN,
    AGE,
    APPLIED_CALL,
    BASE,
    CALL,
    CAP,
    CHUNK,
    CLOCK,
    COMPUTED,
    DECODING,
    DROPPED,
    DUE_LIST,
    DUE_NEXT,
    EMITTED,
    ENDING,
    F_CALL,
    F_DECODING,
    F_DROPPED,
    F_NUM_DUE,
    F_NUM_SAMPLED,
    F_TOKENS,
    FIRST_TOKEN_S,
    FREE,
    FRESH,
    HEAD_KNOWN_GOOD,
    HELD_DONE,
    HELD_DONE_BLOCKS,
    HELD_DONE_KV,
    KNOWN,
    LAST_TOKEN_S,
    LATE,
    LATE_DECODING,
    LATE_SEQ,
    MAX_ITL_S,
    MEMORY_TOKEN_S,
    NUM_DONE,
    NUM_FRESH,
    NUM_HELD_DONE,
    NUM_LATE,
    NUM_PARTIAL,
    NUM_RUNNING,
    OUTPUT_LEN,
    PARTIAL,
    PROMPT_LEN,
    PUSHED,
    REQUEST,
    RESERVED,
    RUN_HEAD,
    SAMPLED,
    SEGMENT,
    STATUS,
    STRAGGLER,
    TOKEN_S,
    UNANNOUNCED,
)
from sim.engine.waiting import remove


@part
def end_chunks(parity, rules, inputs, members, flight, records, count, real):
    """The call has scheduled its prefill chunks: members whose prompt is complete decode from the next call on."""
    still_partial = 0
    sampled = 0
    for k in range(count[NUM_PARTIAL] + count[NUM_FRESH]):
        s = members.slots[k, PARTIAL] if k < count[NUM_PARTIAL] else members.slots[k - count[NUM_PARTIAL], FRESH]
        i = members.live[s, REQUEST]
        computed = members.live[s, COMPUTED] + members.live[s, CHUNK]
        members.live[s, COMPUTED] = computed
        if computed < members.live[s, KNOWN]:
            members.slots[still_partial, PARTIAL] = s  # never ahead of k: the list is read before it is overwritten
            still_partial += 1
            continue
        members.slots[sampled, SAMPLED + parity] = s
        sampled += 1
        mark_memory(s, members.live_s, real)
        left = inputs.asked[i, OUTPUT_LEN] - records.out_n[i, EMITTED] - 1
        start_decoding(
            s,
            computed,
            left,
            rules.block_size,
            rules.prefix_caching,
            members.live,
            members.calendar,
            members.phases,
            count,
        )
    count[NUM_PARTIAL] = still_partial
    count[NUM_FRESH] = 0
    flight[parity, F_NUM_SAMPLED] = sampled


@part
def collect_due(parity, rules, inputs, members, flight, records, count, real):
    """Members whose last token this call samples; who can be seen to end computes nothing more."""
    due = 0
    s = members.calendar[count[CALL] & (len(members.calendar) - 1), 0]
    while s >= 0:
        after = members.live[s, DUE_NEXT]
        members.slots[due, DUE_LIST + parity] = s
        due += 1
        i = members.live[s, REQUEST]
        if not rules.is_async or inputs.asked[i, OUTPUT_LEN] >= inputs.asked[i, CAP]:
            computed = members.live[s, BASE] + count[CALL]
            settle_memory(s, members.live, members.live_s, records.out_s, real)
            stop_decoding(s, computed, rules.prefix_caching, members.live, members.calendar, members.phases, count)
            members.live[s, COMPUTED] = computed
            members.live[s, ENDING] = 1
        s = after
    flight[parity, F_NUM_DUE] = due


@part
def pass_time(parity, end_s, batch_delivery, live, slots, flight, out_s, gap_stack, gap_hist, count, real):
    """The clock moves to the end of the step; decoding members waited since the step before for their token."""
    duration_s = end_s - real[CLOCK]
    real[CLOCK] = end_s
    real[AGE] += (count[CALL] - 1) * duration_s
    hold_prompts(duration_s, live, slots, out_s, count)
    if flight[parity, F_TOKENS] == 0:
        return
    count[APPLIED_CALL] = flight[parity, F_CALL]
    gap_s = end_s - real[TOKEN_S]
    real[TOKEN_S] = end_s
    if not batch_delivery:
        push_duration(count[APPLIED_CALL], gap_s, gap_stack, count)
        members = flight[parity, F_DECODING] - flight[parity, F_DROPPED] - count[LATE_DECODING]
        if members > 0:
            note_gap(gap_s, members, gap_hist, count, real)


@part
def hold_prompts(duration_s, live, slots, out_s, count):
    """Members in mid-prompt hold what they have computed for so long."""
    for k in range(count[NUM_PARTIAL]):
        s = slots[k, PARTIAL]
        out_s[live[s, REQUEST], MEMORY_TOKEN_S] += live[s, COMPUTED] * duration_s


@part
def note_sampled(parity, batch_delivery, members, flight, records, gap_hist, count, real):
    """Prompts that the step completed bring a token."""
    for k in range(flight[parity, F_NUM_SAMPLED]):
        s = members.slots[k, SAMPLED + parity]
        i = members.live[s, REQUEST]
        if i >= 0:  # else preempted since
            note_token(i, batch_delivery, records.out_s, records.out_n, gap_hist, count, real)
            members.live[s, SEGMENT] = count[APPLIED_CALL]


@part
def sort_late(slots, count):
    """Victims whose token is on its way, in running order."""
    for k in range(1, count[NUM_LATE]):
        i = slots[k, LATE]
        seq = slots[k, LATE_SEQ]
        at = k
        while at > 0 and slots[at - 1, LATE_SEQ] > seq:
            slots[at, LATE] = slots[at - 1, LATE]
            slots[at, LATE_SEQ] = slots[at - 1, LATE_SEQ]
            at -= 1
        slots[at, LATE] = i
        slots[at, LATE_SEQ] = seq


@part
def deliver_late(rules, inputs, members, records, gap_hist, heap, thinking, count, real):
    """Victims of the newest call get the token of the step that was in flight; the last one ends a request."""
    for k in range(count[NUM_LATE]):
        i = members.slots[k, LATE]
        note_token(i, rules.batch_delivery, records.out_s, records.out_n, gap_hist, count, real)
        count[HEAD_KNOWN_GOOD] = 0
        if members.slots[k, LATE_SEQ] >= 0 and records.out_n[i, EMITTED] == inputs.asked[i, OUTPUT_LEN]:
            remove(i, rules.order, heap, records.out_n, count)
            deliver(i, inputs, thinking, records.out_n, count, real)
    count[NUM_LATE] = 0
    count[LATE_DECODING] = 0


@kernel
def note_token(i, batch_delivery, out_s, out_n, gap_hist, count, real):
    """A token outside the quiet path: the first, or the next after a preemption."""
    now = real[CLOCK]
    if out_n[i, EMITTED] == 0:
        out_s[i, FIRST_TOKEN_S] = now
    elif not batch_delivery:
        gap = now - out_s[i, LAST_TOKEN_S]
        out_s[i, MAX_ITL_S] = max(out_s[i, MAX_ITL_S], gap)
        note_gap(gap, 1, gap_hist, count, real)
    out_n[i, EMITTED] += 1
    out_s[i, LAST_TOKEN_S] = now


@part
def finish_members(parity, rules, inputs, members, flight, records, gap_stack, thinking, cache, count, real):
    """Members with their last token leave, or keep their slots until the batch ends."""
    for k in range(flight[parity, F_NUM_DUE]):
        s = members.slots[k, DUE_LIST + parity]
        i = members.live[s, REQUEST]
        if i < 0:  # preempted since
            continue
        settle_tokens(
            s, inputs.asked[i, PROMPT_LEN], members.live, records.out_s, records.out_n, gap_stack, count, real
        )
        if members.live[s, DECODING]:  # nobody foresaw the end: one more token was scheduled and comes to nothing
            members.live[s, COMPUTED] = members.live[s, BASE] + count[CALL] - 1
            settle_memory(s, members.live, members.live_s, records.out_s, real)
            stop_decoding(
                s,
                members.live[s, COMPUTED],
                rules.prefix_caching,
                members.live,
                members.calendar,
                members.phases,
                count,
            )
            drop_newest(i, members.slots, flight, count)
        else:
            settle_held(s, members.live, members.live_s, records.out_s, real)
        if rules.prefix_caching:
            tokens = members.live[s, BASE] + count[APPLIED_CALL]
            register_full(
                s,
                tokens,
                rules.block_size,
                inputs.asked,
                inputs.segments,
                members.live,
                cache.blocks,
                cache.table,
                cache.key_heads,
                count,
            )
        if rules.hold:
            hold_until_batch_ends(s, rules.block_size, members.live, count)
        else:
            straggler = members.live[s, STRAGGLER]
            if rules.prefix_caching:
                to_back = rules.free_to_back
                release_blocks(
                    s, members.live[s, COMPUTED], straggler, rules.block_size, to_back, cache.blocks, cache.table, count
                )
            else:
                release(members.live[s, COMPUTED], straggler, members.live[s, RESERVED], rules.block_size, count)
            leave(s, members.live, members.slots, count)
        if not rules.batch_delivery:
            deliver(i, inputs, thinking, records.out_n, count, real)
    if rules.hold and count[NUM_HELD_DONE] == count[NUM_RUNNING]:
        end_batch(rules.batch_delivery, inputs, members, records, thinking, count, real)


@part
def drop_newest(i, slots, flight, count):
    """The token of the newest step, still in flight, will be thrown away."""
    newest = (count[PUSHED] - 1) & 1
    slots[flight[newest, F_DROPPED], DROPPED] = i
    flight[newest, F_DROPPED] += 1


@part
def deliver(i, inputs, thinking, out_n, count, real):
    """The user has the whole answer."""
    out_n[i, STATUS] = Status.FINISHED
    count[NUM_DONE] += 1
    count[UNANNOUNCED] = 1
    note_answer(inputs.asked[i, AGAIN], inputs.arrival_s, thinking, count, real)


@kernel
def hold_until_batch_ends(s, block_size, live, count):
    """Everything the member holds or was promised moves to one row of the memory ledger."""
    computed = live[s, COMPUTED]
    release(computed, live[s, STRAGGLER], live[s, RESERVED], block_size, count)
    kept = max(live[s, RESERVED], blocks_for(computed, block_size))
    live[s, RESERVED] = kept
    count[FREE] -= kept
    live[s, HELD_DONE] = 1
    live[s, ENDING] = 0
    count[NUM_HELD_DONE] += 1
    count[HELD_DONE_KV] += computed
    count[HELD_DONE_BLOCKS] += kept


@part
def end_batch(batch_delivery, inputs, members, records, thinking, count, real):
    """The last member of a held batch is done: all slots and blocks come free."""
    while count[NUM_RUNNING] > 0:
        s = count[RUN_HEAD]
        i = members.live[s, REQUEST]
        count[FREE] += members.live[s, RESERVED]
        leave(s, members.live, members.slots, count)
        if batch_delivery:
            records.out_s[i, FIRST_TOKEN_S] = real[CLOCK]
            records.out_s[i, LAST_TOKEN_S] = real[CLOCK]
            records.out_s[i, MAX_ITL_S] = 0.0
            deliver(i, inputs, thinking, records.out_n, count, real)
    count[NUM_HELD_DONE] = 0
    count[HELD_DONE_KV] = 0
    count[HELD_DONE_BLOCKS] = 0
