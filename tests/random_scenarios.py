"""Random valid scenarios, drawn field by field from the bounds of the fields."""

from typing import Any

from annotated_types import Ge, Gt, Le, Lt
from hypothesis import strategies as st

from sim.catalog import dataset_names, gpu_names, model_names, predictor_names
from sim.scenario import Scenario
from sim.scheduler_spec import Recombination
from sim.systems import PREEMPTIVE_ORDERS, SYSTEMS, system_names
from tests.scenario_fields import COEFFICIENTS, Place, placed, places

SINGLE = [
    place
    for place in places()
    if not place.path.startswith(("workload.", "cost.coefficients.")) and place.path not in ("version", "about.tags")
]
CHOICES = tuple(Recombination.model_fields)
NAMES = st.text("abcXYZ019_.-", min_size=1, max_size=12)


def numbers(place: Place) -> st.SearchStrategy[Any]:
    """Values between a field's bounds."""
    ends = {type(bound): getattr(bound, type(bound).__name__.lower()) for bound in place.bounds}
    if place.is_whole:
        return st.integers(ends[Ge], ends[Le])
    low, high = ends.get(Ge, ends.get(Gt)), ends.get(Le, ends.get(Lt))
    return st.floats(low, high, exclude_min=Gt in ends, exclude_max=Lt in ends)


def values_of(place: Place) -> st.SearchStrategy[Any]:
    """Values that a field accepts."""
    if place.path in ("deployment.gpu", "deployment.model"):
        return st.sampled_from(gpu_names() if place.path.endswith("gpu") else model_names())
    if place.path == "scheduler.system":
        return st.sampled_from(system_names())
    if place.path == "predictor.preset":
        return st.sampled_from(("none", *predictor_names()))
    if place.choices:
        return st.sampled_from(place.choices)
    if place.field.annotation is str:
        return st.text(max_size=30)
    if not place.bounds:
        return st.booleans()
    return (
        numbers(place) if place.field.is_required() or place.field.default is not None else st.none() | numbers(place)
    )


def lengths(side: str) -> st.SearchStrategy[dict[str, Any]]:
    """Length distributions of every kind."""
    tokens = st.integers(1, 10_000)
    sizes = st.floats(1, 10_000)
    pair = st.tuples(sizes, sizes).map(sorted)
    spread = st.fixed_dictionaries({"mean": sizes, "cv": st.floats(0, 20)})
    alpha = st.floats(0.5, 10)
    return st.one_of(
        st.builds(lambda n: {"kind": "constant", "tokens": n}, tokens),
        st.builds(lambda n: {"kind": "uniform", "low": min(n), "high": max(n)}, st.tuples(tokens, tokens)),
        spread.map(lambda fields: {"kind": "lognormal", **fields}),
        spread.map(lambda fields: {"kind": "gamma", **fields}),
        st.builds(lambda n: {"kind": "lognormal_p90", "median": n[0], "p90": n[1]}, pair),
        st.builds(lambda n: {"kind": "geometric", "mean": n}, sizes),
        st.builds(lambda n, a: {"kind": "pareto_tail", "median": n[0], "p90": n[1], "alpha": a}, pair, alpha),
        st.builds(lambda name: {"kind": "empirical", "dataset": name}, st.sampled_from(dataset_names(side))),
        st.builds(lambda n: {"kind": "quantiles", "points": [[0, n[0]], [0.5, n[0]], [1, n[1]]]}, pair),
    )


def arrivals() -> st.SearchStrategy[dict[str, Any]]:
    """Arrivals of every kind."""
    rate = st.floats(0.01, 1000)
    return st.one_of(
        st.builds(lambda r: {"kind": "poisson", "rate_rps": r}, rate),
        st.builds(lambda r, b: {"kind": "gamma", "rate_rps": r, "burstiness": b}, rate, st.floats(0.01, 1000)),
        st.builds(lambda r: {"kind": "deterministic", "rate_rps": r}, rate),
        st.builds(
            lambda r, s, p: {"kind": "diurnal", "rate_rps": r, "swing": s, "period_s": p},
            rate,
            st.floats(0, 1),
            st.floats(1, 1e5),
        ),
        st.just({"kind": "all_at_once"}),
        st.builds(lambda s: {"kind": "trace", "speed": s}, st.floats(0.001, 1000)),
        st.builds(
            lambda c, s, k: {"kind": "closed_loop", "concurrency": c, "think_time_s": s, "think_time": k},
            st.integers(1, 1000),
            st.floats(0, 100),
            st.sampled_from(["constant", "exponential"]),
        ),
    )


@st.composite
def task_types(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """One task type of that name."""
    return {
        "name": name,
        "share": draw(st.floats(0.001, 1000)),
        "prompt": draw(lengths("prompt")),
        "output": draw(lengths("output")),
        "correlation": draw(st.floats(-1, 1)),
        "shared_prefix_tokens": draw(st.integers(0, 5000)),
        "num_prefixes": draw(st.integers(1, 100)),
        "cap": draw(st.none() | st.integers(1, 5000)),
        "priority": draw(st.integers(-5, 5)),
    }


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Any valid scenario; whether it can run is another question."""
    values: dict[str, Any] = {"version": 1, "about": {"tags": draw(st.lists(NAMES, max_size=2))}}
    for place in draw(st.lists(st.sampled_from(SINGLE), max_size=8)):
        values = placed(values, place.path, draw(values_of(place)))
    scheduler = values.get("scheduler", {})
    if scheduler.get("max_num_seqs") and scheduler.get("max_num_batched_tokens"):
        scheduler["max_num_batched_tokens"] = max(scheduler["max_num_batched_tokens"], scheduler["max_num_seqs"])
    chosen = [name for name in CHOICES if scheduler.get(name) is not None]
    if chosen:  # one choice in place of vLLM's own: others may contradict it
        scheduler["system"] = "vllm_v1"
        for name in chosen[1:]:
            scheduler.pop(name)
    orders = (scheduler.get("order"), SYSTEMS[scheduler.get("system", "vllm_v1")].choices.order)
    if any(order in PREEMPTIVE_ORDERS for order in orders):
        scheduler.pop("admission_interval_steps", None)
    sglang = scheduler.get("sglang", {})
    chunk = sglang.get("chunked_prefill_size")
    if chunk is not None and 0 <= chunk < sglang.get("page_size", 1):
        sglang.pop("chunked_prefill_size")
    if scheduler.get("vllm_release") in ("0.11.0", "0.8.5"):
        scheduler.pop("scheduling_policy", None)
    if values.get("cost", {}).get("source") == "calibrated" or draw(st.booleans()):
        values = placed(values, "cost.coefficients", {**COEFFICIENTS, "fixed_ms": draw(st.floats(0, 1000))})
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    values["workload"] = {
        "arrivals": draw(arrivals()),
        "num_requests": draw(st.integers(1, 5_000_000)),
        "mix": draw(st.sampled_from(["random", "exact"])),
        "types": [draw(task_types(name)) for name in names],
        "trace_file": draw(st.none() | st.just({"name": "hour.csv", "sha256": "0" * 64, "rows": 7})),
    }
    return Scenario(**values)
