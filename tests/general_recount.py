"""Both ledgers counted block by block and token by token, from the members of the naive loops of every scheduler.

No counter of the engine is read, nothing is carried from iteration to iteration but high-water marks. Source:
metrics.md, section 8; the columns are the engine's so that the two can be laid side by side.
"""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from sim.engine.accounts import NUM_COLUMNS, Bin
from tests.ledger_recount import shares
from tests.naive import batches, served
from tests.naive import length_aware as aware
from tests.naive.general import Scheduler
from tests.naive.general_loop import Moment, NaiveRun, simulate
from tests.naive.general_state import Case, Chunk, Member
from tests.naive.ranked import Ranked
from tests.naive.synchronous import linear_time

Row = tuple[Bin, float]
CHUNKED = (served.Sarathi, served.Routed, aware.Ordered)  # where a prompt is cut to the budget


def recount(
    case: Case, family: type[Scheduler], *, bin_width_s: float, num_bins: int, max_steps: float
) -> tuple[NaiveRun, np.ndarray]:
    """The naive run, and its time bins, shape (num_bins, number of columns), as `engine.Run.bins` should be."""
    bins = np.zeros((num_bins, NUM_COLUMNS))
    high_water: dict[int, int] = defaultdict(int)  # tokens that a request has had computed

    def add(moment: Moment, scheduler: Scheduler) -> None:
        sums = np.zeros(NUM_COLUMNS)
        for row, amount in rows_of(moment, scheduler, high_water):
            sums[row] += amount
        for chunk in moment.chunks:
            high_water[chunk.member.id] = max(high_water[chunk.member.id], chunk.before + chunk.tokens)
        if moment.end == moment.start:
            bins[min(int(moment.start // bin_width_s), num_bins - 1)] += sums
        for k, share in shares(moment, bin_width_s):
            bins[k] += share * sums

    return simulate(case, family, observe=add, max_steps=max_steps), bins


def rows_of(moment: Moment, scheduler: Scheduler, high_water: dict[int, int]) -> Iterator[Row]:
    """Everything one stretch of time adds."""
    duration = moment.end - moment.start
    host_blocks = sum(scheduler.blocks(member.host) for member in scheduler.members)
    yield Bin.RUNNING, len(scheduler.running) * duration
    yield Bin.WAITING, len(scheduler.waiting) * duration
    yield Bin.PREEMPTIONS, len(moment.preempted)
    yield Bin.HOST_BLOCKS, host_blocks * duration
    for row, blocks in memory_rows(moment, scheduler):
        yield row, blocks * duration
    yield from time_rows(moment, scheduler, high_water)


def memory_rows(moment: Moment, scheduler: Scheduler) -> Iterator[Row]:
    """The row of every single block, or of the parts of it."""
    block = scheduler.case.block
    done = {chunk.member for chunk in scheduler.padding()}
    for member in scheduler.holding():
        if member in done:
            yield Bin.FINISHED_HELD, scheduler.held(member)
            continue
        for at in range(0, member.computed, block):
            tokens = min(block, member.computed - at)
            yield Bin.HELD_STRAGGLER if member.is_straggler else Bin.HELD_TYPICAL, tokens / block
            yield Bin.FRAGMENTATION, (block - tokens) / block
        yield Bin.RESERVED_UNUSED, scheduler.held(member) - scheduler.blocks(member.computed)
    yield row_of_free_blocks(moment, scheduler), scheduler.free()


def row_of_free_blocks(moment: Moment, scheduler: Scheduler) -> Bin:
    """Why free blocks are not in use: the first reason of 8.1 that applies."""
    if not scheduler.waiting:
        return Bin.FREE_NO_DEMAND
    if not moment.is_iteration:
        return Bin.WITHHELD_WAIT
    if isinstance(scheduler, batches.SeqSched | batches.S3Three) and scheduler.running:
        return Bin.WITHHELD_BATCH
    if not scheduler.was_open:
        return Bin.WITHHELD_WAIT
    head, free = next_up(scheduler), scheduler.free()
    physical = first_need(head, scheduler)
    if moment.preempted or physical > free:
        of_stragglers = sum(scheduler.blocks(each.computed) for each in scheduler.holding() if each.is_straggler)
        would_fit = physical <= free + of_stragglers
        return Bin.WITHHELD_MEMORY_STRAGGLER if would_fit else Bin.WITHHELD_MEMORY_OTHER
    return Bin.WITHHELD_MARGIN if asks_for_more(head, scheduler) else Bin.WITHHELD_CAP


def next_up(scheduler: Scheduler) -> Member:
    """The request that the order would serve next; where the rule may skip, the one with the smallest need."""
    if isinstance(scheduler, Ranked):
        return next(member for member in scheduler.live if member in scheduler.waiting)
    if isinstance(scheduler, aware.S3):
        return min(served.by_arrival(scheduler.waiting), key=scheduler.need)
    if isinstance(scheduler, aware.Ordered):
        return scheduler.next()
    if isinstance(scheduler, aware.FuturePeak):
        return scheduler.order()[0]
    if isinstance(scheduler, served.VllmV0):
        return (scheduler.swapped() or scheduler.queue())[0]
    return served.by_arrival(scheduler.waiting)[0]


def first_need(member: Member, scheduler: Scheduler) -> int:
    """Blocks that the request's next iteration would newly take if the pool were the only limit."""
    tokens = member.left
    if isinstance(scheduler, CHUNKED) or (isinstance(scheduler, Ranked) and scheduler.is_chunked):
        tokens = min(tokens, scheduler.case.budget)
    if member.computed:  # displaced, but still in memory
        return scheduler.growth(member, tokens)
    return scheduler.blocks(member.host + tokens)


def asks_for_more(member: Member, scheduler: Scheduler) -> bool:
    """Whether the scheduler's own test of admission would refuse a request that fits."""
    if isinstance(scheduler, Ranked):
        return False
    if isinstance(scheduler, aware.FuturePeak):
        return not scheduler.fits(member)
    if isinstance(scheduler, served.Orca | aware.Quantile | aware.S3):
        return scheduler.need(member) > scheduler.free()
    return scheduler.blocks(member.known) + scheduler.watermark() > scheduler.free()


def time_rows(moment: Moment, scheduler: Scheduler, high_water: dict[int, int]) -> Iterator[Row]:
    """The row of every second of a stretch: the fixed part, and each token's share of the rest."""
    duration, step_time = moment.end - moment.start, scheduler.case.step_time
    yield Bin.SWAP, moment.swap_s
    yield Bin.PREDICTOR, moment.predictor_s
    held = scheduler.padding() if moment.chunks else []
    num_tokens = sum(chunk.tokens for chunk in moment.chunks) + len(held)
    if num_tokens == 0:
        yield Bin.STALLED if scheduler.waiting else Bin.IDLE, duration - moment.swap_s - moment.predictor_s
        return
    fixed = linear_time(0, step_time)
    share = (linear_time(num_tokens, step_time) - fixed) / num_tokens
    yield Bin.FIXED, fixed
    for chunk in held:
        yield Bin.KV_READ, chunk.before
        yield Bin.PADDING, share + step_time.kv_s * chunk.before
    for chunk in moment.chunks:
        member, end = chunk.member, chunk.before + chunk.tokens
        if end == member.known and member.generated == member.delivered:
            yield Bin.OUTPUT_TOKENS, 1
            yield Bin.PRODUCING, duration
        kv_read = end if chunk.is_decode else chunk.before
        work = 0.0 if chunk.is_decode else chunk.tokens * chunk.before + chunk.tokens**2 / 2
        seconds = share + (step_time.kv_s * kv_read + step_time.attention_s * work) / chunk.tokens
        yield Bin.KV_READ, kv_read
        yield Bin.DECODE_TOKENS if chunk.is_decode else Bin.PREFILL_TOKENS, chunk.tokens
        yield from token_rows(chunk, seconds, high_water[member.id])


def token_rows(chunk: Chunk, seconds: float, high_water: int) -> Iterator[Row]:
    """The tokens of a chunk one by one: new ones, and ones that had been computed before."""
    for position in range(chunk.before, chunk.before + chunk.tokens):
        if position < high_water:
            yield Bin.RECOMPUTED_TOKENS, 1
            yield Bin.RECOMPUTE, seconds
        else:
            yield Bin.DECODE if chunk.is_decode else Bin.PREFILL, seconds
