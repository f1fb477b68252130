"""Files of a real server run: its requests, its state every second, and how it was started."""

import csv
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.errors import DataError
from sim.studies.validation.figures import Floats

REQUESTS, OVER_TIME = "_requests.jsonl", "_timeseries.csv"
FIELDS = ("queued_ts", "input_toks", "output_toks", "first_token_ts", "last_token_ts")
SERIES = ("running", "waiting", "kv_cache_pct")


class Settings(NamedTuple):
    """How a server was started, as far as its benchmark says."""

    gpus: int = 1
    replicas: int = 1  # data parallel
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    weight_dtype: str = "auto"
    release: str = ""  # of vLLM; empty: not known


class Run(NamedTuple):
    """What became of each request, in order of arrival; seconds from the first arrival, NaN where it never happened."""

    arrival_s: Floats
    prompt_len: NDArray[np.int64]
    output_len: NDArray[np.int64]
    first_token_s: Floats
    finish_s: Floats

    @property
    def ttft_s(self) -> Floats:
        """Time to first token."""
        return self.first_token_s - self.arrival_s

    @property
    def e2e_s(self) -> Floats:
        """Time to last token."""
        return self.finish_s - self.arrival_s

    @property
    def tpot_s(self) -> Floats:
        """Time per token after the first; NaN for answers of one token."""
        gaps = np.where(self.output_len > 1, self.output_len - 1.0, np.nan)
        return (self.finish_s - self.first_token_s) / gaps

    @property
    def output_tokens_per_s(self) -> float:
        """Throughput from first arrival to last finish."""
        return float(self.output_len.sum()) / float(np.nanmax(self.finish_s))


def read_run(path: Path) -> Run:
    """Requests of a run, one JSON object a line.

    Raises
    ------
    DataError
        A line is no JSON or lacks a field; the sentence names the line.
    """
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            request = json.loads(line)
            rows.append([float(request[field]) for field in FIELDS])
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path.name}, line {number}: {error}") from None
    if not rows:
        raise DataError(f"{path.name} holds no request")
    queued, prompt, output, first, last = np.array(sorted(rows)).T
    start = queued[0]
    return Run(queued - start, prompt.astype(np.int64), output.astype(np.int64), first - start, last - start)


def read_series(path: Path) -> dict[str, Floats] | None:
    """State of the server by second: `t` and the columns of `SERIES`; None where there is no such file.

    Raises
    ------
    DataError
        A column is missing or a cell is no number.
    """
    if not path.exists():
        return None
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    try:
        return {name: np.array([float(row[name]) for row in rows]) for name in ("t", *SERIES)}
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(f"{path.name}: {error}") from None


def settings_of(benchmarks: Path | None, card: str, model_text: str) -> Settings:
    """Settings in the row of `serving_benchmarks.csv` with that GPU and model; defaults where there is none."""
    if benchmarks is None:
        return Settings()
    with benchmarks.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["gpu"] == card and row["model"] == model_text and row["mode"] == "open_loop":
                return _settings(row)
    return Settings()


def _settings(row: Mapping[str, str]) -> Settings:
    return Settings(
        gpus=int(float(row["tp"] or 1)),
        replicas=int(float(row["attn_dp"] or 1)),
        max_num_seqs=_noted(row["note"], "max_num_seqs"),
        max_num_batched_tokens=_noted(row["note"], "max_num_batched_tokens"),
        weight_dtype=row["dtype"] or "auto",
        release=row["engine_version"],
    )


def _noted(note: str, name: str) -> int | None:
    match = re.search(rf"{name} (\d+)", note)
    return int(match[1]) if match else None
