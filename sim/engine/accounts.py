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
    KV_READ = 6  # KV tokens read: contexts of decoding and held members, and what comes before each chunk
    RECOMPUTED_TOKENS = 7
    PREEMPTIONS = 8
    # memory ledger
    HELD_TYPICAL = 9
    HELD_STRAGGLER = 10
    FRAGMENTATION = 11
    FINISHED_HELD = 12
    RESERVED_UNUSED = 13
    CACHED_PREFIX = 14
    FREE_NO_DEMAND = 15
    WITHHELD_WAIT = 16
    WITHHELD_BATCH = 17
    WITHHELD_MEMORY_STRAGGLER = 18
    WITHHELD_MEMORY_OTHER = 19
    WITHHELD_MARGIN = 20
    WITHHELD_CAP = 21
    # time ledger
    IDLE = 22
    STALLED = 23
    FIXED = 24
    PREFILL = 25
    DECODE = 26
    RECOMPUTE = 27
    PADDING = 28
    BUBBLE = 29
    SWAP = 30
    PREDICTOR = 31
    # beside the ledgers
    HOST_BLOCKS = 32  # block-seconds in host memory


NUM_COLUMNS = len(Bin)
MEMORY_ROWS = tuple(row for row in Bin if Bin.HELD_TYPICAL <= row <= Bin.WITHHELD_CAP)
TIME_ROWS = tuple(row for row in Bin if Bin.IDLE <= row <= Bin.PREDICTOR)


class Status(IntEnum):
    """What became of a request."""

    UNFINISHED = 0  # waiting, running or not yet arrived when the run ended
    FINISHED = 1
    REJECTED = 2  # could never fit
    ABORTED = 3  # the client gave up


STEPS_PER_OCTAVE = 256  # gap histogram: bins of at most 0.4 % width, so that a bin's mean is within 0.5 %
LOWEST_OCTAVE = -40  # 2 ** -40
NUM_GAP_BINS = 80 * STEPS_PER_OCTAVE
