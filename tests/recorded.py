"""Goldens for tests to alter: read afresh, replayed by a naive simulator, and what was found amiss."""

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sim.golden import GoldenError, Replay, replay, write_table

Golden = dict[str, Any]


@cache
def text_of(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


class Recorded(NamedTuple):
    """The goldens in a folder, and what replays them."""

    folder: Path
    run: Callable[..., Any]

    def golden(self, name: str) -> Golden:
        """One of them, to be altered."""
        return dict(json.loads(text_of(self.folder / f"{name}.json.gz")))

    def replayed(self, table: Golden, out: Path) -> Replay:
        """A golden written to a folder and replayed from there."""
        write_table(out / "table.json", table)
        return replay(out / "table.json", self.run)

    def difference(self, table: Golden, out: Path) -> str:
        """Where a replay differs; there is one that does."""
        found = self.replayed(table, out).difference
        assert found is not None
        return found

    def refused(self, table: Golden, out: Path) -> str:
        """Why a golden is refused."""
        with pytest.raises(GoldenError) as caught:
            self.replayed(table, out)
        return str(caught.value)
