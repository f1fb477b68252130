"""What an iteration's outputs change: complete prompts go on decoding, tokens come, requests leave."""

from sim.engine.accounts import Status
from sim.engine.emit import deliver, hold_prompts, hold_until_batch_ends, note_token
from sim.engine.gaps import note_gap, push_duration
from sim.engine.general.choices import Queue
from sim.engine.general.decoding import start_decoding
from sim.engine.general.peak import keep_future
from sim.engine.general.queue import COUNT, PRESENT
from sim.engine.general.ranked import drop_ranked
from sim.engine.general.refresh import tell_remaining
from sim.engine.general.reserve import note_ratio
from sim.engine.general.state import (
    FAILED,
    GONE,
    IS_DIRTY,
    IS_SHUFFLED,
    IS_YOUNG,
    LOST_TOKENS,
    MOST_SETBACKS,
    NUM_FAILED,
    NUM_HISTORY,
    NUM_REDO,
    NUM_RESIDUALS,
    NUM_YOUNG,
    QUANTUM,
    REDO,
    REDO_KV,
    REDO_UNTIL,
    SEATS,
    SETBACKS,
    SLOT,
    TICKS,
    WHERE,
    YOUNG,
)
from sim.engine.general.told import GROUP, GUESS, STOP
from sim.engine.kernel import kernel
from sim.engine.kv_memory import release
from sim.engine.members import leave, sort_slots
from sim.engine.segments import mark_memory, settle_held, settle_tokens
from sim.engine.state import (
    AGE,
    APPLIED_CALL,
    CALL,
    CHUNK,
    CHUNK_CONTEXT,
    CHUNK_REDO,
    CHUNK_REDO_S,
    CHUNK_TOKENS,
    CHUNK_USEFUL_S,
    CHUNK_WORK,
    CHUNKS_DONE,
    CLOCK,
    COMPUTED,
    DECODING,
    DUE_LIST,
    EMITTED,
    ENDING,
    FIRST_TOKEN_S,
    FREE,
    FRESH,
    HELD_DONE_BLOCKS,
    HELD_DONE_KV,
    HIGH_WATER,
    KNOWN,
    LAST_TOKEN_S,
    MAX_ITL_S,
    NUM_FRESH,
    NUM_HELD_DONE,
    NUM_PARTIAL,
    NUM_RUNNING,
    OUTPUT_LEN,
    PARTIAL,
    PROMPT_LEN,
    RECOMPUTED,
    REQUEST,
    RESERVED,
    RUN_HEAD,
    RUN_NEXT,
    SAMPLED,
    SEGMENT,
    STATUS,
    STRAGGLER,
    TOKEN_S,
)


@kernel
def measure_chunks(kv_s, attention_s, members, records, inputs, count, real):
    """Sum up the prompts computed in this iteration; (members that go on decoding with one token, their KV tokens)."""
    back = 0
    back_kv = 0
    for k in range(count[NUM_PARTIAL] + count[NUM_FRESH]):
        s = members.slots[k, PARTIAL] if k < count[NUM_PARTIAL] else members.slots[k - count[NUM_PARTIAL], FRESH]
        live = members.live
        i = live[s, REQUEST]
        tokens = live[s, CHUNK]
        context = live[s, COMPUTED]
        high_water = records.out_n[i, HIGH_WATER]
        if tokens == 1 and context >= high_water and context + 1 == live[s, KNOWN] > inputs.asked[i, PROMPT_LEN]:
            back += 1
            back_kv += live[s, KNOWN]
            continue
        work = tokens * context + 0.5 * tokens * tokens
        seconds = kv_s * context + attention_s * work
        if tokens == 0:
            continue
        count[CHUNK_TOKENS] += tokens
        count[CHUNK_CONTEXT] += context
        count[CHUNKS_DONE] += context + tokens == live[s, KNOWN] and records.out_n[i, LOST_TOKENS] == 0
        real[CHUNK_WORK] += work
        redo = min(context + tokens, high_water) - context
        if redo > 0:
            count[CHUNK_REDO] += redo
            records.out_n[i, RECOMPUTED] += redo
            real[CHUNK_REDO_S] += seconds * redo / tokens
            seconds *= (tokens - redo) / tokens
        real[CHUNK_USEFUL_S] += seconds
    return back, back_kv


