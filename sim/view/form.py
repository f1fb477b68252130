"""From the knobs' texts to a scenario: which knobs show, where they stand by default, and what they come to.

A knob's text is what a link holds, so the address and the widgets say the same.
"""

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from sim.arrivals_spec import Arrivals
from sim.deployment import resolve
from sim.errors import ScenarioError
from sim.keys import EDITS, KEY_OF, LINK_VERSION, MIX, PRESET, from_query, value_text
from sim.lengths_spec import Lengths
from sim.predictor_spec import NAMES_A_LENGTH, NO_PRESET
from sim.scenario import Scenario
from sim.scheduler_spec import Scheduler
from sim.systems import SYSTEMS, reads_predictor
from sim.systems.knobs_read import CHOICES, knobs_read
from sim.systems.predictors import own_predictor
from sim.view.knob import Knob
from sim.view.knobs import KNOBS
from sim.view.steps import text
from sim.workload.lengths import tokens_at

Texts = Mapping[str, str]

UNIONS = {"workload.arrivals": Arrivals, "workload.types.0.prompt": Lengths, "workload.types.0.output": Lengths}
FIELDS = {  # of each kind that may stand at a path
    (path, part.model_fields["kind"].default): set(part.model_fields)
    for path, union in UNIONS.items()
    for part in get_args(get_args(union)[0])
}
NOT_SGLANG = ("scheduler.max_num_batched_tokens", "deployment.block_size")  # it has its own
DELAYED = ("oracle", "bucket", "rank", *NAMES_A_LENGTH)
READ_BY = {  # kinds of predictors that read a field; all others: every kind that takes time
    "bias": ("bucket", *NAMES_A_LENGTH),
    "spread": NAMES_A_LENGTH,
    "tau": ("bucket", "rank"),
}
CHOOSING = {knob.path.removeprefix("scheduler."): set(knob.options) - {"none"} for knob in KNOBS}
ALLOWED = {field: CHOOSING[field] for field in ("system", *CHOICES)}
ELSEWHERE = {"rate_rps": "8", "burstiness": "0.25", "concurrency": "64", "think_time_s": "0", "think_time": "constant"}
ELSEWHERE |= {"speed": "1", "alpha": "1.5", "swing": "0.8", "period_s": "1000"}
NO_DATASET = "azure_2023_conv"


def base_scenario(preset_name: str, mix: str = "", edits: str = "", version: str = "") -> Scenario:
    """What the knobs depart from: the preset, with the mix and the packed edits of a link.

    Raises
    ------
    ScenarioError
        A part of the link is refused.
    """
    return from_query(_frame(preset_name, mix, edits, version))


def scenario_of(preset_name: str, mix: str, edits: str, texts: Texts) -> Scenario:
    """The scenario that the knobs show.

    Parameters
    ----------
    preset_name, mix, edits : str
        As in the link.
    texts : mapping
        Text of each knob shown, by its key.

    Raises
    ------
    ScenarioError
        A value is refused, or the combination.
    """
    return from_query(_frame(preset_name, mix, edits) | dict(texts))


def _frame(preset_name: str, mix: str, edits: str, version: str = "") -> dict[str, str]:
    frame = {PRESET: preset_name, MIX: mix, EDITS: edits, LINK_VERSION: version}
    return {key: value for key, value in frame.items() if value}


def is_shown(knob: Knob, base: Scenario, texts: Texts) -> bool:
    """Whether a knob has a field to move, given the texts of the knobs before it."""
    parent, field = _split(knob.path)
    workload = base.workload
    if parent.startswith("workload.types.0") and len(workload.types) > 1:
        return False  # a mix: its types are edited in the preset's file
    if parent in UNIONS and parent != "workload.arrivals" and workload.trace_file is not None:
        return False  # lengths come from the file
    if not has_field(knob.path, base, texts):
        return False
    if parent == "predictor":
        return _is_predictor_knob_shown(field, base, texts)
    if parent == "scheduler.sglang" or knob.path in NOT_SGLANG:
        is_sglang = SYSTEMS[scheduler_at(base, texts).system].engine == "sglang"
        return is_sglang == (parent == "scheduler.sglang")
    if parent == "scheduler":
        has_timeout = _text_at("workload.client_timeout_s", base, texts) != "none"
        has_stages = _text_at("deployment.pipeline_parallel_size", base, texts) != "1"
        return field in knobs_read(scheduler_at(base, texts), has_timeout=has_timeout, has_stages=has_stages)
    if field == "client_retry_delay_s":
        return _text_at("workload.client_retry", base, texts) != "never"
    if field == "step_ms":
        return _text_at("cost.source", base, texts) == "constant"
    if field == "num_prefixes":
        return _text_at(f"{parent}.shared_prefix_tokens", base, texts) != "0"
    return True


