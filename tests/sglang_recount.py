"""Both ledgers of an SGLang run counted node by node and token by token, from the naive simulator.

No counter of the engine is read. Source: metrics.md, section 8.
"""

import math
from collections.abc import Iterator

import numpy as np

from sim.engine.accounts import NUM_COLUMNS, Bin
from sim.engine.inputs import StepTime
from sim.engine.sglang.inputs import SglangRules
from sim.golden.sglang_run import SglangRequests
from tests.ledger_recount import Row, chunk_rows, shares
from tests.naive.sglang_state import Member
from tests.naive.sglang_timed import Flight, Moment, simulate
from tests.naive.sglang_tree import Node, Tree
from tests.naive.synchronous import linear_time


def recount(
    rules: SglangRules,
    asked: SglangRequests,
    step_time: StepTime,
    *,
    bin_width_s: float,
    num_bins: int,
    until_s: float = math.inf,
) -> np.ndarray:
    """Time bins of a run, shape (num_bins, number of columns), as `engine.Run.bins` should be."""
    bins = np.zeros((num_bins, NUM_COLUMNS))

    def add(moment: Moment) -> None:
        sums = np.zeros(NUM_COLUMNS)
        for row, amount in rows_of(moment, step_time):
            sums[row] += amount
        for k, share in shares(moment, bin_width_s):  # type: ignore[arg-type]
            bins[k] += share * sums

    simulate(rules, asked, step_time, until=until_s, observe=add)
    return bins


def rows_of(moment: Moment, step_time: StepTime) -> Iterator[Row]:
    """Everything one stretch of time adds."""
    duration = moment.end - moment.start
    waiting = len(moment.scheduler.queue)
    yield Bin.RUNNING, moment.running * duration
    yield Bin.WAITING, waiting * duration
    page = moment.scheduler.rules.page_size
    for row, tokens in memory_rows(moment):
        yield row, tokens / page * duration
    if moment.flight is None:
        yield Bin.STALLED if waiting else Bin.IDLE, duration
    else:
        yield Bin.PREEMPTIONS, len(moment.flight.call.preempted)
        yield from time_rows(moment.flight, duration, step_time)


def memory_rows(moment: Moment) -> Iterator[Row]:
    """The row of every token of the pool."""
    memory = moment.scheduler.memory
    empty_row, cached_row = rows_of_free_pages(moment)
    lockers = who_locks(moment.members)
    for node in nodes_of(memory.tree):
        owners = lockers.get(node, [])
        held_row = Bin.HELD_STRAGGLER if all(owner.is_straggler for owner in owners) else Bin.HELD_TYPICAL
        yield held_row if owners else cached_row, len(node.key)
    for member in moment.members:
        tail = member.committed - member.protected if member.committed else 0
        yield Bin.HELD_STRAGGLER if member.is_straggler else Bin.HELD_TYPICAL, tail
        yield Bin.FRAGMENTATION, memory.pages(member.committed) - member.committed
    yield empty_row, memory.free


def nodes_of(tree: Tree) -> list[Node]:
    found = [tree.root]
    for node in found:
        found += node.children.values()
    return found[1:]


def who_locks(members: list[Member]) -> dict[Node, list[Member]]:
    """For each node the requests whose locked path it lies on."""
    lockers: dict[Node, list[Member]] = {}
    for member in members:
        node = member.lock
        while node is not None and node.parent is not None:
            lockers.setdefault(node, []).append(member)
            node = node.parent
    return lockers


def rows_of_free_pages(moment: Moment) -> tuple[Bin, Bin]:
    """Why empty pages are not in use, and why cached ones are not."""
    if not moment.scheduler.queue:
        return Bin.FREE_NO_DEMAND, Bin.CACHED_PREFIX
    row = row_withheld(moment)
    return row, row


