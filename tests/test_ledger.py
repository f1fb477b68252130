"""The two ledgers: sums, shares, frames; made-up bins, so that every figure is visible."""

import math

import numpy as np
import pytest

from sim import simulate, with_values
from sim.engine.accounts import MEMORY_ROWS, NUM_COLUMNS, TIME_ROWS, Bin
from sim.ledger import PATHS, Ledger
from tests.cases import BASE, with_blocks

BLOCKS = 10


def ledger(*bins: dict[Bin, float], duration_s: float, bin_width_s: float = 2.0) -> Ledger:
    """A ledger of these bins."""
    table = np.zeros((len(bins), NUM_COLUMNS))
    for row, values in zip(table, bins, strict=True):
        for column, value in values.items():
            row[column] = value
    return Ledger(table, bin_width_s, BLOCKS, duration_s)


# Two seconds, then one: 6 of 10 blocks held, the rest without demand, then withheld.
FULL_BIN = {Bin.HELD_TYPICAL: 8.0, Bin.HELD_STRAGGLER: 4.0, Bin.FREE_NO_DEMAND: 8.0, Bin.FIXED: 0.5, Bin.DECODE: 1.5}
LAST_BIN = {Bin.HELD_TYPICAL: 6.0, Bin.WITHHELD_MARGIN: 4.0, Bin.RECOMPUTE: 1.0}
BALANCED = ledger(FULL_BIN, LAST_BIN, duration_s=3.0)


def test_rows_of_the_run_are_sums_of_its_bins() -> None:
    assert BALANCED.memory_block_s()["held_typical"] == 14.0
    assert BALANCED.time_s()["fixed"] == 0.5


def test_balanced_books_have_no_imbalance() -> None:
    assert BALANCED.imbalance() == (0.0, 0.0)
    assert BALANCED.largest_bin_imbalance() == (0.0, 0.0)


def test_missing_block_second_shows_in_the_imbalance() -> None:
    wrong = ledger(FULL_BIN, LAST_BIN | {Bin.WITHHELD_MARGIN: 3.0}, duration_s=3.0)
    assert wrong.imbalance() == (pytest.approx(1 / 30), 0.0)
    assert wrong.largest_bin_imbalance() == (pytest.approx(1 / 20), 0.0)


def test_errors_that_cancel_over_the_run_show_in_the_bins() -> None:
    shifted = ledger(FULL_BIN | {Bin.DECODE: 1.6}, LAST_BIN | {Bin.RECOMPUTE: 0.9}, duration_s=3.0)
    assert shifted.imbalance()[1] == pytest.approx(0.0, abs=1e-15)
    assert shifted.largest_bin_imbalance()[1] == pytest.approx(0.05)


def test_last_bin_may_be_shorter() -> None:
    assert BALANCED.bin_durations_s().tolist() == [2.0, 1.0]


def test_shares_are_of_blocks_times_duration_and_of_duration() -> None:
    assert BALANCED.memory_share(Bin.HELD_TYPICAL, Bin.HELD_STRAGGLER) == pytest.approx(18 / 30)
    assert BALANCED.time_share(Bin.RECOMPUTE) == pytest.approx(1 / 3)
    assert math.isnan(ledger({}, duration_s=0.0).memory_share(Bin.HELD_TYPICAL))


def test_paths_are_two_percentages_and_never_mix_memory_with_time() -> None:
    paths = BALANCED.paths_percent()
    assert paths["early_completion"] == {"memory_percent": pytest.approx(100 * 8 / 30), "time_percent": 0.0}
    assert paths["straggler_occupancy"] == {"memory_percent": pytest.approx(100 * 4 / 30), "time_percent": None}
    assert paths["conservative_batch"] == {"memory_percent": pytest.approx(100 * 4 / 30), "time_percent": None}
    assert paths["price_of_reacting"] == {"memory_percent": None, "time_percent": pytest.approx(100 / 3)}


def test_no_row_belongs_to_two_paths_or_to_the_wrong_ledger() -> None:
    memory = [row for path in PATHS.values() for row in path.memory]
    time = [row for path in PATHS.values() for row in path.time]
    assert len(set(memory)) == len(memory)
    assert set(memory) < set(MEMORY_ROWS)
    assert set(time) < set(TIME_ROWS)


def test_frames_hold_every_row_and_their_shares_add_up_to_one() -> None:
    memory, time = BALANCED.memory_frame(), BALANCED.time_frame()
    assert memory.index.tolist() == [row.name.lower() for row in MEMORY_ROWS]
    assert time.index.tolist() == [row.name.lower() for row in TIME_ROWS]
    assert memory["share"].sum() == pytest.approx(1.0)
    assert time["share"].sum() == pytest.approx(1.0)


def test_bins_over_time_are_blocks_and_shares_of_the_bin() -> None:
    memory, time = BALANCED.memory_over_time(), BALANCED.time_over_time()
    assert memory.index.tolist() == [0.0, 2.0]
    assert memory["held_typical"].tolist() == [4.0, 6.0]
    assert memory.sum(axis=1).tolist() == [BLOCKS, BLOCKS]
    assert time["recompute"].tolist() == [0.0, 1.0]
    assert time.sum(axis=1).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("system", ["vllm_v1", "static"])
@pytest.mark.parametrize("rate_rps", [0.5, 20.0])
def test_every_bin_of_a_run_balances(system: str, rate_rps: float) -> None:
    values = {
        "workload.arrivals": {"kind": "poisson", "rate_rps": rate_rps},
        "workload.num_requests": 200,
        "workload.types.0.prompt": {"kind": "uniform", "low": 1, "high": 300},
        "workload.types.0.output": {"kind": "uniform", "low": 1, "high": 200},
        "workload.types.0.cap": 200,
        "deployment.block_size": 8,
        "scheduler.system": system,
        "cost": {"source": "catalog"},
    }
    result = simulate(with_blocks(with_values(BASE, values), 150))
    assert max(result.ledger.imbalance()) < 1e-9
    assert max(result.ledger.largest_bin_imbalance()) < 1e-9
    assert result.ledger.memory_block_s()["held_straggler"] > 0
