"""The figures of the page Trust: parity plots, and server runs over time."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from sim.cost.band import CATALOGUE_PERCENT
from sim.view import theme
from sim.view.lines import line
from sim.view.parity import Cloud, parity
from sim.view.theme import axis, layout
from sim.view.trust import ENGINES

Report = Mapping[str, Any]
OVER_TIME = {"running": "requests running", "waiting": "requests waiting", "kv_cache_pct": "KV blocks in use (%)"}


def step_times(report: Report) -> go.Figure:
    """Measured against predicted step times, by GPU."""
    pairs = report["parts"]["step_times"]["parity"]
    clouds = [_cloud(gpu, pairs, "predicted_ms", gpu=gpu) for gpu in _distinct(pairs, "gpu")]
    return parity("step times", "step time", "ms", clouds, CATALOGUE_PERCENT)


def server_tpot(report: Report) -> go.Figure:
    """Measured against simulated TPOT of each request of the server runs."""
    clouds = [_cloud(short_name(run), run["parity"], "simulated_ms") for run in _runs(report)]
    return parity("server tpot", "TPOT of a request", "ms", clouds, CATALOGUE_PERCENT)


def server_medians(report: Report) -> go.Figure:
    """Medians of TTFT and E2E of the server runs."""
    clouds = [
        Cloud(
            short_name(run),
            [run["figures"][name]["measured"] for name in names],
            [run["figures"][name]["simulated"] for name in names],
            [f"median {name.partition('_')[0].upper()}" for name in names],
        )
        for run in _runs(report)
        if (names := ("ttft_p50_s", "e2e_p50_s"))
    ]
    return parity("server medians", "median TTFT and E2E", "s", clouds, CATALOGUE_PERCENT)


def serving(report: Report) -> go.Figure:
    """Measured against simulated TPOT of the serving benchmarks, by engine and GPU."""
    pairs = report["parts"]["serving_benchmarks"]["parity"]
    found = sorted({(row["engine"], row["gpu"]) for row in pairs}, key=lambda each: (each[0] != "vllm", each))
    clouds = [
        _cloud(f"{ENGINES.get(engine, engine)} {gpu}", pairs, "simulated_ms", engine=engine, gpu=gpu)
        for engine, gpu in found
    ]
    return parity("serving", "mean TPOT", "ms", clouds, CATALOGUE_PERCENT)


PARITY = {  # part of the report, title of the choice, figure
    "steps": ("step_times", "Step times", step_times),
    "tpot": ("vllm_runs", "Server TPOT", server_tpot),
    "medians": ("vllm_runs", "TTFT, E2E", server_medians),
    "serving": ("serving_benchmarks", "Benchmarks", serving),
}


def run_over_time(run: Report, which: str) -> go.Figure:
    """A server run over time: measured grey and dashed, simulated blue.

    Parameters
    ----------
    run : mapping
        One of the report's server runs.
    which : str
        A key of `OVER_TIME`.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    row = run["over_time"][which]
    return go.Figure(
        [
            line(row["t_s"], row["measured"], "measured", theme.PINNED),
            line(row["t_s"], row["simulated"], "simulated", theme.CURRENT),
        ],
        layout(
            f"server run {which}",
            xaxis=axis("time since first arrival (s)", rangemode="tozero"),
            yaxis=axis(OVER_TIME[which], rangemode="tozero"),
        ),
    )


def short_name(run: Report) -> str:
    """GPU and model, with room for a legend."""
    return f"{run['gpu']}<br>{str(run['model']).removesuffix('-Instruct-2507')}"


def clouds_in_words(figure: go.Figure) -> str:
    """What a parity plot shows, for people who do not see it."""
    names = ", ".join(f"{trace.name.replace('<br>', ' ')} ({len(trace.x):,} points)" for trace in figure.data)
    return f"{figure.layout.yaxis.title.text} against {figure.layout.xaxis.title.text}: {names or 'no points'}."


def _runs(report: Report) -> Sequence[Report]:
    runs: Sequence[Report] = report["parts"]["vllm_runs"]["runs"]
    return runs


def _distinct(rows: Sequence[Report], key: str) -> list[str]:
    return sorted({row[key] for row in rows})


def _cloud(name: str, pairs: Sequence[Report], predicted: str, **of: str) -> Cloud:
    chosen = [row for row in pairs if all(row[key] == value for key, value in of.items())]
    return Cloud(name, [row["measured_ms"] for row in chosen], [row[predicted] for row in chosen])
