"""Why free blocks are not used although somebody waits: the first reason that holds for the next request.

Source: metrics.md 8.1.
"""

from numba import njit

from sim.engine.accounts import Bin
from sim.engine.general.choices import Batching, Queue, Reservation
from sim.engine.general.queue import next_in_queue, smallest_need, top_of_heap
from sim.engine.general.reserve import first_chunk, future_fits, known_tokens, reserved_blocks
from sim.engine.general.select import comes_before
from sim.engine.general.state import HOST_TOKENS, NUM_RANKED, NUM_TAKEN, PAUSED, STEP, WHERE
from sim.engine.jit import JIT
from sim.engine.kv_memory import blocks_for
from sim.engine.state import FREE, NUM_PREEMPTED, NUM_RUNNING, STRAGGLER_BLOCKS


@njit(**JIT)
def row_of_free_blocks(rules, inputs, hints, members, records, heap, more, count, real):
    """Row of the memory ledger for all free blocks while somebody waits."""
    if rules.batching == Batching.REQUEST and count[NUM_RUNNING] > 0:
        return Bin.WITHHELD_BATCH
    if rules.admission_interval > 1 and count[STEP] % rules.admission_interval != 0:
        return Bin.WITHHELD_WAIT
    i = next_request(rules, hints, records, heap, more, count, real)
    if i < 0:
        return Bin.WITHHELD_CAP
    if more.kept[i, WHERE] == PAUSED:
        physical = 0
    else:
        physical = blocks_for(
            more.kept[i, HOST_TOKENS] + first_chunk(i, rules, inputs.asked, records.out_n, more), rules.block_size
        )
    if count[NUM_PREEMPTED] > 0 or physical > count[FREE]:
        if physical <= count[FREE] + count[STRAGGLER_BLOCKS]:
            return Bin.WITHHELD_MEMORY_STRAGGLER
        return Bin.WITHHELD_MEMORY_OTHER
    if rules.is_preemptive:
        return Bin.WITHHELD_CAP
    keep = rules.keep_blocks if count[NUM_RUNNING] > 0 else 0
    wanted = physical
    if rules.reservation == Reservation.OUTPUT or rules.reservation == Reservation.PROMPT:
        wanted = reserved_blocks(i, rules, inputs.asked, hints, records.out_n, more, count)
    elif rules.reservation == Reservation.PEAK or rules.reserve_full_isl:
        wanted = blocks_for(known_tokens(i, inputs.asked, records.out_n), rules.block_size)
    if wanted + keep > count[FREE]:
        return Bin.WITHHELD_MARGIN
    is_tested = rules.reservation == Reservation.PEAK and count[NUM_RUNNING] < rules.max_num_seqs
    if is_tested and not future_fits(i, rules, inputs, hints, records, members, more, count):
        return Bin.WITHHELD_MARGIN
    return Bin.WITHHELD_CAP


@njit(**JIT)
def next_request(rules, hints, records, heap, more, count, real):
    """The request that the order would serve next; where it may skip, the one with the smallest need."""
    if not rules.is_preemptive:
        if rules.queue == Queue.NEED:
            return smallest_need(more, count)
        return next_in_queue(count[FREE], rules, hints, records, heap, more, count, real)
    i = more.ranked[count[NUM_TAKEN]] if count[NUM_TAKEN] < count[NUM_RANKED] else -1
    new = top_of_heap(heap, more, count)
    if i < 0 or (new >= 0 and comes_before(new, i, more)):
        return new
    return i