def row_withheld(moment: Moment) -> Bin:
    """What keeps the head of the queue from the free pages."""
    scheduler = moment.scheduler
    rules, memory, head = scheduler.rules, scheduler.memory, scheduler.queue[0]
    free = memory.free_or_evictable()
    matched, idle = cached_beginning(memory.tree, head.text[: head.known - 1] if rules.radix_cache else [])
    length = head.known - matched
    end = head.known
    if rules.chunked_prefill_size and memory.pages(length) > rules.chunked_prefill_size:
        end = matched + rules.chunked_prefill_size // rules.page_size * rules.page_size
        end = end // rules.page_size * rules.page_size
    physical = memory.pages(end) - matched + idle
    if scheduler.retracted or physical > free:
        return Bin.WITHHELD_MEMORY_STRAGGLER if physical <= free + of_stragglers(moment) else Bin.WITHHELD_MEMORY_OTHER
    most_new = min(max(head.max_new - head.emitted, 0), rules.clip_max_new_tokens)
    wanted = length + most_new + rules.page_size + idle
    return Bin.WITHHELD_MARGIN if wanted + reserve(moment) >= free else Bin.WITHHELD_CAP


def cached_beginning(tree: Tree, text: list[int]) -> tuple[int, int]:
    """Tokens of the longest cached beginning in whole pages, and those of them that nothing locks."""
    matched, idle, node = 0, 0, tree.root
    while child := node.children.get(tuple(text[matched : matched + tree.page_size])):
        common = 0
        while common < len(child.key) and matched + common < len(text) and child.key[common] == text[matched + common]:
            common += 1
        common -= common % tree.page_size
        matched += common
        idle += common if child.locks == 0 else 0
        if common < len(child.key):
            break
        node = child
    return matched, idle


def of_stragglers(moment: Moment) -> int:
    """Tokens of the pages that only stragglers hold."""
    memory = moment.scheduler.memory
    lockers = who_locks(moment.members)
    nodes = sum(len(node.key) for node, owners in lockers.items() if all(owner.is_straggler for owner in owners))
    stragglers = [member for member in moment.members if member.is_straggler and member.committed]
    return nodes + sum(memory.pages(member.committed) - member.protected for member in stragglers)


def reserve(moment: Moment) -> float:
    """What the next admission test sets aside: by the ratio for who decodes, in full for who is in prefill."""
    rules, newest = moment.scheduler.rules, moment.newest
    decoding = list(moment.scheduler.running.members)
    if newest is not None and newest.is_prefill:
        decoding += newest.decoding
    reserved = 0.0
    for member in decoding:
        most_new = min(member.max_new - member.emitted, rules.clip_max_new_tokens)
        reserved += most_new * (1.0 if member.ignore_eos else moment.scheduler.ratio)
    for member, _, _ in newest.prefill if newest is not None else []:
        reserved += rules.page_size
        reserved += 0 if member is newest.chunked else min(member.max_new, rules.clip_max_new_tokens)
    return reserved


def time_rows(flight: Flight, duration: float, step_time: StepTime) -> Iterator[Row]:
    """The row of every second of a step: the fixed part, and each token's share of the rest."""
    prefilled = len(flight.batch.prefill)
    num_tokens = sum(chunk.tokens for chunk in flight.call.scheduled)
    fixed = linear_time(0, step_time)
    share = (linear_time(num_tokens, step_time) - fixed) / num_tokens
    yield Bin.FIXED, fixed
    for k, member in enumerate(flight.batch.decoding):
        yield Bin.DECODE_TOKENS, 1
        yield Bin.KV_READ, flight.reads[k]
        yield Bin.PADDING if member.is_finished else Bin.DECODE, share + step_time.kv_s * flight.reads[k]
        if not member.is_finished and not member.is_retracted:
            yield Bin.OUTPUT_TOKENS, 1
            yield Bin.PRODUCING, duration
    for k, chunk in enumerate(flight.call.scheduled[:prefilled]):
        yield Bin.KV_READ, chunk.before
        work = chunk.tokens * chunk.before + chunk.tokens**2 / 2
        own = step_time.kv_s * chunk.before + step_time.attention_s * work
        yield from chunk_rows(chunk, share + own / chunk.tokens, flight.high_water[k])
        if flight.is_last_chunk[k] and not flight.batch.prefill[k][0].is_retracted:
            yield Bin.OUTPUT_TOKENS, 1
            yield Bin.PRODUCING, duration
