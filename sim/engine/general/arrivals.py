"""Requests reach the scheduler, their predictions follow, and clients give up."""

import math

from sim.engine.accounts import Status
from sim.engine.arrivals import next_arrival_s, take_arrival, think
from sim.engine.general.batches import run_failed_again
from sim.engine.general.choices import Queue, Refresh, Reservation
from sim.engine.general.emit import end_held_batch
from sim.engine.general.evict import give_up_slot, stop_serving
from sim.engine.general.queue import PRESENT, change_key, join_queue, unlink
from sim.engine.general.ranked import drop_ranked
from sim.engine.general.refresh import TURNS
from sim.engine.general.reserve import held_tokens
from sim.engine.general.state import (
    ARRIVED_AT,
    GONE,
    HOST_FREE,
    HOST_TOKENS,
    IS_DIRTY,
    IS_RUNNING,
    IS_SHUFFLED,
    KEY,
    LEVEL,
    NEXT_TURN,
    NUM_NEW,
    NUM_SWAPPED,
    PAUSED,
    PLAN,
    QUANTUM_S,
    READY_POINT,
    RUNNING,
    SINCE_S,
    SLOT,
    STEP,
    SUM_ABORTED,
    TIMEOUT_POINT,
    WAITING,
    WHERE,
)
from sim.engine.general.told import GROUP, KEY_HINT, LONGEST_AGE_S, RESERVE_OUT, TAIL_HINT, TICKS_A_SECOND, deal_told
from sim.engine.kernel import kernel
from sim.engine.kv_memory import blocks_for, release
from sim.engine.state import (
    ARRIVAL_S,
    ARRIVED,
    CAP,
    CLOCK,
    HELD_DONE,
    NUM_DONE,
    NUM_HELD_DONE,
    NUM_RUNNING,
    NUM_WAITING,
    PROMPT_LEN,
    RESERVED,
    STATUS,
    STRAGGLER,
)


@kernel
def join_arrivals(users, rules, inputs, hints, pool, records, thinking, heap, more, count, real):
    """Everybody who has arrived by now joins the queue, or is rejected if it can never run."""
    while next_arrival_s(users, inputs.arrival_s, thinking, count) <= real[CLOCK]:
        i = count[ARRIVED]
        row = take_arrival(users, inputs.arrival_s, thinking, records.out_s, count)
        if len(pool.rows.order) > 0:
            deal_told(i, row, pool, inputs, hints, more.posterior)
        if rules.predict_delay_s == 0.0:
            count[READY_POINT] = i + 1
        if can_never_run(i, rules, inputs, hints):
            records.out_n[i, STATUS] = Status.REJECTED
            more.kept[i, WHERE] = GONE
            count[NUM_DONE] += 1
            think(real[CLOCK], inputs.arrival_s, thinking, count)
            continue
        count[NUM_NEW] += 1
        count[IS_DIRTY] = 1
        more.kept[i, SLOT] = -1
        more.kept[i, ARRIVED_AT] = count[STEP]
        more.kept_s[i, SINCE_S] = records.out_s[i, ARRIVAL_S]
        more.kept_s[i, KEY] = key_on_arrival(i, rules, inputs, hints, records, more, count)
        join_queue(i, False, rules, inputs, hints, records, heap, more, count)
        if rules.queue == Queue.CLASS:
            more.counter[hints.numbers[i, GROUP], PRESENT] += 1


@kernel
def key_on_arrival(i, rules, inputs, hints, records, more, count):
    """What orders the request at first."""
    if rules.refresh == Refresh.LEVELS:
        more.kept[i, LEVEL] = hints.numbers[i, GROUP]
        more.kept_s[i, QUANTUM_S] = rules.quantum_s * rules.quantum_growth ** more.kept[i, LEVEL]
        count[NEXT_TURN] += 1
        return hints.numbers[i, GROUP] * TURNS + count[NEXT_TURN]
    if rules.refresh == Refresh.DECLARED:
        count[NEXT_TURN] += 1
        return count[NEXT_TURN] - TURNS
    if i >= count[READY_POINT]:
        return float(inputs.asked[i, CAP])
    key = hints.keys[i, KEY_HINT]
    if rules.queue_weight > 0.0:
        queue = rules.queue_weight * count[NUM_WAITING] / max(count[NUM_RUNNING], 1)
        key += min(max(queue, rules.queue_weight_low), rules.queue_weight_high) * hints.keys[i, TAIL_HINT]
    return aged(key, records.out_s[i, ARRIVAL_S], hints.ageing)


@kernel
def aged(key, arrival_s, ageing):
    """The key of a score that shrinks while its request waits, all by one factor.

    Over what the factor was on arrival, the order of scores stays as it is for good. Source: schedulers.md 4, `tie`.
    """
    ticks = int(min(arrival_s, LONGEST_AGE_S) * TICKS_A_SECOND)
    for bit in range(len(ageing)):
        if (ticks >> bit) & 1:
            key *= ageing[bit]
    return key


