"""The small benchmark files of our own: all but NVIDIA's summaries tell of the same six invented requests."""

import numpy as np

from tests.data_files import DATA

FOLDER = DATA / "benchmarks"

PROMPT = [100, 120, 90, 200, 150, 100]
OUTPUT = [4, 1, 3, 6, 2, 5]
START_S = [10.0, 10.1, 10.2, 10.4, 10.5, 10.9]
TTFT_MS = [50.0, 60.0, 45.0, 90.0, 70.0, 50.0]
GAPS_MS = [[10.0, 12.0, 11.0], [], [20.0, 10.0], [10.0, 10.0, 10.0, 50.0, 10.0], [30.0], [10.0, 10.0, 20.0, 20.0]]
E2E_MS = [ttft + sum(gaps) for ttft, gaps in zip(TTFT_MS, GAPS_MS, strict=True)]
TPOT_MS = [sum(gaps) / len(gaps) for gaps in GAPS_MS if gaps]
POOLED_MS = [gap for gaps in GAPS_MS for gap in gaps]


def text(name: str) -> str:
    return (FOLDER / name).read_text()


def mean_p50_p99(values: list[float]) -> list[float]:
    return [float(np.mean(values)), float(np.median(values)), float(np.percentile(values, 99))]


def of(stats) -> list[float | None]:
    return [stats.mean, stats.p50, stats.p99]