def has_field(path: str, base: Scenario, texts: Texts) -> bool:
    """Whether the arrivals and lengths that the knobs show have a field; every other part has all of its own."""
    parent, field = _split(path)
    return parent not in UNIONS or field == "kind" or field in FIELDS.get((parent, kind_at(parent, base, texts)), ())


def kind_at(parent: str, base: Scenario, texts: Texts) -> str:
    """Kind of the arrivals or lengths at a path, as the knobs show it."""
    return _text_at(f"{parent}.kind", base, texts)


def _is_predictor_knob_shown(field: str, base: Scenario, texts: Texts) -> bool:
    """Whether the scheduler reads the predictor, and the predictor the field."""
    scheduler = scheduler_at(base, texts)
    if not reads_predictor(scheduler.choices):
        return False
    preset = _text_at("predictor.preset", base, texts)
    if field in ("preset", "kind"):
        return field == "preset" or preset == NO_PRESET
    if field == "quantile":
        return scheduler.choices.reserve in ("quantile", "conformal")
    kind = _text_at("predictor.kind", base, texts)
    if (preset, kind) == (NO_PRESET, "none"):
        own = own_predictor(scheduler.system)
        preset, kind = own.get("preset", NO_PRESET), own.get("kind", kind)
    if preset != NO_PRESET:
        return field not in ("spread", "tau")
    return kind in READ_BY.get(field, DELAYED)


def scheduler_at(base: Scenario, texts: Texts) -> Scheduler:
    """The scheduler and its five choices as the knobs stand, whether or not they go together."""
    values: dict[str, Any] = {}
    for field, known in ALLOWED.items():
        text_now = _text_at(f"scheduler.{field}", base, texts)
        values[field] = text_now if text_now in known else None
    joins = _text_at("scheduler.admission_interval_steps", base, texts)
    values["admission_interval_steps"] = 2 if joins not in ("1", "none") else 1
    values["system"] = values["system"] or base.scheduler.system
    return base.scheduler.model_copy(update=values)


def default_text(knob: Knob, base: Scenario) -> str:
    """Where a knob stands when nobody has moved it: at the base's value, or at one that changes little."""
    parent, field = _split(knob.path)
    holder = _at(base, parent)
    if hasattr(holder, field):
        return value_text(getattr(holder, field))
    return ELSEWHERE.get(field) or _like(holder, parent.rpartition(".")[2], field)


def _like(lengths: Any, part: str, field: str) -> str:
    """A parameter of another distribution that keeps the lengths about as they are."""
    if field == "dataset":
        return NO_DATASET
    drawn = tokens_at(lengths, "prompt" if part == "prompt" else "output", (np.arange(2000) + 0.5) / 2000)
    value = {
        "mean": drawn.mean(),
        "cv": drawn.std() / drawn.mean(),
        "median": np.quantile(drawn, 0.5),
        "p90": np.quantile(drawn, 0.9),
        "tokens": drawn.mean(),
        "low": drawn.min(),
        "high": drawn.max(),
    }[field]
    return text(round(float(value), 2) if field == "cv" else round(float(value)))


def _text_at(path: str, base: Scenario, texts: Texts) -> str:
    """Text of the knob of that path, or of the base's value where it has not been shown."""
    parent, field = _split(path)
    return texts.get(KEY_OF[path], value_text(getattr(_at(base, parent), field)))


def _at(scenario: Scenario, path: str) -> Any:
    """The part of a scenario at a dotted path; the scenario itself at none."""
    part: Any = scenario
    for step in filter(None, path.split(".")):
        part = part[int(step)] if step.isdigit() else getattr(part, step)
    return part


def _split(path: str) -> tuple[str, str]:
    parent, _, field = path.rpartition(".")
    return parent, field


def resolved_text(scenario: Scenario) -> str:
    """What the server knobs come to, with every default filled in; why it cannot run, where it cannot."""
    try:
        found = resolve(scenario)
    except ScenarioError as error:
        return str(error)
    return (
        f"Comes to {found.usable_blocks:,} KV blocks ({found.kv_tokens:,} tokens), "
        f"max_num_seqs {found.max_num_seqs:,}, max_num_batched_tokens {found.max_num_batched_tokens:,}, "
        f"max_model_len {found.max_model_len:,}; weights "
        f"{found.weight_gib:.3g} GiB a GPU."
    )
