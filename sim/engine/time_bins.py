"""A fixed number of time bins that merge in pairs when the run outgrows them.

The last row of `bins` collects what iterations add until the clock crosses a bin's border, so a quiet iteration
touches one row; an iteration that crosses a border is split by overlap.
"""

from sim.engine.accounts import NUM_COLUMNS
from sim.engine.kernel import kernel, part
from sim.engine.state import BIN, BIN_END, BIN_WIDTH, NUM_BINS

OPEN = NUM_BINS  # the collecting row


@part
def put_into_bin(share, bins, count):
    """Add a share of the collecting row to the present bin."""
    for column in range(NUM_COLUMNS):
        bins[count[BIN], column] += share * bins[OPEN, column]


@part
def empty_open_row(bins):
    """Start collecting anew."""
    for column in range(NUM_COLUMNS):
        bins[OPEN, column] = 0.0


@part
def flush(bins, count):
    """Everything collected so far lies in the present bin."""
    put_into_bin(1.0, bins, count)
    empty_open_row(bins)


@kernel
def split(start_s, end_s, bins, count, real):
    """The collecting row holds one iteration that crosses the present bin's border."""
    while end_s > NUM_BINS * real[BIN_WIDTH]:
        merge_pairs(bins, count, real)
    at = start_s
    while at < end_s:
        until = min(end_s, real[BIN_END])
        put_into_bin((until - at) / (end_s - start_s), bins, count)
        at = until
        if at < end_s:
            count[BIN] += 1
            real[BIN_END] = (count[BIN] + 1) * real[BIN_WIDTH]
    empty_open_row(bins)


@part
def merge_pairs(bins, count, real):
    """Neighbours become one bin of twice the width."""
    for pair in range(NUM_BINS // 2):
        for column in range(NUM_COLUMNS):
            bins[pair, column] = bins[2 * pair, column] + bins[2 * pair + 1, column]
    for spare in range(NUM_BINS // 2, NUM_BINS):
        for column in range(NUM_COLUMNS):
            bins[spare, column] = 0.0
    real[BIN_WIDTH] *= 2.0
    count[BIN] //= 2
    real[BIN_END] = (count[BIN] + 1) * real[BIN_WIDTH]
