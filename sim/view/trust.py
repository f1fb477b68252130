"""How far to trust the simulator: every comparison of a validation report with its limit, in words and rows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

import numpy as np

from sim.cost.band import CALIBRATED_PERCENT
from sim.studies.validation.targets import targets
from sim.view.number_words import counted

Report = Mapping[str, Any]
Standing = Literal["met", "missed", "in band", "outside band", "no limit"]
MARKS: dict[Standing, str] = {"met": "✓", "missed": "✗", "in band": "✓", "outside band": "✗", "no limit": "·"}
OLD_ENGINE = "whole steps of an old engine"
ORIGINS = {
    "sum_aic_ops": "kernel tables",
    "sum_vidur_ops": "kernel tables of Vidur",
    "sum_vllm_kernels": "kernels in vLLM",
    "engine_step": OLD_ENGINE,
}
ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM"}
OTHER_ENGINE = "simulated as vLLM"
PERCENT = re.compile(r"±([\d.]+) %")
ASSUMPTIONS = (
    "A step's time depends on its token counts and context lengths alone; clocks stay what they were when measured.",
    "A GPU that was never measured takes the median efficiency of the measured ones: a datasheet estimate.",
    "Engines other than vLLM ran with a scheduler and kernels of their own; the table says how far off that is.",
    "Output lengths are unknown to the scheduler, as in vLLM; an answer is as long whatever the load.",
    "Sliding windows count at a typical context, and their KV memory as full attention.",
    "GPUs of one server work in step; no server of several is balanced, and none fails.",
)
LONGEST_REMARK = 40  # characters that the column has room for


class Comparison(NamedTuple):
    """One figure of the simulator against what was measured."""

    part: str
    what: str
    num: int  # measured values behind it
    error: float | None
    unit: str
    limit: float | None  # None: none was set
    is_target: bool  # False: the limit is the band that the interface shows
    remark: str = ""

    @property
    def standing(self) -> Standing:
        """Against its limit."""
        if self.error is None or self.limit is None:
            return "no limit"
        is_good = self.error <= self.limit
        if self.is_target:
            return "met" if is_good else "missed"
        return "in band" if is_good else "outside band"


def comparisons(report: Report) -> list[Comparison]:
    """Every comparison in a report, by part; first what is nearest to a user's own server."""
    parts = report["parts"]
    found: list[Comparison] = []
    if "vllm_runs" in parts:
        found += [row for run in parts["vllm_runs"]["runs"] for row in _server_run(run)]
    if "serving_benchmarks" in parts:
        found += _serving(parts["serving_benchmarks"]["servers"])
    if "step_times" in parts:
        found += _step_times(parts["step_times"])
    if "goldens" in parts:
        found += _goldens(parts["goldens"])
    if "peers" in parts:
        found += _peers(parts["peers"]["step_times"])
    return found


def table(rows: Sequence[Comparison]) -> dict[str, list[Any]]:
    """Columns as a page shows them; a remark too long for its column is a note below."""
    notes = long_remarks(rows)
    return {
        "": [f"{MARKS[row.standing]} {row.standing}" for row in rows],
        "Error": [_amount(row.error, row.unit) for row in rows],
        "Limit": [("" if row.is_target or row.limit is None else "±") + _amount(row.limit, row.unit) for row in rows],
        "n": [row.num for row in rows],
        "What": [row.what for row in rows],
        "Remark": [f"see note {notes.index(row.remark) + 1}" if row.remark in notes else row.remark for row in rows],
        "Part": [row.part for row in rows],
    }


def long_remarks(rows: Sequence[Comparison]) -> list[str]:
    """Remarks that would be cut off in a column, each once."""
    return list(dict.fromkeys(row.remark for row in rows if len(row.remark) > LONGEST_REMARK))


def trust_verdict(report: Report) -> str:
    """One sentence: what is met, and what is furthest off."""
    rows = comparisons(report)
    known = [each["met"] for each in report["targets"] if each["met"] is not None]
    clauses = [f"{sum(known)} of {len(known)} targets are met" if known else "No target could be checked"]
    for part, words in (("Step times", "step times are off by"), ("Server runs", "TPOT of real vLLM runs by")):
        errors = [row.error for row in rows if row.part == part and row.error is not None and _is_headline(row)]
        if errors:
            clauses.append(f"{words} {_rounded(min(errors))} to {_rounded(max(errors))} %")
    bad = [row for row in rows if row.standing in ("missed", "outside band")]
    if bad:
        worst = max(bad, key=lambda row: row.error or 0.0)
        clauses.append(
            f"{len(bad)} of {len(rows)} comparisons lie outside their target or the error that pages state, "
            f"{sum(map(_is_other_engine, bad))} of them with engines other than vLLM; furthest is {worst.what} "
            f"({_amount(worst.error, worst.unit)})"
        )
    return "; ".join(clauses) + "."


