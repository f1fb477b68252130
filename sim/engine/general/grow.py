"""Running members get their tokens, and somebody gives way when blocks run out."""

from sim.engine.general.choices import Eviction, Prefill
from sim.engine.general.decoding import catch_up, grow_decoding
from sim.engine.general.evict import evict, evict_for_blocks
from sim.engine.general.state import NUM_OUTGROWN, NUM_REDO, OUTGROWN
from sim.engine.kernel import kernel
from sim.engine.kv_memory import blocks_for, fill
from sim.engine.state import (
    CALL_PHASE,
    CHUNK,
    COMPUTED,
    DECODING,
    FREE,
    KNOWN,
    MEMBERS,
    NUM_DECODING,
    NUM_PARTIAL,
    NUM_RUNNING,
    NUM_WAITING,
    PARTIAL,
    REQUEST,
    RESERVED,
    STRAGGLER,
)


@kernel
def evict_outgrown(rules, inputs, hints, members, records, gap_stack, heap, more, count, real):
    """Systems that double: members whose reservation is full give way, unless nobody supervises them."""
    for k in range(count[NUM_OUTGROWN] if rules.eviction != Eviction.FAIL else 0):
        s = members.slots[k, OUTGROWN]
        if members.live[s, REQUEST] >= 0 and members.live[s, DECODING]:
            evict(s, rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
    count[NUM_OUTGROWN] = 0


@kernel
def grow_running(decodes, budget, rules, inputs, hints, members, records, gap_stack, heap, more, count, real):
    """Decoding members, if this is their iteration, and prompts under way; tokens left of the budget."""
    while True:
        # where prompts are computed whole, the budget is one of prompt tokens
        left = budget - (count[NUM_DECODING] if decodes and rules.prefill >= Prefill.CHUNKED else 0)
        needed = members.phases[count[CALL_PHASE], MEMBERS] if decodes else 0
        tokens, blocks = plan_chunks(left, rules, members, count)
        if needed + blocks <= count[FREE]:
            break
        evict_for_blocks(rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
    if decodes:
        grow_decoding(rules.block_size, members.phases, count)
        if count[NUM_REDO] > 0:
            catch_up(members, records, count)
    grow_chunks(rules, members, count)
    return left - tokens


@kernel
def plan_chunks(left, rules, members, count):
    """Cut what prompts under way compute to the budget; (tokens, blocks taken from the pool)."""
    live = members.live
    tokens = 0
    blocks = 0
    is_alone = count[NUM_RUNNING] + count[NUM_WAITING] <= 1
    for k in range(count[NUM_PARTIAL]):
        s = members.slots[k, PARTIAL]
        computed = live[s, COMPUTED]
        chunk = min(live[s, KNOWN] - computed, max(left - tokens, 0))
        if rules.long_prefill_token_threshold > 0 and rules.prefill >= Prefill.CHUNKED and not is_alone:
            chunk = min(chunk, rules.long_prefill_token_threshold)
        live[s, CHUNK] = chunk
        tokens += chunk
        held = max(blocks_for(computed, rules.block_size), live[s, RESERVED])
        blocks += max(blocks_for(computed + chunk, rules.block_size) - held, 0)
    return tokens, blocks


@kernel
def grow_chunks(rules, members, count):
    """Prompts under way take their planned chunks."""
    for k in range(count[NUM_PARTIAL]):
        fill_chunk(members.slots[k, PARTIAL], rules.block_size, members.live, count)


@kernel
def fill_chunk(s, block_size, live, count):
    """A member takes the blocks of its chunk, from its reservation as far as that goes."""
    computed = live[s, COMPUTED]
    reached = computed + live[s, CHUNK]
    reserved = live[s, RESERVED]
    within = min(reached, reserved * block_size)
    if computed < within:
        fill(computed, within - computed, live[s, STRAGGLER], True, block_size, count)
        computed = within
    if computed < reached:
        fill(computed, reached - computed, live[s, STRAGGLER], False, block_size, count)
