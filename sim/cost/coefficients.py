"""Fitted coefficients of the step-time form, per GPU and family of model. How they were fitted: fit.py."""

from functools import lru_cache
from statistics import median
from typing import NamedTuple

from sim.catalog import Gpu, Model
from sim.catalog.table import rows

KERNELS = "kernels"  # measured kernels, summed
OLD_ENGINE = "splitwise"  # whole steps of an old engine bound by its host: only for checks against those rows


class Coefficients(NamedTuple):
    """Inverse efficiencies (1.15 is 87 % of peak) and overheads of one GPU and family. Source: cost.md."""

    o0_ms: float
    o1_us_layer: float
    inv_eff_mem: float
    inv_eff_kv: float  # of a 16-bit KV cache
    inv_eff_kv8: float  # of an 8-bit KV cache, whose bytes are half as many
    inv_eff_flop: float
    inv_eff_attn: float
    ar_us: float
    ab_tp2: float
    ab_tp4: float
    ab_tp8: float
    p: float

    def fixed_ms(self, layers: int, allreduces: int) -> float:
        """What a step takes however few its tokens, besides reading the weights."""
        return self.o0_ms + self.o1_us_layer * layers / 1000 + self.ar_us * allreduces / 1000

    def allreduce(self, gpus: int) -> float:
        """Inverse efficiency of the all-reduce's transfer; 16 GPUs as 8."""
        return {1: 0.0, 2: self.ab_tp2, 4: self.ab_tp4}.get(gpus, self.ab_tp8)


def families(model: Model, weight_dtype: str) -> tuple[str, ...]:
    """Groups of models that share coefficients, best first: dense or mixture of experts, 8-bit weights apart.

    Block-scaled FP8 has no second choice: its kernels are too unlike the others.
    """
    kind = "moe" if model.is_moe else "dense"
    if weight_dtype == "fp8_block":
        return (f"{kind} fp8_block",)
    return (f"{kind} fp8", kind) if weight_dtype == "fp8" else (kind,)


def coefficients(gpu: Gpu, model: Model, weight_dtype: str) -> tuple[Coefficients, bool]:
    """Coefficients for a model on a GPU, and whether they were fitted for that GPU.

    Without a fit: the median, coefficient by coefficient, over the GPUs of its vendor; over all GPUs where the
    vendor has none.
    """
    groups = families(model, weight_dtype)
    for group in groups:
        if gpu.name in fitted(group):
            return fitted(group)[gpu.name], True
    return _median(next(group for group in groups if fitted(group))), False


@lru_cache
def fitted(group: str, source: str = KERNELS) -> dict[str, Coefficients]:
    """Coefficients of a family by GPU; every fitted GPU is NVIDIA's."""
    return {
        row["gpu"]: Coefficients(*(float(row[name]) for name in Coefficients._fields))
        for row in rows("cost_coefficients")
        if row["source"] == source and row["family"] == group
    }


@lru_cache
def _median(group: str) -> Coefficients:
    return Coefficients(*(median(column) for column in zip(*fitted(group).values(), strict=True)))