def made_by(report: Report) -> str:
    """Date, versions and command of a report."""
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    return f"Made on {report['date']} with {versions}, in {report['duration_s']:.0f} s, by"


def run_title(name: str) -> str:
    """What a data set calls GPU_Model, for people."""
    return name.replace("_", ", ")


def left_out(report: Report) -> list[str]:
    """What was not compared, and why; one sentence each."""
    found = []
    for name in ("step_times", "serving_benchmarks"):
        for reason, count in report["parts"].get(name, {}).get("left_out", {}).items():
            found.append(f"{count:,} rows of {name.replace('_', ' ')}: {reason}")
    found += report["parts"].get("vllm_runs", {}).get("left_out", ())
    return found


def _is_headline(row: Comparison) -> bool:
    return row.part == "Step times" or row.what.startswith("TPOT")


def _is_other_engine(row: Comparison) -> bool:
    return OTHER_ENGINE in row.remark


def _amount(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{_rounded(value)} {unit}"


def _rounded(value: float) -> str:
    """Errors of a few percent to a tenth, others whole: more digits say nothing about the next deployment."""
    return f"{round(value, 1 if value < 10 else 0):g}"


def _goldens(part: Report) -> Iterator[Comparison]:
    for row in part["folders"]:
        num = row["identical"] + row["different"]
        error, remark = float(row["different"]), f"{row['steps']:,} steps compared bit for bit"
        if row["refused"]:
            remark = f"{row['refused']} files refused" + (f"; {remark}" if num else "")
        yield Comparison(
            "Recorded step tables", f"step tables that differ, {row['folder']}", num, error if num else None, "files",
            0.0, True, remark,
        )  # fmt: skip


def _step_times(part: Report) -> Iterator[Comparison]:
    for group in part["groups"]:
        keys = ("derivation", "gpu", "family")
        inside = [row for row in part["deployments"] if all(row[key] == group[key] for key in keys)]
        limits = [target["limit"] for target in targets({"step_times": {"deployments": inside}})]
        what = f"step time, {group['family']}, {group['gpu']}, {ORIGINS.get(group['derivation'], group['derivation'])}"
        remark = f"mean of {counted(group['deployments'], 'deployment')}"
        remark += "; own coefficients" if what.endswith(OLD_ENGINE) else ""
        limit = min(limits, default=None)
        yield Comparison("Step times", what, group["rows"], group["error_percent"], "%", limit, True, remark)


def _server_run(run: Report) -> Iterator[Comparison]:
    figures, name, caution = run["figures"], run_title(run["name"]), run["caution"] or ""
    limits = [target["limit"] for target in targets({"vllm_runs": {"runs": [run]}})] or [None, None, None]
    errors = [figures["tpot_error_percent"]]
    errors += [abs(figures[key]["error_percent"]) for key in ("output_tokens_per_s", "ttft_p50_s", "e2e_p50_s")]
    words = ("TPOT of each request", "throughput", "median TTFT", "median E2E")
    for what, error, limit in zip(words, errors, [*limits, None], strict=True):
        yield Comparison("Server runs", f"{what}, {name}", run["requests"], error, "%", limit, True, caution)


def _serving(servers: Sequence[Report]) -> Iterator[Comparison]:
    """Closed loops by engine, GPU and kind of model, against the band that the interface shows for them."""

    def key(row: Report) -> tuple[str, str, str]:
        return row["engine"], row["gpu"], "mixture of experts" if row["is_moe"] else "dense"

    for (engine, gpu, kind), group in groupby(
        sorted(servers, key=lambda row: (row["engine"] != "vllm", key(row))), key
    ):
        rows = list(group)
        weights = [row["points"] for row in rows]
        error = float(np.average([row["tpot_error_percent"] for row in rows], weights=weights))
        bands = [float(found[1]) for row in rows if (found := PERCENT.search(row["band"]))]
        name = f"{ENGINES.get(engine, engine)}, {kind}, {gpu}"
        remark = counted(len(rows), "server") + ("" if engine == "vllm" else f"; {OTHER_ENGINE}")
        remark += "" if bands else f"; {rows[0]['band']}"
        yield Comparison(
            "Serving benchmarks", f"TPOT in closed loop, {name}", sum(weights), error, "%", max(bands, default=None),
            False, remark,
        )  # fmt: skip
        calibrated = [row["calibrated_error_percent"] for row in rows if row["calibrated_error_percent"] is not None]
        if calibrated:
            what = f"calibrated on the other points, {name}"
            mean, remark = float(np.mean(calibrated)), f"mean of {counted(len(calibrated), 'server')}"
            yield Comparison("Serving benchmarks", what, sum(weights), mean, "%", CALIBRATED_PERCENT, False, remark)


def _peers(rows: Sequence[Report]) -> Iterator[Comparison]:
    for row in rows:
        what = f"step time beside {row['peer']}, {row['config']}"
        remark = "another simulator, not a measurement"
        yield Comparison("Other simulators", what, row["steps"], row["difference_percent"], "%", None, False, remark)
