"""Where the memory and the time went: two accounts that balance exactly, for a run and for each of its bins.

Memory is in block-seconds, time in seconds; they are never added to each other. Every row comes from a counter of
its own, none as a remainder, so that the balance is a test of the engine. Source: metrics.md, section 8.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.engine.accounts import MEMORY_ROWS, TIME_ROWS, Bin

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


class Path(NamedTuple):
    """One of the ways in which unknown lengths cost a server: the rows of both ledgers that show it."""

    memory: tuple[Bin, ...]
    time: tuple[Bin, ...]


PATHS = {
    "early_completion": Path(
        (Bin.FREE_NO_DEMAND, Bin.CACHED_PREFIX, Bin.WITHHELD_BATCH, Bin.FINISHED_HELD), (Bin.IDLE, Bin.PADDING)
    ),
    "straggler_occupancy": Path((Bin.HELD_STRAGGLER, Bin.WITHHELD_MEMORY_STRAGGLER), ()),
    "conservative_batch": Path((Bin.RESERVED_UNUSED, Bin.WITHHELD_MARGIN, Bin.WITHHELD_CAP), ()),
    "price_of_reacting": Path((), (Bin.RECOMPUTE, Bin.SWAP)),
}


class Ledger(NamedTuple):
    """Both accounts of a run, bin by bin."""

    bins: Floats  # (k, NUM_COLUMNS), see sim.engine.accounts.Bin
    bin_width_s: float  # of every bin but the last, which may be shorter
    usable_blocks: int
    duration_s: float
    stages: int = 1  # of a pipeline; each has its own time

    @property
    def stages_x_duration_s(self) -> float:
        """What the time rows add up to."""
        return self.stages * self.duration_s

    def bin_durations_s(self) -> Floats:
        """Length of each bin, (k,) seconds."""
        starts = np.arange(len(self.bins)) * self.bin_width_s
        durations: Floats = np.minimum(self.duration_s - starts, self.bin_width_s)
        return durations

    def memory_block_s(self) -> dict[str, float]:
        """Rows of the memory ledger over the run, in block-seconds; they sum to blocks x duration."""
        return self._totals(MEMORY_ROWS)

    def time_s(self) -> dict[str, float]:
        """Rows of the time ledger over the run, in seconds; they sum to duration x stages of a pipeline."""
        return self._totals(TIME_ROWS)

    def memory_share(self, *rows: Bin) -> float:
        """Share of blocks x duration that went to these rows, 0 to 1. NaN for a run without duration."""
        return self._share(rows, self.usable_blocks * self.duration_s)

    def time_share(self, *rows: Bin) -> float:
        """Share of the time of all stages that went to these rows, 0 to 1. NaN for a run without duration."""
        return self._share(rows, self.stages_x_duration_s)

    def paths_percent(self) -> dict[str, dict[str, float | None]]:
        """What each path took: percent of blocks x duration and percent of duration, never one number.

        None where a path has no row in that ledger.
        """
        return {
            name: {
                "memory_percent": 100.0 * self.memory_share(*path.memory) if path.memory else None,
                "time_percent": 100.0 * self.time_share(*path.time) if path.time else None,
            }
            for name, path in PATHS.items()
        }

    def imbalance(self) -> tuple[float, float]:
        """How far the rows of the run are from their sums, memory and time, relative to those sums."""
        memory, time = self.bins[:, MEMORY_ROWS].sum(), self.bins[:, TIME_ROWS].sum()
        return _gap(memory, self.usable_blocks * self.duration_s), _gap(time, self.stages_x_duration_s)

    def largest_bin_imbalance(self) -> tuple[float, float]:
        """Largest imbalance of any bin, memory and time, relative to a full bin."""
        width = self.bin_durations_s()
        memory = self.bins[:, MEMORY_ROWS].sum(axis=1) - self.usable_blocks * width
        time = self.bins[:, TIME_ROWS].sum(axis=1) - self.stages * width
        scale = max(float(width.max(initial=0.0)), np.finfo(float).tiny)
        return (
            float(np.abs(memory).max(initial=0.0)) / (self.usable_blocks * scale),
            float(np.abs(time).max(initial=0.0)) / (self.stages * scale),
        )

    def memory_frame(self) -> "pd.DataFrame":
        """Memory ledger, one row a ledger row: `block_s` and `share` of blocks x duration."""
        return self._frame(self.memory_block_s(), "block_s", self.usable_blocks * self.duration_s)

    def time_frame(self) -> "pd.DataFrame":
        """Time ledger, one row a ledger row: `time_s` and `share` of the time of all stages."""
        return self._frame(self.time_s(), "time_s", self.stages_x_duration_s)

    def memory_over_time(self) -> "pd.DataFrame":
        """Blocks by ledger row, averaged over each bin; index: start of the bin in seconds."""
        return self._over_time(MEMORY_ROWS)

    def time_over_time(self) -> "pd.DataFrame":
        """Share of each bin by ledger row; index: start of the bin in seconds."""
        return self._over_time(TIME_ROWS) / self.stages

    def _totals(self, rows: tuple[Bin, ...]) -> dict[str, float]:
        totals = self.bins.sum(axis=0)
        return {row.name.lower(): float(totals[row]) for row in rows}

    def _share(self, rows: tuple[Bin, ...], whole: float) -> float:
        return float(self.bins[:, rows].sum()) / whole if whole > 0 else np.nan

    def _frame(self, totals: dict[str, float], unit: str, whole: float) -> "pd.DataFrame":
        import pandas as pd

        frame = pd.DataFrame({unit: pd.Series(totals, dtype=np.float64)}).rename_axis("row")
        frame["share"] = frame[unit] / whole if whole > 0 else np.nan
        return frame

    def _over_time(self, rows: tuple[Bin, ...]) -> "pd.DataFrame":
        import pandas as pd

        width = self.bin_durations_s()
        start = pd.Index(np.arange(len(self.bins)) * self.bin_width_s, name="start_s")
        rates = self.bins[:, rows] / np.where(width > 0, width, np.nan)[:, None]
        return pd.DataFrame(rates, index=start, columns=[row.name.lower() for row in rows])


def _gap(total: float, whole: float) -> float:
    """Relative difference; absolute where nothing is to be shared out."""
    return abs(float(total) - whole) / (whole if whole > 0 else 1.0)
