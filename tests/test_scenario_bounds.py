"""Every bound of every field, generated from the fields themselves."""

import json
import math
from typing import Any

import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen

from sim.errors import ScenarioError, shown
from sim.scenario import Scenario, scenario_of_json
from tests.scenario_fields import Place, places

PLACES = list(places())
BOUNDS = [(place, bound) for place in PLACES for bound in place.bounds]
CHOICES = [place for place in PLACES if place.choices and place.path != "version"]  # that one: test_scenario.py
NUMBERS = [place for place in PLACES if any(isinstance(bound, Ge | Gt | Le | Lt) for bound in place.bounds)]


def load(values: dict[str, Any]) -> Scenario:
    return scenario_of_json(json.dumps(values))


def inside_and_outside(place: Place, bound: Any) -> tuple[Any, Any, float]:
    """Values next to the bound on either side, and the bound."""
    if isinstance(bound, MinLen | MaxLen):
        limit = bound.min_length if isinstance(bound, MinLen) else bound.max_length
        return of_length(place, limit), of_length(place, limit + (1 if isinstance(bound, MaxLen) else -1)), limit
    limit = getattr(bound, type(bound).__name__.lower())  # Ge.ge, Lt.lt, ...
    down = (lambda x: x - 1) if place.is_whole else (lambda x: math.nextafter(x, -math.inf))
    up = (lambda x: x + 1) if place.is_whole else (lambda x: math.nextafter(x, math.inf))
    if isinstance(bound, Ge):
        return limit, down(limit), limit
    if isinstance(bound, Gt):
        return up(limit), limit, limit
    if isinstance(bound, Le):
        return limit, up(limit), limit
    return down(limit), limit, limit


def of_length(place: Place, length: int) -> Any:
    """A text or list of that length which is valid otherwise."""
    name = place.path.rpartition(".")[2]
    if name == "types":
        return [{"name": f"type{i}"} for i in range(length)]
    if name == "points":
        return [[i / max(length - 1, 1), i + 1] for i in range(length)]
    return ["a"] * length if name == "tags" else "a" * length


def test_the_walk_finds_the_fields_it_should() -> None:
    paths = {place.path for place in PLACES}
    assert {"seed", "deployment.block_size", "workload.types", "workload.types.0.cap", "slo.assumed.p99"} <= paths
    assert {"workload.arrivals.burstiness", "workload.types.0.output.alpha", "workload.trace_file.rows"} <= paths
    assert len(BOUNDS) >= 145


@pytest.mark.parametrize(("place", "bound"), BOUNDS, ids=lambda each: getattr(each, "path", repr(each)))
def test_just_inside_is_accepted_and_just_outside_refused_with_field_value_and_limit(place: Place, bound: Any) -> None:
    inside, outside, limit = inside_and_outside(place, bound)
    load(place.with_value(inside))
    with pytest.raises(ScenarioError) as refusal:
        load(place.with_value(outside))
    text = str(refusal.value)
    assert text.startswith(f"{place.path} is ")
    assert shown(limit) in text.partition(";")[2]
    assert (f"a list of {len(outside)}" if isinstance(outside, list) else shown(outside)) in text
    assert "\n" not in text


@pytest.mark.parametrize("place", CHOICES, ids=lambda place: place.path)
def test_each_choice_is_accepted_and_another_is_refused_with_the_choices(place: Place) -> None:
    for choice in place.choices:
        load(place.with_value(choice))
    with pytest.raises(ScenarioError) as refusal:
        load(place.with_value(77))
    assert str(refusal.value).startswith(f"{place.path} is 77; allowed are ")
    assert all(str(choice) in str(refusal.value) for choice in place.choices if choice is not None)


@pytest.mark.parametrize("place", NUMBERS, ids=lambda place: place.path)
@pytest.mark.parametrize("value", ["many", True, [1], "7"])
def test_a_number_is_not_a_text_a_switch_or_a_list(place: Place, value: object) -> None:
    with pytest.raises(ScenarioError) as refusal:
        load(place.with_value(value))
    assert str(refusal.value).startswith(f"{place.path} is ")
    assert str(refusal.value).endswith("number is needed")


@pytest.mark.parametrize("place", [place for place in NUMBERS if place.is_whole], ids=lambda place: place.path)
def test_a_whole_number_is_not_a_fraction(place: Place) -> None:
    with pytest.raises(ScenarioError, match="a whole number is needed"):
        load(place.with_value(2.5))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [place for place in NUMBERS if not place.is_whole], ids=lambda place: place.path)
def test_a_number_is_finite(place: Place, value: float) -> None:
    with pytest.raises(ScenarioError) as refusal:
        Scenario(**place.with_value(value))
    assert str(refusal.value).startswith(f"{place.path} is {value}; ")


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.path)
def test_every_field_says_what_it_does(place: Place) -> None:
    assert place.path == "version" or place.field.description
