"""Scenario in a link: one table of field and short key, for bound widgets and for the address."""

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

from sim.errors import ScenarioError, closest, shown
from sim.presets import DEFAULT_PRESET, preset
from sim.scenario import VERSION, Scenario, with_values

KEYS: dict[str, str] = {
    "model": "deployment.model",
    "gpu": "deployment.gpu",
    "tp": "deployment.tensor_parallel_size",
    "pp": "deployment.pipeline_parallel_size",
    "wdtype": "deployment.weight_dtype",
    "kvdtype": "deployment.kv_cache_dtype",
    "mem": "deployment.gpu_memory_utilization",
    "block": "deployment.block_size",
    "maxlen": "deployment.max_model_len",
    "blocks": "deployment.num_gpu_blocks_override",
    "arr": "workload.arrivals.kind",
    "rate": "workload.arrivals.rate_rps",
    "burst": "workload.arrivals.burstiness",
    "swing": "workload.arrivals.swing",
    "period": "workload.arrivals.period_s",
    "speed": "workload.arrivals.speed",
    "conc": "workload.arrivals.concurrency",
    "think": "workload.arrivals.think_time_s",
    "thinkdist": "workload.arrivals.think_time",
    "n": "workload.num_requests",
    "deal": "workload.mix",
    "corr": "workload.types.0.correlation",
    "prefix": "workload.types.0.shared_prefix_tokens",
    "prefixes": "workload.types.0.num_prefixes",
    "cap": "workload.types.0.cap",
    "prio": "workload.types.0.priority",
    "predset": "predictor.preset",
    "pred": "predictor.kind",
    "bias": "predictor.bias",
    "spread": "predictor.spread",
    "promptdiff": "predictor.within_prompt_spread",
    "tau": "predictor.tau",
    "classes": "predictor.num_classes",
    "classwidth": "predictor.class_width",
    "accuracy": "predictor.accuracy",
    "confusion": "predictor.confusion",
    "looks": "predictor.refresh_tokens",
    "lookspread": "predictor.refresh_spread",
    "coverage": "predictor.coverage",
    "quantile": "predictor.quantile",
    "driftbias": "predictor.drift_bias",
    "driftspread": "predictor.drift_spread",
    "delay": "predictor.delay_ms",
    "blocking": "predictor.is_synchronous",
    "predcost": "predictor.cost_ms",
    "predgpus": "predictor.own_gpus",
    "sched": "scheduler.system",
    "seqs": "scheduler.max_num_seqs",
    "budget": "scheduler.max_num_batched_tokens",
    "chunk": "scheduler.enable_chunked_prefill",
    "longp": "scheduler.long_prefill_token_threshold",
    "cache": "scheduler.enable_prefix_caching",
    "policy": "scheduler.scheduling_policy",
    "wm": "scheduler.watermark",
    "isl": "scheduler.scheduler_reserve_full_isl",
    "async": "scheduler.async_scheduling",
    "release": "scheduler.vllm_release",
    "hold": "scheduler.hold",
    "deliver": "scheduler.delivery",
    "reserve": "scheduler.reserve",
    "bwait": "scheduler.batch_wait_s",
    "join": "scheduler.batching",
    "prefill": "scheduler.prefill",
    "order": "scheduler.order",
    "evict": "scheduler.preemption_mode",
    "victim": "scheduler.victim",
    "swap": "scheduler.swap_space_gib",
    "link": "scheduler.swap_gb_s",
    "starve": "scheduler.starvation_threshold",
    "promote": "scheduler.starvation_quantum",
    "quant": "scheduler.quantum_ms",
    "growth": "scheduler.quantum_growth",
    "stale": "scheduler.starvation_s",
    "keep": "scheduler.keep_share",
    "guard": "scheduler.guard_wait_s",
    "guardx": "scheduler.guard_factor",
    "group": "scheduler.group_size",
    "vbs": "scheduler.batch_by_length",
    "fcr": "scheduler.recollect",
    "cwin": "scheduler.conformal_window",
    "hist": "scheduler.history",
    "peak": "scheduler.peak_share",
    "every": "scheduler.admission_interval_steps",
    "ahead": "scheduler.horizon",
    "sgorder": "scheduler.sglang.schedule_policy",
    "sgcons": "scheduler.sglang.schedule_conservativeness",
    "sgpage": "scheduler.sglang.page_size",
    "sgchunk": "scheduler.sglang.chunked_prefill_size",
    "sgprefill": "scheduler.sglang.max_prefill_tokens",
    "sgrun": "scheduler.sglang.max_running_requests",
    "sgmix": "scheduler.sglang.enable_mixed_chunk",
    "sgnoradix": "scheduler.sglang.disable_radix_cache",
    "sgnooverlap": "scheduler.sglang.disable_overlap_schedule",
    "sgratio": "scheduler.sglang.init_new_token_ratio",
    "sgfloor": "scheduler.sglang.min_new_token_ratio_factor",
    "sgdecay": "scheduler.sglang.new_token_ratio_decay_steps",
    "sgretract": "scheduler.sglang.retract_decode_steps",
    "sgclip": "scheduler.sglang.clip_max_new_tokens",
    "sgadmit": "scheduler.sglang.prefill_max_requests",
    "giveup": "workload.client_timeout_s",
    "retry": "workload.client_retry",
    "retryafter": "workload.client_retry_delay_s",
    "ttft": "slo.ttft_ms",
    "tpot": "slo.tpot_ms",
    "e2e": "slo.e2e_ms",
    "cost": "cost.source",
    "step": "cost.step_ms",
    "host": "cost.host_ms",
    "price": "cost.price_per_gpu_hour",
    "seed": "seed",
    "reps": "replications",
    "stop": "max_sim_time_s",
    "tail": "tail_quantile",
}
LENGTH_FIELDS = {
    "": "kind",
    "tok": "tokens",
    "low": "low",
    "high": "high",
    "mean": "mean",
    "cv": "cv",
    "med": "median",
    "p90": "p90",
    "alpha": "alpha",
    "data": "dataset",
}
for _side in ("prompt", "output"):  # of the first task type: prompt=, promptmean=, ... output=, outputmean=, ...
    KEYS |= {f"{_side}{short}": f"workload.types.0.{_side}.{name}" for short, name in LENGTH_FIELDS.items()}
