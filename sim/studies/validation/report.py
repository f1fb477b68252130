"""The whole validation: every part whose files are there, the targets, and how it was made."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sim.errors import DataError
from sim.studies.validation.figures import Row
from sim.studies.validation.folder import found
from sim.studies.validation.goldens import goldens
from sim.studies.validation.peers import peers
from sim.studies.validation.server_runs import server_runs
from sim.studies.validation.serving import serving
from sim.studies.validation.step_times import step_times
from sim.studies.validation.targets import targets
from sim.summary import versions

# Name in the report, file or folder, and its share of the time.
PARTS = {
    "goldens": ("goldens", 0.25),
    "step_times": ("step_times.csv", 0.02),
    "vllm_runs": ("vllm_runs", 0.02),
    "serving_benchmarks": ("serving_benchmarks.csv", 0.69),
    "peers": ("peers", 0.02),
}
DIGITS = 5  # significant, of every number in the report
NOT_MODELLED = (
    "speculative decoding",
    "LoRA adapters",
    "multimodal input",
    "KV cache offloaded to the host or to other servers",
    "prefill and decode on separate servers",
    "time in the client, the network and the tokeniser",
    "decode attention that is slower in a step that also prefills",
    "host time that grows with the number of sequences",
    "expert parallelism, and attention in data parallel",
)


def validate(data: Path, on_progress: Callable[[float], None] = lambda _: None) -> Row:
    """Compare the simulator with whatever is found.

    Parameters
    ----------
    data : Path
        Folder with any of `goldens/`, `step_times.csv`, `vllm_runs/`, `serving_benchmarks.csv`, `peers/`, directly or
        under `data/`.
    on_progress : callable
        Called with the share of the work done, 0 to 1.

    Returns
    -------
    dict
        `date`, `command`, `versions`, `duration_s`, `targets`, `not_modelled`, and `parts` with one entry for each
        kind of file that was found.

    Raises
    ------
    DataError
        Nothing was found, or a file cannot be read.
    """
    started = time.perf_counter()
    places = {name: place for name, (file, _) in PARTS.items() if (place := found(data, file))}
    if not places:
        known = ", ".join(file for file, _ in PARTS.values())
        raise DataError(f"{data} holds nothing to compare with; any of {known} is needed, there or under data/")
    benchmarks = places.get("serving_benchmarks")
    run: dict[str, Callable[[Path, Callable[[float], None]], Row]] = {
        "goldens": goldens,
        "step_times": lambda path, _: step_times(path),
        "vllm_runs": lambda path, _: server_runs(path, benchmarks),
        "serving_benchmarks": serving,
        "peers": lambda path, _: peers(path),
    }
    total, before, parts = sum(PARTS[name][1] for name in places), 0.0, {}
    for name, place in places.items():
        share = PARTS[name][1] / total
        parts[name] = run[name](place, _part_of(on_progress, before, share))
        before += share
        on_progress(before)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "command": f"longtail validate --data {data}",
        "versions": versions(),
        "duration_s": time.perf_counter() - started,
        "targets": targets(parts),
        "not_modelled": list(NOT_MODELLED),
        "parts": parts,
    }


def _part_of(on_progress: Callable[[float], None], before: float, share: float) -> Callable[[float], None]:
    return lambda done: on_progress(before + share * done)


def as_json(report: Row) -> str:
    """The report as a text, numbers to a few digits."""
    return json.dumps(_rounded(report), separators=(",", ":")) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    if isinstance(value, float):
        return None if value != value else float(f"{value:.{DIGITS}g}")
    return value
