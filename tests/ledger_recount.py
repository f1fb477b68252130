"""Both ledgers counted block by block and token by token, from the members of the naive simulator.

No counter of the engine is read, nothing is carried from step to step but high-water marks. Source: metrics.md,
section 8; the columns are the engine's so that the two can be laid side by side.
"""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from sim.engine.accounts import NUM_COLUMNS, Bin
from sim.engine.inputs import Requests, Rules, StepTime
from tests.naive.state import Chunk, Member
from tests.naive.static import StaticScheduler
from tests.naive.synchronous import Moment, linear_time, simulate
from tests.naive.vllm import VllmScheduler

Row = tuple[Bin, float]


def recount(
    rules: Rules,
    requests: Requests,
    step_time: StepTime,
    *,
    bin_width_s: float,
    num_bins: int,
    until_s: float = np.inf,
    max_calls: float = np.inf,
) -> np.ndarray:
    """Time bins of a run, shape (num_bins, number of columns), as `engine.Run.bins` should be."""
    bins = np.zeros((num_bins, NUM_COLUMNS))
    high_water: dict[int, int] = defaultdict(int)  # tokens a request had when it was preempted

    def add(moment: Moment) -> None:
        for i, lost in moment.preempted:
            high_water[i] = max(high_water[i], lost)
        sums = np.zeros(NUM_COLUMNS)
        for row, amount in rows_of(moment, step_time, high_water):
            sums[row] += amount
        for k, share in shares(moment, bin_width_s):
            bins[k] += share * sums

    simulate(rules, requests, step_time, until=until_s, max_calls=max_calls, observe=add)
    return bins


