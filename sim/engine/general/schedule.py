"""Who runs in an iteration: who goes on, who gives way, who joins."""

from sim.engine.general.admit import admit_waiting, may_be_admitted
from sim.engine.general.batches import form_batch
from sim.engine.general.choices import Batching, Prefill
from sim.engine.general.decoding import grow_decoding
from sim.engine.general.grow import evict_outgrown, grow_running
from sim.engine.general.select import choose
from sim.engine.general.state import IS_OPEN, NUM_OUTGROWN, NUM_REDO, NUM_SWAPPED, STEP, WAS_PREFILL
from sim.engine.general.withheld import batch_keeps_out
from sim.engine.kernel import kernel, part
from sim.engine.state import CALL_PHASE, FREE, MEMBERS, NUM_DECODING, NUM_FRESH, NUM_PARTIAL, NUM_PREEMPTED, NUM_RUNNING


@part
def is_quiet(rules, phases, count):
    """Whether a batch that nobody joins only ages: no prompts under way, nobody outgrown, blocks enough."""
    if not batch_keeps_out(rules.batching, count) or rules.is_preemptive:
        return False
    is_plain = count[NUM_PARTIAL] + count[NUM_OUTGROWN] + count[NUM_REDO] == 0
    return is_plain and phases[count[CALL_PHASE], MEMBERS] <= count[FREE]


@part
def schedule(rules, inputs, hints, refinement, members, records, gap_stack, heap, more, count, real):
    """Choose who runs; 1 if members past their prompt decode in this iteration."""
    count[IS_OPEN] = count[STEP] % rules.admission_interval == 0 or count[NUM_RUNNING] == 0
    if rules.is_preemptive:
        choose(rules, inputs, hints, refinement, members, records, gap_stack, heap, more, count, real)
        return 1
    budget = rules.max_num_batched_tokens
    if rules.batching == Batching.REQUEST:
        if count[NUM_OUTGROWN] > 0:
            evict_outgrown(rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
        grow_running(True, budget, rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
        if count[NUM_RUNNING] == 0 and count[NUM_PREEMPTED] == 0:
            form_batch(rules, inputs, hints, members, records, heap, more, count, real)
        return 1
    if count[NUM_OUTGROWN] > 0:
        evict_outgrown(rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
    is_short = members.phases[count[CALL_PHASE], MEMBERS] > count[FREE]
    is_plain = rules.prefill != Prefill.ALTERNATE and count[NUM_PARTIAL] + count[NUM_REDO] + count[NUM_SWAPPED] == 0
    if is_plain and not is_short and not may_be_admitted(rules, count):
        grow_decoding(rules.block_size, members.phases, count)
        return 1
    is_open = count[IS_OPEN] == 1
    if rules.prefill == Prefill.FIRST:
        if is_open and count[NUM_PREEMPTED] == 0 and not (rules.swapped_first and count[NUM_SWAPPED] > 0):
            admit_waiting(budget, False, rules, inputs, hints, members, records, heap, more, count, real)
            if count[NUM_FRESH] > 0:
                return 0
        grow_running(True, budget, rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
        if is_open and count[NUM_PREEMPTED] == 0 and rules.swapped_first and count[NUM_SWAPPED] > 0:
            admit_waiting(budget, True, rules, inputs, hints, members, records, heap, more, count, real)
        return 1
    if rules.prefill == Prefill.ALTERNATE and count[NUM_DECODING] > 0:
        return alternate(is_open, rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
    left = grow_running(True, budget, rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
    if is_open and count[NUM_PREEMPTED] == 0:
        admit_waiting(left, False, rules, inputs, hints, members, records, heap, more, count, real)
    return 1


@kernel
def alternate(is_open, rules, inputs, hints, members, records, gap_stack, heap, more, count, real):
    """An iteration of prompts after each one of decoding, if there are prompts to compute."""
    budget = rules.max_num_batched_tokens
    if not count[WAS_PREFILL]:
        left = grow_running(False, budget, rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
        if is_open and count[NUM_PREEMPTED] == 0:
            admit_waiting(left, False, rules, inputs, hints, members, records, heap, more, count, real)
        if count[NUM_FRESH] + count[NUM_PARTIAL] > 0:
            return 0
    only_decoding = count[NUM_DECODING]
    grow_running(True, only_decoding, rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
    return 1
