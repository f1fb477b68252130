"""Names of everything the engine adds up: columns of the time bins, rows of both ledgers, plain counters."""

from enum import IntEnum


class Bin(IntEnum):
    """Columns of a time bin. Every one is a sum over the bin, so a run's total is the sum of its bins.

    Memory rows are in block-seconds, time rows in seconds. Source: metrics.md, section 8.
    """

    # what went on
    RUNNING = 0  # request-seconds
    WAITING = 1  # request-seconds
    PREFILL_TOKENS = 2  # processed in prefill chunks
    DECODE_TOKENS = 3  # processed one a step by members past their prompt
    OUTPUT_TOKENS = 4  # produced
    PRODUCING = 5  # request-seconds of those that produce a token in the iteration
    RECOMPUTED_TOKENS = 6
    PREEMPTIONS = 7
    # memory ledger
    HELD_TYPICAL = 8
    HELD_STRAGGLER = 9
    FRAGMENTATION = 10
    FINISHED_HELD = 11
    RESERVED_UNUSED = 12
    CACHED_PREFIX = 13
    FREE_NO_DEMAND = 14
    WITHHELD_WAIT = 15
    WITHHELD_BATCH = 16
    WITHHELD_MEMORY_STRAGGLER = 17
    WITHHELD_MEMORY_OTHER = 18
    WITHHELD_MARGIN = 19
    WITHHELD_CAP = 20
    # time ledger
    IDLE = 21
    STALLED = 22
    FIXED = 23
    PREFILL = 24
    DECODE = 25
    RECOMPUTE = 26
    PADDING = 27


NUM_COLUMNS = len(Bin)
MEMORY_ROWS = tuple(row for row in Bin if Bin.HELD_TYPICAL <= row <= Bin.WITHHELD_CAP)
TIME_ROWS = tuple(row for row in Bin if Bin.IDLE <= row <= Bin.PADDING)


class Status(IntEnum):
    """What became of a request."""

    UNFINISHED = 0  # waiting, running or not yet arrived when the run ended
    FINISHED = 1
    REJECTED = 2  # could never fit


STEPS_PER_OCTAVE = 256  # gap histogram: bins of at most 0.4 % width, so that a bin's mean is within 0.5 %
LOWEST_OCTAVE = -40  # 2 ** -40
NUM_GAP_BINS = 80 * STEPS_PER_OCTAVE
