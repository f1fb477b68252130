"""The workloads and step times of other simulators, beside ours: differences between models, not errors.

`workload_*.csv` are requests, `peers_speed_and_outputs.csv` what each peer made of them, `*_step_times.csv` what a peer
takes a step of a configuration such as `llama3.1-8b_a100_tp1` to last. All workloads run on Llama-2-7B on one A100.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sim import Scenario, read_trace, simulate
from sim.catalog import gpu_names, model_names
from sim.cost.step_time import catalogue_fit, linear_ms
from sim.cost.terms import terms_of
from sim.errors import ScenarioError
from sim.studies.validation.figures import Floats, Row, bias_percent, error_percent
from sim.studies.validation.folder import catalogue_name
from sim.system_spec import Deployment

OUTPUTS = "peers_speed_and_outputs.csv"
STEPS = "_step_times.csv"
COLUMNS = ("rps", "out_tok_s", "ttft_p50_ms", "ttft_p99_ms", "tpot_p50_ms", "tpot_p99_ms")
GPUS = {"a100": "A100-80G-SXM", "h100": "H100-SXM"}  # as peers' configurations call them
MODELS = {"llama2": "Llama-2", "llama3.1": "Llama-3.1"}


def peers(folder: Path) -> Row:
    """Every workload by us and by each peer, and the difference of step times by peer and configuration."""
    theirs = _outputs(folder / OUTPUTS)
    workloads = []
    for path in sorted(folder.glob("workload_*.csv")):
        name = path.stem
        workloads.append({"workload": name, "ours": simulated(path), "peers": theirs.get(name, [])})
    steps = [row for path in sorted(folder.glob(f"*{STEPS}")) for row in _step_differences(path)]
    return {"workloads": workloads, "step_times": steps}


def simulated(path: Path) -> Row:
    """What we make of a workload, under the peers' column names."""
    values: dict[str, Any] = {
        "deployment": {"model": "Llama-2-7B", "gpu": GPUS["a100"]},
        "workload": {"arrivals": {"kind": "trace"}},
        "scheduler": {"async_scheduling": False},  # the peers know no other
    }
    found = simulate(Scenario(**values), read_trace(path)).summary()["metrics"]
    names = ("requests_per_s", "output_tokens_per_s", "ttft_p50_s", "ttft_p99_s", "tpot_p50_s", "tpot_p99_s")
    factors = (1, 1, 1000, 1000, 1000, 1000)
    return {
        column: None if found[name] is None else factor * found[name]
        for column, name, factor in zip(COLUMNS, names, factors, strict=True)
    }


def _outputs(path: Path) -> dict[str, list[Row]]:
    """The peers' figures by workload."""
    by_workload: dict[str, list[Row]] = defaultdict(list)
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                figures = {name: float(row[name]) if row[name] else None for name in COLUMNS}
                by_workload[row["workload"]].append({"peer": row["peer"], "model": row["model"], **figures})
    return by_workload


def _step_differences(path: Path) -> list[Row]:
    """Ours over a peer's step times, by configuration; configurations without whole steps are left out."""
    rows: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["step_ms"]:
                rows[row["config"]].append(row)
    differences = []
    for config, each in rows.items():
        deployment = deployment_of(config)
        if deployment is None:
            continue
        theirs_ms = np.array([float(row["step_ms"]) for row in each])
        ours_ms = _steps_ms(deployment, each)
        differences.append(
            {
                "peer": path.name.removesuffix(STEPS),
                "config": config,
                "steps": len(each),
                "difference_percent": error_percent(ours_ms, theirs_ms),
                "ours_over_theirs_percent": bias_percent(ours_ms, theirs_ms),
            }
        )
    return differences


def deployment_of(config: str) -> Deployment | None:
    """`llama3.1-8b_a100_tp1` as a deployment; None if it is not one of the catalogue."""
    match = re.fullmatch(r"([a-z.\d]+)-(\d+b)_([a-z\d]+)_tp(\d+)", config)
    if match is None:
        return None
    shape = catalogue_name(f"{MODELS.get(match[1], match[1])}-{match[2]}", model_names())
    values: dict[str, Any] = {"model": shape, "gpu": GPUS.get(match[3]), "tensor_parallel_size": int(match[4])}
    try:
        return Deployment(**values) if shape and values["gpu"] in gpu_names() else None
    except ScenarioError:
        return None


def _steps_ms(deployment: Deployment, rows: list[Mapping[str, str]]) -> Floats:
    """Kernel time of each composition, without host time as the peers have it."""
    prefill, decodes, kv_tokens = (
        np.array([float(row[name]) for row in rows])
        for name in ("prefill_tokens", "decode_seqs", "total_decode_kv_tokens")
    )
    before = np.array([float(row.get("prefill_kv_tokens") or 0) for row in rows])
    fit, _ = catalogue_fit(deployment)
    terms = terms_of(deployment, prefill + decodes)
    reading_ms: Floats = fit.inv_eff_kv * terms.kv_ms * (kv_tokens + before)
    attention_ms: Floats = fit.inv_eff_attn * terms.attention_ms * (prefill * before + prefill**2 / 2)
    return linear_ms(terms, fit, 0.0) + reading_ms + attention_ms
