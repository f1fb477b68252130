"""Fitted coefficients of the step-time form, per GPU and family of model."""

from functools import lru_cache
from statistics import median
from typing import NamedTuple

from sim.catalog import Gpu, Model
from sim.catalog.table import rows

# Best first. Left out: splitwise_perf_model, whole steps of an old engine bound by its host.
SOURCES = ("aiconfigurator_0.12.0", "llmservingsim_profiles", "frontier_a800_profiles")


class Coefficients(NamedTuple):
    """Inverse efficiencies (1.15 is 87 % of peak) and overheads of one GPU and family. Source: cost.md."""

    o0_ms: float
    o1_us_layer: float
    inv_eff_mem: float
    inv_eff_kv: float
    inv_eff_flop: float
    inv_eff_attn: float
    ar_us: float
    ab_tp2: float
    ab_tp4: float
    ab_tp8: float
    p: float

    def allreduce(self, gpus: int) -> float:
        """Inverse efficiency of the all-reduce's transfer; 16 GPUs as 8."""
        return {1: 0.0, 2: self.ab_tp2, 4: self.ab_tp4}.get(gpus, self.ab_tp8)


def family(model: Model, weight_dtype: str) -> str:
    """Models that share coefficients: dense or mixture of experts, block-scaled FP8 apart."""
    kind = "moe" if model.is_moe else "dense"
    return f"{kind} fp8_block" if weight_dtype == "fp8_block" else kind


def coefficients(gpu: Gpu, model: Model, weight_dtype: str) -> tuple[Coefficients, bool]:
    """Coefficients for a model on a GPU, and whether they were fitted for that GPU.

    Without a fit: the median, coefficient by coefficient, over the GPUs of its vendor; over all GPUs where the
    vendor has none.
    """
    group = family(model, weight_dtype)
    fitted = _fitted(group)
    if gpu.name in fitted:
        return fitted[gpu.name], True
    return _median(group), False


@lru_cache
def _fitted(group: str) -> dict[str, Coefficients]:
    """By GPU; every fitted GPU is NVIDIA's."""
    fits: dict[str, Coefficients] = {}
    for source in SOURCES:
        for row in rows("cost_coefficients"):
            if row["source"] == source and row["family"] == group:
                fits.setdefault(row["gpu"], Coefficients(*(float(row[name]) for name in Coefficients._fields)))
    return fits


@lru_cache
def _median(group: str) -> Coefficients:
    return Coefficients(*(median(column) for column in zip(*_fitted(group).values(), strict=True)))