@kernel
def can_never_run(i, rules, inputs, hints):
    """A prompt of max_model_len or more, or a reservation larger than the memory."""
    if inputs.asked[i, PROMPT_LEN] >= rules.max_model_len:
        return True
    if rules.reservation == Reservation.PROMPT:
        return blocks_for(inputs.asked[i, PROMPT_LEN], rules.block_size) > rules.usable_blocks - rules.keep_blocks
    if rules.reservation == Reservation.OUTPUT and rules.doubles == 0 and rules.residuals == 0:
        tokens = inputs.asked[i, PROMPT_LEN] + hints.numbers[i, RESERVE_OUT] + rules.reserve_offset
        return blocks_for(tokens, rules.block_size) > rules.usable_blocks
    return False


@kernel
def note_predictions(rules, inputs, hints, records, heap, more, count, real):
    """Predictions that have come since: the request is ordered anew."""
    i = count[READY_POINT]
    while i < count[ARRIVED] and records.out_s[i, ARRIVAL_S] + rules.predict_delay_s <= real[CLOCK]:
        count[READY_POINT] = i + 1
        i += 1
        count[IS_DIRTY] = 1
        count[IS_SHUFFLED] = 1
        where = more.kept[i - 1, WHERE]
        if where == GONE or rules.refresh == Refresh.LEVELS or rules.refresh == Refresh.DECLARED:
            continue
        if where == WAITING and rules.queue == Queue.NEED:
            unlink(i - 1, more.kept[i - 1, PLAN], more)
        joins_anew = where == WAITING and (rules.queue == Queue.KEY or rules.queue == Queue.NEED or rules.is_preemptive)
        count[NUM_WAITING] -= joins_anew  # as on arrival, it does not count itself
        change_key(i - 1, key_on_arrival(i - 1, rules, inputs, hints, records, more, count), more)
        if joins_anew:
            join_queue(i - 1, True, rules, inputs, hints, records, heap, more, count)


@kernel
def next_prediction_s(rules, records, count):
    """When the next prediction comes, infinite when none is on its way."""
    i = count[READY_POINT]
    return records.out_s[i, ARRIVAL_S] + rules.predict_delay_s if i < count[ARRIVED] else math.inf


@kernel
def give_up(rules, inputs, hints, members, records, gap_stack, thinking, heap, more, count, real):
    """Clients that have waited too long for their whole answer go away, and what they held comes free."""
    send_away(rules, inputs, hints, members, records, gap_stack, thinking, more, count, real)
    if count[NUM_HELD_DONE] > 0 and count[NUM_HELD_DONE] == count[NUM_RUNNING]:  # whom the batch waited for is gone
        end_held_batch(rules, inputs, members, records, thinking, more, count, real)
        run_failed_again(rules, inputs, hints, members, records, heap, more, count, real)
        send_away(rules, inputs, hints, members, records, gap_stack, thinking, more, count, real)


@kernel
def send_away(rules, inputs, hints, members, records, gap_stack, thinking, more, count, real):
    """Everybody whose patience is over.

    A member that is done keeps its place in a held batch, whether or not somebody still waits for its answer.
    """
    i = count[TIMEOUT_POINT]
    while i < count[ARRIVED] and records.out_s[i, ARRIVAL_S] + rules.timeout_s <= real[CLOCK]:
        where = more.kept[i, WHERE]
        is_undelivered = where == GONE and rules.batch_delivery and records.out_n[i, STATUS] == Status.UNFINISHED
        if is_undelivered:
            note_aborted(i, inputs.arrival_s, thinking, records.out_n, count, real)
        elif where != GONE and not (where == RUNNING and members.live[more.kept[i, SLOT], HELD_DONE]):
            abort(i, where, rules, inputs, hints, members, records, gap_stack, more, count, real)
            note_aborted(i, inputs.arrival_s, thinking, records.out_n, count, real)
        i += 1
    count[TIMEOUT_POINT] = i


@kernel
def note_aborted(i, arrival_s, thinking, out_n, count, real):
    """The client has gone, and in a closed loop will ask again."""
    out_n[i, STATUS] = Status.ABORTED
    count[NUM_DONE] += 1
    count[SUM_ABORTED] += 1
    think(real[CLOCK], arrival_s, thinking, count)


@kernel
def abort(i, where, rules, inputs, hints, members, records, gap_stack, more, count, real):
    """Take a request out of the engine, wherever it is."""
    live = members.live
    if where in (RUNNING, PAUSED):
        s = more.kept[i, SLOT]
        held = held_tokens(s, live, count)
        is_running = live[s, IS_RUNNING] == 1
        stop_serving(s, inputs, members, records, gap_stack, count, real)
        release(held, live[s, STRAGGLER], live[s, RESERVED], rules.block_size, count)
        give_up_slot(s, is_running, live, members.slots, more.kept, count)
        count[NUM_WAITING] -= not is_running
    else:
        count[NUM_WAITING] -= 1
        if more.kept[i, HOST_TOKENS] > 0:
            count[HOST_FREE] += blocks_for(more.kept[i, HOST_TOKENS], rules.block_size)
            count[NUM_SWAPPED] -= 1
            more.kept[i, HOST_TOKENS] = 0
    if rules.is_preemptive and where != WAITING:
        drop_ranked(i, more, count)
    if rules.queue == Queue.CLASS:
        more.counter[hints.numbers[i, GROUP], PRESENT] -= 1
    more.kept[i, WHERE] = GONE