@kernel
def end_chunks(rules, inputs, hints, members, records, more, count, real):
    """Members whose prompt is complete decode from the next decoding iteration on; their number."""
    live = members.live
    still_partial = 0
    sampled = 0
    for k in range(count[NUM_PARTIAL] + count[NUM_FRESH]):
        s = members.slots[k, PARTIAL] if k < count[NUM_PARTIAL] else members.slots[k - count[NUM_PARTIAL], FRESH]
        i = live[s, REQUEST]
        computed = live[s, COMPUTED] + live[s, CHUNK]
        live[s, COMPUTED] = computed
        if computed < live[s, KNOWN]:
            members.slots[still_partial, PARTIAL] = s  # never ahead of k: the list is read before it is overwritten
            still_partial += 1
            continue
        members.slots[sampled, SAMPLED] = s
        sampled += 1
        if more.kept[i, SETBACKS] >= MOST_SETBACKS:
            more.kept[i, QUANTUM] = 0
            count[IS_SHUFFLED] = 1
            count[IS_DIRTY] = 1
        more.kept[i, SETBACKS] = 0
        mark_memory(s, members.live_s, real)
        generated = records.out_n[i, EMITTED] - records.out_n[i, LOST_TOKENS] + 1
        last = inputs.asked[i, OUTPUT_LEN]
        if rules.is_grouped and more.kept[i, QUANTUM] == 0:
            last = min(last, hints.numbers[i, STOP])
        start_decoding(s, computed, last - generated, rules, members, count)
        keep_future(s, computed, rules, inputs, hints, members, more, count)
        tell_remaining(i, generated - 1, True, rules, hints, more, count)
        if records.out_n[i, LOST_TOKENS] > 0:
            live[s, REDO_UNTIL] = count[CALL] + records.out_n[i, LOST_TOKENS]
            members.slots[count[NUM_REDO], REDO] = s
            count[NUM_REDO] += 1
            count[REDO_KV] += computed
    count[NUM_PARTIAL] = still_partial
    count[NUM_FRESH] = 0
    return sampled


@kernel
def pass_time(end_s, decoding, batch_delivery, live, slots, records, gap_stack, gap_hist, count, real):
    """The clock moves to the end of the iteration, in which `decoding` members decoded, and their tokens come."""
    duration_s = end_s - real[CLOCK]
    real[CLOCK] = end_s
    real[AGE] += (count[CALL] - 1) * duration_s
    hold_prompts(duration_s, live, slots, records.out_s, count)
    count[APPLIED_CALL] = count[CALL] - 1
    if not count[TICKS]:
        return
    gap_s = end_s - real[TOKEN_S]
    real[TOKEN_S] = end_s
    if not batch_delivery:
        push_duration(count[APPLIED_CALL], gap_s, gap_stack, count)
        plain = decoding - count[NUM_YOUNG] - count[NUM_REDO]
        if plain > 0:
            note_gap(gap_s, plain, gap_hist, count, real)
    for k in range(count[NUM_YOUNG]):
        s = slots[k, YOUNG]
        note_token(live[s, REQUEST], batch_delivery, records.out_s, records.out_n, gap_hist, count, real)
        live[s, SEGMENT] = count[APPLIED_CALL]
        live[s, IS_YOUNG] = 0
    count[NUM_YOUNG] = 0


@kernel
def note_sampled(sampled, batch_delivery, members, records, gap_hist, count, real):
    """Prompts that the iteration completed bring a token, unless it was delivered before."""
    live = members.live
    for k in range(sampled):
        s = members.slots[k, SAMPLED]
        if live[s, REDO_UNTIL] >= 0:
            continue
        note_token(live[s, REQUEST], batch_delivery, records.out_s, records.out_n, gap_hist, count, real)
        if count[TICKS]:
            live[s, SEGMENT] = count[APPLIED_CALL]
        elif live[s, DECODING]:
            live[s, IS_YOUNG] = 1
            members.slots[count[NUM_YOUNG], YOUNG] = s
            count[NUM_YOUNG] += 1


