"""The engine and the naive simulator reproduce every recorded step of the real scheduler."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sim.golden import replay, write_table
from sim.vllm_releases import GROUPS
from tests.naive import sglang_tables as naive_sglang_tables
from tests.naive import tables as naive_tables
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


ASYNC_SHIPPED = sorted((Path(__file__).parent / "golden" / "vllm_async").glob("*.json.gz"))
ASYNC = sorted((SHARED / "goldens" / "vllm_async").glob("*.json.gz"))


@pytest.mark.parametrize("path", ASYNC_SHIPPED, ids=name_of)
def test_naive_simulator_reproduces_a_shipped_golden_of_the_asynchronous_loop(path: Path) -> None:
    assert replay(path, naive_tables.run_async).difference is None


@needs_shared
@pytest.mark.parametrize("path", ASYNC, ids=name_of)
def test_naive_simulator_reproduces_every_step_of_the_asynchronous_loop(path: Path) -> None:
    assert replay(path, naive_tables.run_async).difference is None


@needs_shared
def test_the_public_goldens_of_the_asynchronous_loop_are_all_there() -> None:
    assert len(ASYNC) == 56


@pytest.mark.parametrize("path", ASYNC_SHIPPED, ids=name_of)
def test_engine_reproduces_a_shipped_golden_of_the_asynchronous_loop(path: Path) -> None:
    assert replay(path).difference is None


@needs_shared
@pytest.mark.parametrize("path", ASYNC, ids=name_of)
def test_engine_reproduces_every_step_of_the_asynchronous_loop(path: Path) -> None:
    assert replay(path).difference is None


SGLANG_SHIPPED = sorted((Path(__file__).parent / "golden" / "sglang").glob("*.json.gz"))
SGLANG = sorted((SHARED / "goldens" / "sglang").glob("*.json.gz"))


@pytest.mark.parametrize("path", SGLANG_SHIPPED, ids=name_of)
def test_naive_simulator_reproduces_a_shipped_golden_of_sglang(path: Path) -> None:
    assert replay(path, naive_sglang_tables.run).difference is None


@needs_shared
@pytest.mark.parametrize("path", SGLANG, ids=name_of)
def test_naive_simulator_reproduces_every_row_of_sglang(path: Path) -> None:
    assert replay(path, naive_sglang_tables.run).difference is None


@needs_shared
def test_the_public_goldens_of_sglang_are_all_there() -> None:
    assert len(SGLANG) == 22


@pytest.mark.parametrize("path", SGLANG_SHIPPED, ids=name_of)
def test_engine_reproduces_a_shipped_golden_of_sglang(path: Path) -> None:
    assert replay(path).difference is None


@needs_shared
@pytest.mark.parametrize("path", SGLANG, ids=name_of)
def test_engine_reproduces_every_row_of_sglang(path: Path) -> None:
    assert replay(path).difference is None


RELEASES = SHARED / "goldens" / "vllm_releases"
OLDER = json.loads((RELEASES / "INDEX.json").read_text()) if RELEASES.exists() else []
Entry = dict[str, Any]


def file_of(entry: Entry) -> str:
    return str(entry["file"]).removesuffix(".json.gz")


def made_by(release: str, path: Path, folder: Path) -> Path:
    """The golden again, as if that release had made it."""
    golden = json.loads(gzip.decompress(path.read_bytes()))
    golden["engine"]["vllm"] = release
    write_table(folder / path.name, golden)
    return folder / path.name


@needs_shared
@pytest.mark.parametrize("entry", OLDER, ids=file_of)
def test_engine_reproduces_every_step_of_an_older_release(entry: Entry) -> None:
    assert replay(RELEASES / entry["file"]).difference is None


@needs_shared
@pytest.mark.parametrize("entry", OLDER, ids=file_of)
def test_naive_simulator_reproduces_every_step_of_an_older_release(entry: Entry) -> None:
    assert replay(RELEASES / entry["file"], naive_tables.run).difference is None


@needs_shared
@pytest.mark.parametrize("entry", OLDER, ids=file_of)
def test_older_release_departs_from_vllm_0_33_0_where_it_should(entry: Entry, tmp_path: Path) -> None:
    path = made_by("0.33.0", RELEASES / entry["file"], tmp_path)
    difference = replay(path, naive_tables.run).difference
    assert difference is not None
    assert f"(row {entry['first_row_unlike_0_33_0']})" in difference


@needs_shared
@pytest.mark.parametrize("entry", OLDER, ids=file_of)
def test_next_newer_group_departs_where_the_file_shows_its_own_groups_change(entry: Entry, tmp_path: Path) -> None:
    groups = [release.group for _, release in GROUPS]
    newer = groups[groups.index(entry["release"]) - 1]
    path = made_by(newer, RELEASES / entry["file"], tmp_path)
    assert replay(path, naive_tables.run).identical != entry["unlike_next_newer_group"]


@needs_shared
def test_the_public_goldens_of_older_releases_are_all_there() -> None:
    assert len(OLDER) == len(list(RELEASES.glob("*/*.json.gz"))) == 35
