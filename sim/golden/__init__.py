"""Step tables recorded from real schedulers: read one, replay its workload, compare every step."""

from sim.golden.files import GoldenError, write_table
from sim.golden.replay import Replay, replay

__all__ = ["GoldenError", "Replay", "replay", "write_table"]