@kernel
def finish_members(due, rules, inputs, hints, members, records, gap_stack, thinking, more, count, real):
    """Members with their last token leave, or keep their slots until the batch ends."""
    live = members.live
    if due > 1 and rules.history + rules.residuals > 0:
        sort_slots(DUE_LIST, due, REQUEST, members.slots, live)  # in order of arrival
    for k in range(due):
        s = members.slots[k, DUE_LIST]
        i = live[s, REQUEST]
        settle_tokens(s, inputs.asked[i, PROMPT_LEN], live, records.out_s, records.out_n, gap_stack, count, real)
        settle_held(s, live, members.live_s, records.out_s, real)
        is_cut = records.out_n[i, EMITTED] < inputs.asked[i, OUTPUT_LEN]
        if is_cut:
            members.slots[count[NUM_FAILED], FAILED] = i
            count[NUM_FAILED] += 1
            records.out_n[i, HIGH_WATER] = max(records.out_n[i, HIGH_WATER], live[s, COMPUTED])
        else:
            more.kept[i, WHERE] = GONE
            count[SEATS] = rules.max_num_seqs
            learn(i, rules, hints, records, more, count)
        if rules.hold:
            hold_until_batch_ends(s, rules.block_size, live, count)
        else:
            release(live[s, COMPUTED], live[s, STRAGGLER], live[s, RESERVED], rules.block_size, count)
            leave(s, live, members.slots, count)
            more.kept[i, SLOT] = -1
            if rules.is_preemptive:
                drop_ranked(i, more, count)
        if not rules.batch_delivery and not is_cut:
            deliver(i, inputs, thinking, records.out_n, count, real)
    if rules.hold and count[NUM_HELD_DONE] > 0 and count[NUM_HELD_DONE] == count[NUM_RUNNING]:
        end_held_batch(rules, inputs, members, records, thinking, more, count, real)


@kernel
def end_held_batch(rules, inputs, members, records, thinking, more, count, real):
    """The last member of a held batch is done: all slots and blocks come free."""
    live = members.live
    while count[NUM_RUNNING] > 0:
        s = count[RUN_HEAD]
        i = live[s, REQUEST]
        count[FREE] += live[s, RESERVED]
        leave(s, live, members.slots, count)
        more.kept[i, SLOT] = -1
        is_whole = records.out_n[i, EMITTED] == inputs.asked[i, OUTPUT_LEN]
        if rules.batch_delivery and is_whole and records.out_n[i, STATUS] == Status.UNFINISHED:
            records.out_s[i, FIRST_TOKEN_S] = real[CLOCK]
            records.out_s[i, LAST_TOKEN_S] = real[CLOCK]
            records.out_s[i, MAX_ITL_S] = 0.0
            deliver(i, inputs, thinking, records.out_n, count, real)
    count[NUM_HELD_DONE] = 0
    count[HELD_DONE_KV] = 0
    count[HELD_DONE_BLOCKS] = 0


@kernel
def learn(i, rules, hints, records, more, count):
    """A finished request's length is remembered, and its class counts what it was served."""
    emitted = records.out_n[i, EMITTED]
    if rules.history > 0:
        count[NUM_HISTORY] = note_ratio(float(emitted), more.history, count[NUM_HISTORY], rules.history)
    if rules.residuals > 0:
        ratio = emitted / max(hints.numbers[i, GUESS], 1)
        count[NUM_RESIDUALS] = note_ratio(ratio, more.residual, count[NUM_RESIDUALS], rules.residuals)
    if rules.queue == Queue.CLASS:
        more.counter[hints.numbers[i, GROUP], PRESENT] -= 1


@kernel
def count_outputs(sampled, hints, members, more, count):
    """Two for every token of this iteration, on the counter of its class (VTC). Source: schedulers.md 4."""
    live = members.live
    if not count[TICKS]:
        for k in range(sampled):
            more.counter[hints.numbers[live[members.slots[k, SAMPLED], REQUEST], GROUP], COUNT] += 2.0
        return
    s = count[RUN_HEAD]
    while s >= 0:
        if live[s, DECODING] or live[s, ENDING]:
            more.counter[hints.numbers[live[s, REQUEST], GROUP], COUNT] += 2.0
        s = live[s, RUN_NEXT]
