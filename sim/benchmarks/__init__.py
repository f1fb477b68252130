"""Readers of what people have measured: results of serving benchmarks, and the metrics of a running server."""

from sim.benchmarks.any_file import read_data
from sim.benchmarks.benchmark import Benchmark, MeasuredRequests, Point, Stats
from sim.benchmarks.detect import LAYOUTS, read_benchmark
from sim.benchmarks.scrape import Scrape, TokenCounts, read_scrape

__all__ = [
    "LAYOUTS",
    "Benchmark",
    "MeasuredRequests",
    "Point",
    "Scrape",
    "Stats",
    "TokenCounts",
    "read_benchmark",
    "read_data",
    "read_scrape",
]