CALLED_NONE = ("predictor.preset", "predictor.kind", "predictor.confusion")  # hold the word where they hold nothing
KEY_OF = {path: key for key, path in KEYS.items()}

PRESET, LINK_VERSION, MIX, EDITS = "preset", "v", "mix", "x"  # keys that are not a field's
PINS = ("p1", "p2", "p3", "p4")  # pinned runs: the query of each, packed
MEETING = "meet"  # of the page, not of the scenario: 1 for meeting mode
OPERATING_POINT = "at"  # of the page: as asked, or saturated
BASE = "base"  # the key of the pinned run that numbers are compared with; the first if left out
PAGE_KEYS = {  # controls of single pages, by page
    "cmpsched": "Schedulers",
    "cmplimits": "Schedulers",
    "opcap": "Operate",
    "optarget": "Operate",
    "optail": "Operate",
    "oppools": "Operate",
    "objective": "Predictor",
    "need": "Capacity and Predictor",
    "room": "Capacity",
    "within": "Capacity",
    "usd": "Capacity",
    "predgpus": "Capacity and Predictor",  # a field of the scenario, too
    "retraining": "Capacity and Predictor",
    "ifcap": "Capacity",
    "iftail": "Capacity",
    "vs": "Capacity",
}
UNIONS = ("workload.arrivals", "workload.types.0.prompt", "workload.types.0.output")
LARGEST_PACKED_BYTES = 1_000_000


def to_query(scenario: Scenario, preset_name: str) -> dict[str, str]:
    """The scenario as a link's query: what departs from the preset.

    Parameters
    ----------
    scenario : Scenario
    preset_name : str
        The preset it started from.

    Returns
    -------
    dict
        Texts by key; `from_query` gives the same scenario back. Fields without a key travel together, compressed.
    """
    base, target = _values(preset(preset_name)), _values(scenario)
    query = {LINK_VERSION: str(VERSION), PRESET: preset_name}
    if (mix := _mix_text(base, target)) is not None:
        query[MIX] = mix
        base["workload"]["types"] = _types_of_mix(base["workload"]["types"], mix)
    edits = _spread_unions(_differences(base, target), base)
    query |= {KEY_OF[path]: value_text(value) for path, value in edits.items() if path in KEY_OF}
    if rest := {path: value for path, value in edits.items() if path not in KEY_OF}:
        query[EDITS] = pack(rest)
    return query


