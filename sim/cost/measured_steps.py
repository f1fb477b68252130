"""Measured step times: one table of many deployments, as `step_times.csv` holds them."""

import csv
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.errors import DataError, ScenarioError
from sim.system_spec import Deployment

Floats = NDArray[np.float64]

POWER_CAPPED = "-powercap"  # a GPU of the catalogue below its full power: coefficients of its own
DTYPES = {"fp16": "bf16"}  # same size, same peak
WHOLE_STEPS = "engine_step"  # measured in an engine, host and all; the others are sums of kernels
OPERATOR_TABLES = "sum_aic_ops"  # with 8-bit weights these hold an 8-bit KV cache: its reads take half the time
NUMBERS = ("prefill_tokens", "prefill_context", "prefill_seqs", "decode_seqs", "mean_kv_len", "step_ms")
NAMES = ("gpu", "model", "tp", "dtype", "derivation")


class MeasuredSteps(NamedTuple):
    """Steps of one deployment; arrays have one row a step."""

    derivation: str  # how the times came about
    gpu: str  # as the table names it
    deployment: Deployment
    tokens: Floats  # prefill and decode
    kv_tokens: Floats  # read: KV lengths of decoding sequences, and what lies before each chunk
    work: Floats  # of prefill attention, q * context + q * q / 2
    prefill_tokens: Floats
    decode_seqs: Floats
    step_ms: Floats

    @property
    def name(self) -> str:
        """The deployment in words."""
        each = self.deployment
        return f"{each.model} {each.weight_dtype} on {each.tensor_parallel_size} x {self.gpu}"


def read_measured_steps(path: Path) -> tuple[list[MeasuredSteps], dict[str, int]]:
    """All deployments of a table, and why how many rows were left out.

    Raises
    ------
    DataError
        A column is missing or a cell is no number; the sentence names the line.
    """
    rows: dict[tuple[str, ...], list[list[float]]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if missing := [name for name in (*NAMES, *NUMBERS) if name not in (reader.fieldnames or ())]:
            raise DataError(f"{path.name} has no column {missing[0]}; step times need {', '.join(NAMES + NUMBERS)}")
        for row in reader:
            rows[tuple(row[name] for name in NAMES)].append(_numbers(row, path.name, reader.line_num))
    measured, left_out = [], Counter[str]()
    for names, numbers in rows.items():
        try:
            measured.append(_measured(names, np.array(numbers).T))
        except (ScenarioError, ValueError) as error:
            left_out[str(error)] += len(numbers)
    return measured, dict(left_out)


def _numbers(row: dict[str, str], file: str, line: int) -> list[float]:
    try:
        return [float(row[name] or 0) for name in NUMBERS]
    except ValueError as error:
        raise DataError(f"{file}, line {line}: {error}") from None


def _measured(names: tuple[str, ...], columns: Floats) -> MeasuredSteps:
    gpu, model, gpus, dtype, derivation = names
    prefill, context, chunks, decodes, kv_len, step_ms = columns
    chunk = np.divide(prefill, chunks, out=np.zeros_like(prefill), where=chunks > 0)
    values: dict[str, Any] = {
        "model": model,
        "gpu": gpu.removesuffix(POWER_CAPPED),
        "tensor_parallel_size": int(float(gpus)),
        "weight_dtype": DTYPES.get(dtype, dtype),
        "kv_cache_dtype": "fp8" if derivation == OPERATOR_TABLES and dtype.startswith("fp8") else "auto",
    }
    return MeasuredSteps(
        derivation=derivation,
        gpu=gpu,
        deployment=Deployment(**values),
        tokens=prefill + decodes,
        kv_tokens=decodes * kv_len + chunks * context,
        work=chunks * (chunk * context + chunk**2 / 2),
        prefill_tokens=prefill,
        decode_seqs=decodes,
        step_ms=step_ms,
    )
