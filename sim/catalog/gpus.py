"""Accelerators: memory, bandwidth, dense peaks, links, prices."""

from functools import lru_cache
from typing import NamedTuple

from sim.catalog.table import rows, unknown

GPUS_OF_A_SERVER = 8  # that its NVLink or Infinity Fabric joins
VENDORS = {"MI": "AMD", "Gaudi": "Intel", "TPU": "Google"}  # by prefix; all others are NVIDIA's


class Gpu(NamedTuple):
    """One row of gpus.csv."""

    name: str
    memory_gb: float  # as sold
    usable_memory_gib: float  # as the driver shows it
    hbm_bw_gbs: float  # GB/s
    bf16_tflops: float  # dense, as the next two; 0: not supported
    fp8_tflops: float
    fp4_tflops: float
    link_gbs: float  # GB/s in one direction
    link: str
    price_per_hour: float | None  # USD; indicative
    price_source: str  # kind, date, where it was seen
    source: str

    @property
    def vendor(self) -> str:
        """Whose it is."""
        return next((vendor for prefix, vendor in VENDORS.items() if self.name.startswith(prefix)), "NVIDIA")

    @property
    def linked(self) -> int:
        """How many GPUs talk over that fabric at most: a server's eight, a rack's 72, or a pod's."""
        return 72 if "NVL72" in self.link else 256 if self.link.startswith("ICI") else GPUS_OF_A_SERVER

    @property
    def has_fast_link(self) -> bool:
        """Whether GPUs talk over a fabric of their own; over PCIe alone multi-GPU steps are predicted too fast."""
        return not self.link.startswith("PCIe")


@lru_cache
def _gpus() -> dict[str, Gpu]:
    return {row["gpu"]: _gpu(row) for row in rows("gpus")}


def _gpu(row: dict[str, str]) -> Gpu:
    price = row["price_usd_per_hour"]
    return Gpu(
        name=row["gpu"],
        memory_gb=float(row["memory_gb"]),
        usable_memory_gib=float(row["usable_memory_gib"]),
        hbm_bw_gbs=float(row["hbm_bw_gbs"]),
        bf16_tflops=float(row["bf16_dense_tflops"]),
        fp8_tflops=float(row["fp8_dense_tflops"]),
        fp4_tflops=float(row["fp4_dense_tflops"]),
        link_gbs=float(row["interconnect_gbs_per_dir"]),
        link=row["interconnect_type"],
        price_per_hour=float(price) if price else None,
        price_source=", ".join(filter(None, (row["price_kind"], row["price_date"], row["price_source"]))),
        source=", ".join(filter(None, (row["source"], row["second_source"]))),
    )


def gpu_names() -> tuple[str, ...]:
    """All GPUs of the catalogue, in its order."""
    return tuple(_gpus())


def gpu(name: str) -> Gpu:
    """The GPU of that name.

    Raises
    ------
    ScenarioError
        No such GPU; the sentence lists the closest names.
    """
    if name not in _gpus():
        raise unknown("gpu", name, _gpus())
    return _gpus()[name]