def from_query(query: Mapping[str, str]) -> Scenario:
    """The scenario in a link's query.

    Parameters
    ----------
    query : mapping
        Texts by key. Without `preset` the default preset, without `v` the present version. Pins are left aside.

    Raises
    ------
    ScenarioError
        An unknown key or version, or a value that is refused.
    """
    for key in query:
        if key not in KEYS and key not in (PRESET, LINK_VERSION, MIX, EDITS, BASE, *PINS):
            raise ScenarioError(f"{key} is not a known key of a link; closest are {closest(key, [*KEYS, PRESET, MIX])}")
    if (version := query.get(LINK_VERSION, str(VERSION))) != str(VERSION):
        raise ScenarioError(f"v is {shown(version)}; this release reads links of version {VERSION}")
    base = preset(query.get(PRESET, DEFAULT_PRESET))
    values: dict[str, Any] = {}
    if MIX in query:
        types = _values(base)["workload"]["types"]
        base = with_values(base, {"workload.types": _types_of_mix(types, query[MIX])})
    values |= {KEYS[key]: value_of(text, KEYS[key]) for key, text in query.items() if key in KEYS}
    if EDITS in query:
        values |= unpack(query[EDITS], EDITS)
    return with_values(base, values)


def departures(scenario: Scenario, base: Scenario) -> dict[str, Any]:
    """Dotted paths and JSON values that turn `base` into a scenario; `with_values` takes them."""
    return _differences(_values(base), _values(scenario))


def value_text(value: object) -> str:
    """A field's value as it stands in a link: `none`, `true`, `8`, `0.9`, `fcfs`."""
    if value is None:
        return "none"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def value_of(text: str, path: str) -> str | None:
    """The inverse of `value_text` for the field at a path, as `with_values` reads it."""
    return None if text == "none" and path not in CALLED_NONE else text


def pack(values: Mapping[str, Any]) -> str:
    """Any JSON values as one compressed text without characters that a link would escape."""
    data = json.dumps(values, separators=(",", ":"), sort_keys=True).encode()
    return base64.urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")


def unpack(text: str, key: str) -> dict[str, Any]:
    """The inverse of `pack`; `key` is where the text came from.

    Raises
    ------
    ScenarioError
        Not a packed text, or one that unpacks to more than a megabyte.
    """
    refusal = ScenarioError(f"{key} is {shown(text)}; packed values of at most a megabyte are needed")
    try:
        reader = zlib.decompressobj()
        data = reader.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), LARGEST_PACKED_BYTES)
        values = json.loads(data)
    except (ValueError, zlib.error, RecursionError):
        raise refusal from None
    if not isinstance(values, dict) or reader.unconsumed_tail:
        raise refusal
    return values


def _values(scenario: Scenario) -> dict[str, Any]:
    values: dict[str, Any] = scenario.model_dump(mode="json")
    return values


def _differences(base: Any, target: Any, path: str = "") -> dict[str, Any]:
    """Dotted paths and values that turn `base` into `target`; parts of another shape as a whole."""
    if base == target:
        return {}
    same_fields = isinstance(base, dict) and isinstance(target, dict) and base.keys() == target.keys()
    same_length = isinstance(base, list) and isinstance(target, list) and len(base) == len(target)
    if not same_fields and not (same_length and path == "workload.types"):
        return {path: target}
    slots = base.keys() if same_fields else range(len(base))
    edits: dict[str, Any] = {}
    for slot in slots:
        edits |= _differences(base[slot], target[slot], f"{path}.{slot}" if path else str(slot))
    return edits


def _spread_unions(edits: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """Arrivals or lengths of another kind, field by field where every field has a key."""
    for union in UNIONS:
        if union in edits and all(f"{union}.{name}" in KEY_OF for name in edits[union]):
            former: Any = base
            for part in union.split("."):
                former = former[int(part) if part.isdecimal() else part]
            fields = edits.pop(union)
            edits |= {f"{union}.{name}": value for name, value in fields.items() if former.get(name) != value}
    return edits


def _mix_text(base: dict[str, Any], target: dict[str, Any]) -> str | None:
    """`chat:0.6,code:0.4` where the target's mix is the base's with other shares, or some of its types."""
    known = {task["name"]: task for task in base["workload"]["types"]}
    wanted = target["workload"]["types"]
    if [task["name"] for task in wanted] == list(known):
        changed = any(task["share"] != known[task["name"]]["share"] for task in wanted)
    else:
        changed = all(
            task["name"] in known and {**known[task["name"]], "share": task["share"]} == task for task in wanted
        )
    return ",".join(f"{task['name']}:{value_text(task['share'])}" for task in wanted) if changed else None


def _types_of_mix(types: list[dict[str, Any]], mix: str) -> list[dict[str, Any]]:
    """Task types by name, with the shares of a mix text."""
    known = {task["name"]: task for task in types}
    picked = []
    for part in mix.split(","):
        name, _, share = part.partition(":")
        if name not in known:
            raise ScenarioError(f"mix names {shown(name)}; the preset's task types are {closest(name, known)}")
        try:
            picked.append({**known[name], "share": float(share)})
        except ValueError:
            raise ScenarioError(f"mix gives {shown(name)} the share {shown(share)}; a number is needed") from None
    return picked
