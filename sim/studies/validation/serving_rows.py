"""Rows of published serving benchmarks as deployments and measured points, or why a row cannot be used.

What a row does not say comes from how its benchmark was run:

InferenceMAX. Its scripts (repository SemiAnalysisAI/InferenceX, folder benchmarks) send ten requests for each user,
lengths uniform from the given share of the nominal to the nominal. Prefix caching is off, scheduling asynchronous, the
budget 8,192 tokens, the KV cache 8-bit with 8-bit and 4-bit weights. On H100 the published queueing (time to first
token of 30 to 60 s on two GPUs) is that of a 16-bit cache, so that is what is simulated there. Its one latency is a
mean: it holds the wait of each user's first request, which a median would not.
"""

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sim import Scenario
from sim.arrivals_spec import ClosedLoop
from sim.catalog import gpu_names, model, model_names
from sim.cost.host import host_ms_of
from sim.cost.measured_point import MeasuredPoint
from sim.errors import DataError, ScenarioError
from sim.lengths_spec import Constant, Lengths, Uniform
from sim.studies.validation.folder import catalogue_name
from sim.studies.validation.implausible import implausible

INFERENCEMAX = "inferencemax"
BUDGET, SEATS = 8192, 1024  # of InferenceMAX's servers; everybody else's are unknown and taken to be alike
SIXTEEN_BIT_CACHE = ("H100-SXM",)
NARROW = ("fp8", "fp8_block", "fp4")
DTYPES = {"fp16": "bf16"}
GPUS = (1, 2, 4, 8, 16)
COLUMNS = ("source", "engine", "gpu", "model", "tp", "attn_dp", "moe_ep", "dtype", "mode", "concurrency", "isl_mean",
           "osl_mean", "len_dist", "ttft_mean_ms", "ttft_p50_ms", "tpot_mean_ms", "tpot_p50_ms", "output_tok_s",
           "quality")  # fmt: skip


class Served(NamedTuple):
    """One engine on one deployment, as one source measured it."""

    source: str
    engine: str
    base: Scenario

    @property
    def name(self) -> str:
        """In words."""
        each = self.base.deployment
        return f"{self.engine}, {each.model} {each.weight_dtype} on {each.tensor_parallel_size} x {each.gpu}"


class Points(NamedTuple):
    """Measured points of one server, and output tokens per second where a row has them."""

    points: list[MeasuredPoint]
    output_tokens_per_s: list[float | None]


def read_serving(path: Path) -> tuple[dict[Served, Points], dict[str, int]]:
    """All rows that can be simulated, by server, and why how many were left out.

    Raises
    ------
    DataError
        A column is missing or a cell is no number; the sentence names the line.
    """
    servers: dict[Served, Points] = defaultdict(lambda: Points([], []))
    left_out = Counter[str]()
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
            raise DataError(f"{path.name} has no column {missing[0]}; serving benchmarks need {', '.join(COLUMNS)}")
        for row in reader:
            try:
                if reason := unusable(row):
                    left_out[reason] += 1
                    continue
                points = servers[_served(row)]
                points.points.append(_point(row))
                points.output_tokens_per_s.append(_number(row, "output_tok_s"))
            except ScenarioError as error:
                left_out[str(error)] += 1
            except ValueError as error:
                raise DataError(f"{path.name}, line {reader.line_num}: {error}") from None
    usable = {served: _plausible(served, points, left_out) for served, points in servers.items()}
    return {served: points for served, points in usable.items() if points.points}, dict(left_out)


def _plausible(served: Served, points: Points, left_out: Counter[str]) -> Points:
    """The points of a server without those that contradict themselves, which are counted."""
    reasons = implausible(served.base, points.points, BUDGET)
    left_out.update(reason for reason in reasons if reason)
    kept = [i for i, reason in enumerate(reasons) if reason is None]
    return Points([points.points[i] for i in kept], [points.output_tokens_per_s[i] for i in kept])