def shares(moment: Moment, width: float) -> Iterator[tuple[int, float]]:
    """Which part of a stretch of time falls into which bin."""
    duration = moment.end - moment.start
    for k in range(int(moment.start // width), int(moment.end // width) + 1):
        overlap = min(moment.end, (k + 1) * width) - max(moment.start, k * width)
        if overlap > 0:
            yield k, overlap / duration


def rows_of(moment: Moment, step_time: StepTime, high_water: dict[int, int]) -> Iterator[Row]:
    """Everything one stretch of time adds."""
    duration = moment.end - moment.start
    yield Bin.RUNNING, len(moment.scheduler.running) * duration
    yield Bin.WAITING, len(moment.scheduler.waiting) * duration
    yield Bin.PREEMPTIONS, len(moment.preempted)
    for row, blocks in memory_rows(moment):
        yield row, blocks * duration
    yield from time_rows(moment, step_time, high_water)


def memory_rows(moment: Moment) -> Iterator[Row]:
    """The row of every single block, or of the parts of it."""
    scheduler = moment.scheduler
    block_size = scheduler.rules.block_size
    for owners in contents(moment).values():
        if all(member.is_done for member, _ in owners):
            yield Bin.FINISHED_HELD, 1
            continue
        tokens = max(tokens for _, tokens in owners)
        is_straggler = all(member.is_straggler for member, _ in owners)
        yield Bin.HELD_STRAGGLER if is_straggler else Bin.HELD_TYPICAL, tokens / block_size
        yield Bin.FRAGMENTATION, (block_size - tokens) / block_size
    for member in scheduler.running:
        yield Bin.FINISHED_HELD if member.is_done else Bin.RESERVED_UNUSED, num_pledged(moment, member)
    rows = rows_of_free_blocks(moment)
    for is_cached in free_blocks(moment):
        yield rows[is_cached], 1


def contents(moment: Moment) -> dict[object, list[tuple[Member, int]]]:
    """For each occupied block who refers to it, and how many computed tokens that member has there."""
    found: dict[object, list[tuple[Member, int]]] = defaultdict(list)
    block_size = moment.scheduler.rules.block_size
    for member in moment.scheduler.running:
        for j in range(-(-member.computed // block_size)):
            name = member.blocks[j] if isinstance(moment.scheduler, VllmScheduler) else (member.id, j)
            found[name].append((member, min(block_size, member.computed - j * block_size)))
    return found


def num_pledged(moment: Moment, member: Member) -> int:
    """Empty blocks taken from the pool for this member."""
    if not isinstance(moment.scheduler, StaticScheduler):
        return 0
    occupied = -(-member.computed // moment.scheduler.rules.block_size)
    return moment.scheduler.reserved(member) - occupied


def free_blocks(moment: Moment) -> list[bool]:
    """For each free block whether its content can still be found."""
    scheduler = moment.scheduler
    if isinstance(scheduler, VllmScheduler):
        return [block in scheduler.blocks.key_of for block in scheduler.blocks.free]
    return [False] * scheduler.num_free()


def rows_of_free_blocks(moment: Moment) -> tuple[Bin, Bin]:
    """Why empty blocks are not in use, and why cached ones are not."""
    scheduler = moment.scheduler
    if not scheduler.waiting:
        return Bin.FREE_NO_DEMAND, Bin.CACHED_PREFIX
    if not moment.is_call:
        row = Bin.WITHHELD_WAIT
    elif isinstance(scheduler, VllmScheduler):
        row = row_withheld_from_head(moment, scheduler)
    else:
        row = Bin.WITHHELD_BATCH
    return row, row


def row_withheld_from_head(moment: Moment, scheduler: VllmScheduler) -> Bin:
    """What keeps the head of vLLM's queue from the free blocks."""
    free = scheduler.num_free()
    first_chunk, admission = demand_of_head(scheduler)
    if moment.preempted or first_chunk > free:
        owners = contents(moment).values()
        of_stragglers = sum(all(member.is_straggler for member, _ in each) for each in owners)
        would_fit = first_chunk <= free + of_stragglers
        return Bin.WITHHELD_MEMORY_STRAGGLER if would_fit else Bin.WITHHELD_MEMORY_OTHER
    return Bin.WITHHELD_MARGIN if admission > free else Bin.WITHHELD_CAP


def demand_of_head(scheduler: VllmScheduler) -> tuple[int, int]:
    """Free blocks that the head's first chunk would take, and that the admission test asks for."""
    rules, blocks, head = scheduler.rules, scheduler.blocks, scheduler.waiting[0]
    hits = blocks.lookup(head)
    idle = blocks.num_idle(hits)
    tokens = head.known - len(hits) * rules.block_size
    tokens = min(tokens, scheduler.chunk_cap() or tokens)
    if rules.chunked_prefill:
        tokens = min(tokens, rules.max_num_batched_tokens)
    first_chunk = blocks.needed(len(hits) * rules.block_size + tokens) - len(hits) + idle
    admission = first_chunk
    if rules.reserve_full_isl:
        whole = blocks.needed(min(head.known, rules.max_model_len)) - len(hits) + idle
        admission = max(first_chunk, whole)
    return first_chunk, admission + (rules.keep_blocks if scheduler.running else 0)


def time_rows(moment: Moment, step_time: StepTime, high_water: dict[int, int]) -> Iterator[Row]:
    """The row of every second of a stretch: the fixed part, and each token's share of the rest."""
    duration = moment.end - moment.start
    num_tokens = sum(chunk.tokens for chunk in moment.scheduled)
    if num_tokens == 0:
        yield Bin.STALLED if moment.scheduler.waiting else Bin.IDLE, duration
        return
    fixed = linear_time(0, step_time)
    share = (linear_time(num_tokens, step_time) - fixed) / num_tokens
    yield Bin.FIXED, fixed
    for chunk in moment.scheduled:
        member = moment.scheduler.members[chunk.id]
        yield Bin.KV_READ, member.computed if member.is_done or member.is_decoding else chunk.before
        if member.is_done:
            yield Bin.PADDING, share + step_time.kv_s * member.computed
            continue
        if member.computed == member.known:
            yield Bin.OUTPUT_TOKENS, 1
            yield Bin.PRODUCING, duration
        if member.is_decoding:
            yield Bin.DECODE, share + step_time.kv_s * member.computed
            yield Bin.DECODE_TOKENS, 1
        else:
            work = chunk.tokens * chunk.before + chunk.tokens**2 / 2
            own = step_time.kv_s * chunk.before + step_time.attention_s * work
            yield from chunk_rows(chunk, share + own / chunk.tokens, high_water[member.id])


def chunk_rows(chunk: Chunk, seconds_per_token: float, high_water: int) -> Iterator[Row]:
    """The tokens of a prefill chunk one by one: new ones, and ones that had been computed before."""
    for position in range(chunk.before, chunk.before + chunk.tokens):
        yield Bin.PREFILL_TOKENS, 1
        if position < high_water:
            yield Bin.RECOMPUTED_TOKENS, 1
            yield Bin.RECOMPUTE, seconds_per_token
        else:
            yield Bin.PREFILL, seconds_per_token
