"""The engine and the naive simulator reproduce every recorded step of the real scheduler."""

import json
from pathlib import Path

import pytest

from sim.golden import replay
from tests import naive_tables
from tests.shared import SHARED, needs_shared

SHIPPED = sorted((Path(__file__).parent / "golden").glob("*.json.gz"))
ALL = sorted((SHARED / "goldens" / "vllm").glob("*.json.gz"))


def name_of(path: Path) -> str:
    return path.name.removesuffix(".json.gz")


@pytest.mark.parametrize("path", SHIPPED, ids=name_of)
def test_engine_reproduces_a_shipped_golden(path: Path) -> None:
    assert replay(path).difference is None


@needs_shared
@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_engine_reproduces_every_step_of_the_real_scheduler(path: Path) -> None:
    assert replay(path).difference is None


@needs_shared
@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_naive_simulator_reproduces_every_step_of_the_real_scheduler(path: Path) -> None:
    assert replay(path, naive_tables.run).difference is None


@needs_shared
def test_the_public_goldens_are_all_there() -> None:
    assert len(ALL) == 47


RELEASES = SHARED / "goldens" / "vllm_releases"


@needs_shared
def test_older_releases_depart_from_the_engine_where_they_depart_from_vllm_0_33_0() -> None:
    entries = json.loads((RELEASES / "INDEX.json").read_text())
    assert len(entries) == 35
    for entry in entries:
        difference = replay(RELEASES / entry["file"]).difference
        assert difference is not None
        assert f"(row {entry['first_row_unlike_0_33_0']})" in difference, entry["file"]
