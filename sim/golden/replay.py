"""Replay one golden file: every format is one entry of `FORMATS`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from sim.golden import sglang, sglang_format, sglang_table, vllm, vllm_async, vllm_async_format, vllm_format
from sim.golden.compare import first_difference
from sim.golden.files import GoldenError, need_keys, read_golden, shown

Golden = dict[str, Any]
Table = dict[str, Any]


RunFunction = Callable[..., Any]


class Format(NamedTuple):
    """What it takes to replay one format of golden files.

    What a run function takes and returns is the format's own affair: see the module of its `own_table`.
    """

    check: Callable[[Golden], None]  # raises GoldenError
    own_table: Callable[[Golden, RunFunction], Table]  # the simulator's table for the golden's workload
    first_difference: Callable[[Golden, Table], str | None]
    engine_run: RunFunction


FORMATS = {
    vllm.NAME: Format(vllm_format.check, vllm.own_table, first_difference, vllm.engine_run),
    vllm_async.NAME: Format(vllm_async_format.check, vllm_async.own_table, first_difference, vllm_async.engine_run),
    sglang.NAME: Format(sglang_format.check, sglang.own_table, sglang_table.first_difference, sglang.engine_run),
}


class Replay(NamedTuple):
    """Outcome of a replay."""

    name: str  # the golden's own
    identical: bool
    steps: int  # rows of the own table
    difference: str | None
    table: Table  # the simulator's own, in the golden's format


def replay(path: Path | str, run: RunFunction | None = None) -> Replay:
    """Simulate the workload of a golden file and compare every step, every request and the totals.

    Parameters
    ----------
    path : path
        Golden file, gzip-compressed or plain JSON.
    run : function, optional
        What simulates: the engine, or whatever else takes and returns the same for this format.

    Raises
    ------
    GoldenError
        The file cannot be read, is cut short, is of an unknown format, lacks a key or a column, or asks
        for rules that the engine does not have.
        The sentence starts with the file's name.
    """
    path = Path(path)
    try:
        golden = read_golden(path)
        golden_format = _format_of(golden)
        golden_format.check(golden)
        table = golden_format.own_table(golden, run or golden_format.engine_run)
    except GoldenError as error:
        raise GoldenError(f"{path.name}: {error}") from error
    difference = golden_format.first_difference(golden, table)
    steps = table["steps"]
    num_steps = len(steps["rows"] if isinstance(steps, dict) else steps)
    return Replay(golden["name"], difference is None, num_steps, difference, table)


def _format_of(golden: Golden) -> Format:
    need_keys(golden, ("format",))
    name = golden["format"]
    if name == 1 and golden.get("engine") == "sglang":
        name = sglang.NAME
    if not isinstance(name, str) or name not in FORMATS:
        raise GoldenError(f"format is {shown(name)}; known are {', '.join(FORMATS)}")
    return FORMATS[name]
