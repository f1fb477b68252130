"""All fields of a scenario, found by walking its parts: what a test of every bound runs over."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic.fields import FieldInfo

from sim.arrivals_spec import ARRIVAL_KINDS
from sim.lengths_spec import LENGTH_KINDS
from sim.part import MAX_TOKENS, Part
from sim.predictor_spec import Predictor
from sim.scenario import Scenario

BOUNDS = (Ge, Gt, Le, Lt, MinLen, MaxLen)
# For each kind, values that leave room for any one field to take either of its bounds.
SAMPLES: dict[str, dict[str, Any]] = {
    "constant": {"tokens": 5},
    "uniform": {"low": 1, "high": MAX_TOKENS},
    "lognormal": {"mean": 100, "cv": 1},
    "lognormal_p90": {"median": 1, "p90": MAX_TOKENS},
    "gamma": {"mean": 100, "cv": 1},
    "geometric": {"mean": 100},
    "pareto_tail": {"median": 1, "p90": MAX_TOKENS, "alpha": 2},
    "empirical": {"dataset": "azure_2023_conv"},
    "quantiles": {"points": [[0, 1], [1, 10]]},
    "poisson": {"rate_rps": 1},
    "gamma gaps": {"rate_rps": 1, "burstiness": 1},
    "deterministic": {"rate_rps": 1},
    "diurnal": {"rate_rps": 1, "swing": 0.5, "period_s": 100},
    "all_at_once": {},
    "trace": {},
    "closed_loop": {"concurrency": 1},
}
TRACE_FILE = {"name": "trace.csv", "sha256": "0" * 64, "rows": 1}
COEFFICIENTS = {
    "model": "Llama-3.1-8B",
    "gpu": "H100-SXM",
    "tensor_parallel_size": 1,
    "weight_dtype": "bf16",
    "kv_cache_dtype": "auto",
    "fixed_ms": 2,
    "inv_eff_mem": 1.2,
    "inv_eff_kv": 1.1,
    "inv_eff_flop": 1.3,
    "inv_eff_attn": 1.5,
    "points": 8,
}
WHOLE_PARTS = {"trace_file": TRACE_FILE, "coefficients": COEFFICIENTS}  # parts that are left out, or complete


class Place(NamedTuple):
    """A field and the values around it."""

    path: str
    field: FieldInfo
    around: dict[str, Any]  # of a whole scenario, into which a value is put

    @property
    def bounds(self) -> list[Any]:
        return [bound for bound in self.field.metadata if isinstance(bound, BOUNDS)]

    @property
    def choices(self) -> tuple[Any, ...]:
        """Values of a Literal, if it is one, and None if that is allowed as well."""
        annotation = self.field.annotation
        inner = [each for each in get_args(annotation) if get_origin(each) is Literal]
        if get_origin(annotation) is not Literal and inner:
            return (None, *get_args(inner[0]))
        return get_args(annotation) if get_origin(annotation) is Literal else ()

    @property
    def is_whole(self) -> bool:
        return int in _leaves(self.field.annotation)

    def with_value(self, value: object) -> dict[str, Any]:
        """The scenario's values with the field set."""
        return placed(self.around, self.path, value)


def placed(values: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """A copy of nested values with one put in at a dotted path, and what is missing on the way."""
    first, _, rest = path.partition(".")
    if not rest:
        return {**values, first: value}
    if first == "types":
        return {**values, first: [placed((values.get(first) or [{}])[0], rest.removeprefix("0."), value)]}
    return {**values, first: placed(values.get(first) or {}, rest, value)}


def places() -> Iterator[Place]:
    """Every field that holds a value rather than a part."""
    yield from _of_part(Scenario, "", {"version": 1})


def _of_part(part: type[Part], prefix: str, around: dict[str, Any]) -> Iterator[Place]:
    for name, field in part.model_fields.items():
        path = f"{prefix}{name}"
        if field.discriminator:
            kinds = ARRIVAL_KINDS if name == "arrivals" else LENGTH_KINDS
            for kind, inner in kinds.items():
                sample = SAMPLES["gamma gaps" if (name, kind) == ("arrivals", "gamma") else kind]
                yield from _of_part(inner, f"{path}.", placed(around, path, {"kind": kind, **sample}))
        elif inner_parts := [each for each in _leaves(field.annotation) if issubclass(each, Part)]:
            if _is_list(field):
                yield Place(path, field, around)
                yield from _of_part(inner_parts[0], f"{path}.0.", around)
            else:
                inside = placed(around, path, WHOLE_PARTS[name]) if name in WHOLE_PARTS else around
                yield from _of_part(inner_parts[0], f"{path}.", inside)
        elif path == "cost.source":  # one of its choices needs what was fitted
            yield Place(path, field, placed(around, "cost.coefficients", COEFFICIENTS))
        elif name != "kind" or part is Predictor:  # the tag of a union: other tests
            yield Place(path, field, around)


def _leaves(annotation: Any) -> list[type]:
    """The classes in an annotation."""
    if isinstance(annotation, type) and not get_args(annotation):
        return [annotation]
    return [leaf for each in get_args(annotation) for leaf in _leaves(each)]


def _is_list(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is tuple