def unusable(row: Mapping[str, str]) -> str | None:
    """Why a row cannot be simulated, if so."""
    shape = catalogue_name(row["model"], model_names())
    checks = {
        f"marked {row['quality']}": row["quality"] != "ok",
        "an experiment, by its authors": row.get("note", "").startswith("experimental"),
        f"mode {row['mode']}: no load at a fixed concurrency": row["mode"] != "closed_loop",
        f"engine {row['engine']}: no such scheduler": row["engine"] not in ("vllm", "sglang", "trtllm"),
        f"model {row['model']} is not in the catalogue": shape is None,
        f"GPU {row['gpu']} is not in the catalogue": row["gpu"] not in gpu_names(),
        "no data type of the weights given": not row["dtype"],
        "attention in data parallel": (_number(row, "attn_dp") or 1) > 1,
        "more GPUs than one server of the catalogue": (_number(row, "tp") or 1) not in GPUS,
        "no TPOT": not (_number(row, "tpot_mean_ms") or _number(row, "tpot_p50_ms")),
        "no lengths or no concurrency": not all(_number(row, name) for name in ("isl_mean", "osl_mean", "concurrency")),
    }
    return next((reason for reason, holds in checks.items() if holds), None)


def _number(row: Mapping[str, str], name: str) -> float | None:
    return float(row[name]) if row[name] else None


def _served(row: Mapping[str, str]) -> Served:
    shape = catalogue_name(row["model"], model_names())
    dtype = DTYPES.get(row["dtype"], row["dtype"])
    if dtype == "fp8" and shape is not None and model(shape).dtype == "fp8":
        dtype = "auto"  # as published, which may be block-scaled
    narrow = dtype in NARROW or dtype == "auto"
    is_narrow = INFERENCEMAX in row["source"] and narrow and row["gpu"] not in SIXTEEN_BIT_CACHE
    values: dict[str, Any] = {
        "deployment": {
            "model": shape,
            "gpu": row["gpu"],
            "tensor_parallel_size": int(_number(row, "tp") or 1),
            "weight_dtype": dtype,
            "kv_cache_dtype": "fp8" if is_narrow else "auto",
        },
        "scheduler": {
            "max_num_batched_tokens": BUDGET,
            "max_num_seqs": SEATS,
            "enable_prefix_caching": False,
            "async_scheduling": INFERENCEMAX in row["source"],
        },
        "cost": {"host_ms": host_ms_of(row["engine"])},
    }
    return Served(row["source"], row["engine"], Scenario(**values))


def _point(row: Mapping[str, str]) -> MeasuredPoint:
    users = int(_number(row, "concurrency") or 1)
    prompt, output = (_lengths(int(_number(row, name) or 1), row["len_dist"]) for name in ("isl_mean", "osl_mean"))
    is_mean = INFERENCEMAX in row["source"] or bool(row["tpot_mean_ms"])
    tpot_ms = _number(row, "tpot_mean_ms") or _number(row, "tpot_p50_ms")
    return MeasuredPoint(
        arrivals=ClosedLoop(concurrency=users),
        prompt=prompt,
        output=output,
        prompt_tokens=_mean(prompt),
        output_tokens=_mean(output),
        tpot_ms=tpot_ms or 0.0,
        ttft_ms=_number(row, "ttft_mean_ms") or _number(row, "ttft_p50_ms"),
        statistic="mean" if is_mean else "p50",
        num_requests=10 * users if INFERENCEMAX in row["source"] else None,
    )


def _lengths(nominal: int, distribution: str) -> Lengths:
    """All nominal, or spread over a range that the row names, such as `range ratio 0.8-1.0`."""
    ratios = re.search(r"range ratio ([\d.]+)-([\d.]+)", distribution)
    if ratios is None:
        return Constant(tokens=nominal)
    return Uniform(low=max(1, int(float(ratios[1]) * nominal)), high=max(1, int(float(ratios[2]) * nominal)))


def _mean(lengths: Lengths) -> float:
    return (lengths.low + lengths.high) / 2 if isinstance(lengths, Uniform) else float(getattr(lengths, "tokens", 0))
