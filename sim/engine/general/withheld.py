"""Why free blocks are not used although somebody waits: the first reason that holds for the next request.

Source: metrics.md 8.1.
"""

from sim.engine.accounts import Bin
from sim.engine.general.choices import Batching, Queue, Reservation
from sim.engine.general.head import look_at_head, smallest_need
from sim.engine.general.peak import future_fits
from sim.engine.general.queue import top_of_heap
from sim.engine.general.ranked import comes_before
from sim.engine.general.reserve import first_chunk, held_tokens, known_tokens, reserved_blocks
from sim.engine.general.state import (
    HOST_TOKENS,
    IS_OPEN,
    NUM_RANKED,
    NUM_TAKEN,
    PAUSED,
    PLAN,
    REFUSED_AT,
    SLOT,
    STEP,
    WHERE,
)
from sim.engine.kernel import kernel
from sim.engine.kv_memory import blocks_for
from sim.engine.state import (
    FREE,
    HEAD,
    HEAD_FIRST,
    HEAD_KNOWN_GOOD,
    HEAD_WHOLE,
    NUM_PREEMPTED,
    NUM_RUNNING,
    RESERVED,
    STRAGGLER_BLOCKS,
)


@kernel
def batch_keeps_out(batching, count):
    """Whether nobody may join before the batch has ended."""
    return batching == Batching.REQUEST and count[NUM_RUNNING] > 0


@kernel
def row_of_free_blocks(rules, inputs, hints, members, records, heap, more, count, real):
    """Row of the memory ledger for all free blocks while somebody waits."""
    if batch_keeps_out(rules.batching, count):
        return Bin.WITHHELD_BATCH
    if not count[IS_OPEN]:
        return Bin.WITHHELD_WAIT
    if rules.is_preemptive:
        return row_of_ranked(rules, inputs, hints, members, records, heap, more, count)
    if not count[HEAD_KNOWN_GOOD]:
        look_at_head(rules, inputs, hints, records, heap, more, count, real)
    if rules.queue == Queue.NEED:
        count[HEAD] = smallest_need(more, count)
        count[HEAD_WHOLE] = more.kept[count[HEAD], PLAN]
        chunk = first_chunk(count[HEAD], rules, inputs.asked, records.out_n, more)
        count[HEAD_FIRST] = blocks_for(more.kept[count[HEAD], HOST_TOKENS] + chunk, rules.block_size)
    if count[NUM_PREEMPTED] > 0 or count[HEAD_FIRST] > count[FREE]:
        return row_of_shortage(count[HEAD_FIRST], count)
    keep = rules.keep_blocks if count[NUM_RUNNING] > 0 else 0
    if count[HEAD_WHOLE] + keep > count[FREE]:
        return Bin.WITHHELD_MARGIN
    if count[REFUSED_AT] == count[STEP]:
        return Bin.WITHHELD_MARGIN
    is_tested = rules.reservation == Reservation.PEAK and count[NUM_RUNNING] > 0
    if is_tested and not future_fits(count[HEAD], rules, inputs, hints, records, members, more, count):
        return Bin.WITHHELD_MARGIN
    return Bin.WITHHELD_CAP


@kernel
def row_of_shortage(needed, count):
    """Blocks are short: by stragglers, if the request would fit into what is free and theirs."""
    if needed <= count[FREE] + count[STRAGGLER_BLOCKS]:
        return Bin.WITHHELD_MEMORY_STRAGGLER
    return Bin.WITHHELD_MEMORY_OTHER


@kernel
def row_of_ranked(rules, inputs, hints, members, records, heap, more, count):
    """Where every iteration chooses among all: the first that was not chosen."""
    i = more.ranked[count[NUM_TAKEN]] if count[NUM_TAKEN] < count[NUM_RANKED] else -1
    new = top_of_heap(heap, more, count)
    if i < 0 or (new >= 0 and comes_before(new, i, more, count)):
        i = new
    chunk = first_chunk(i, rules, inputs.asked, records.out_n, more)
    if more.kept[i, WHERE] == PAUSED:
        s = more.kept[i, SLOT]
        held = held_tokens(s, members.live, count)
        own = max(blocks_for(held, rules.block_size), members.live[s, RESERVED])
        physical = max(
            blocks_for(min(held + chunk, known_tokens(i, inputs.asked, records.out_n)), rules.block_size) - own, 0
        )
        wanted = physical
    else:
        physical = blocks_for(more.kept[i, HOST_TOKENS] + chunk, rules.block_size)
        wanted = physical
        if rules.reservation != Reservation.CHUNK:
            wanted = reserved_blocks(i, rules, inputs.asked, hints, records.out_n, more, count)
    if count[NUM_PREEMPTED] > 0 or physical > count[FREE]:
        return row_of_shortage(physical, count)
    return Bin.WITHHELD_MARGIN if wanted > count[FREE] else Bin.WITHHELD_CAP
