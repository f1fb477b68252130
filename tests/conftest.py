"""Shared by all tests."""

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from sim.engine import MEMORY_ROWS, TIME_ROWS, Run

# The first example may compile kernels, so no example has a deadline. In CI the examples are the same every time.
settings.register_profile("longtail", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("longtail")

ENGINES: dict[str, Callable[[Any], int]] = {  # what collects their runs, and the blocks that a run has
    "sim.engine.run": lambda rules: rules.usable_blocks,
    "sim.engine.pipeline.run": lambda rules: rules.usable_blocks,
    "sim.engine.general.run": lambda rules: rules.usable_blocks,
    "sim.engine.sglang.run": lambda rules: rules.pool_tokens // rules.page_size,
}


BROWSER = Path(__file__).parent / "browser"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Tests of a file run one after the other, as they share fixtures; all browser tests do, as they share a server."""
    is_browser = BROWSER in item.path.parents
    item.add_marker(pytest.mark.xdist_group("browser" if is_browser else str(item.path)))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels once; processes and servers of the tests find them in the cache."""
    if not hasattr(session.config, "workerinput") and not session.config.option.collectonly:
        from sim.systems.warm_up import warm_up_all

        warm_up_all()


@pytest.fixture(autouse=True, scope="session")
def every_ledger_balances() -> Iterator[None]:
    """Whatever a test is about: the rows of both ledgers of every run add up to its memory and its time."""
    with pytest.MonkeyPatch.context() as patch:
        for name, num_blocks in ENGINES.items():
            engine = import_module(name)
            patch.setattr(engine, "run_of", balanced(engine.run_of, num_blocks))
        yield


def balanced(collect: Callable[..., Run], num_blocks: Callable[[Any], int]) -> Callable[..., Run]:
    """What collects a run, with both balances checked."""

    def checked(rules: Any, *state: Any) -> Run:
        run = collect(rules, *state)
        total = run.bins.sum(axis=0)
        stages = getattr(rules, "stages", 1)
        for rows, size in ((MEMORY_ROWS, num_blocks(rules)), (TIME_ROWS, stages)):
            whole = size * run.duration_s
            assert abs(total[list(rows)].sum() - whole) <= 1e-9 * whole, [(row.name, total[row]) for row in rows]
        return run

    return checked


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    """A scenario file that says nothing but its version: everything else is a default."""
    path = tmp_path / "plain.json"
    path.write_text('{"version": 1, "about": {"title": "A plain chat"}}')
    return str(path)


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "trace.csv"
    rows = [f"{0.5 * i},{100 + i},{10 + i}" for i in range(12)]
    path.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *rows]) + "\n")
    return str(path)
