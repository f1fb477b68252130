"""Refusals at the border: one sentence that names the field, the value and the limit."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError


class ScenarioError(ValueError):
    """A scenario that cannot be run; `str(error)` is the one sentence that says why."""


class DataError(ValueError):
    """A data file that cannot be read; `str(error)` is the one sentence, with the line or key."""


def shown(value: object) -> str:
    """How a value is quoted in a sentence: short, text in quotes, 1.0 as 1."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def closest(name: str, known: Iterable[str], how_many: int = 3) -> str:
    """The known names that look most like `name`, as a list in prose; all of them when none does.

    Case does not count.
    """
    by_folded = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.casefold(), list(by_folded), n=how_many, cutoff=0.3)
    return ", ".join([by_folded[each] for each in near] or list(by_folded.values()))


def sentence(model: type[BaseModel], error: ValidationError) -> str:
    """The first thing pydantic found wrong with the values given for `model`, as one sentence.

    Sentences start with the field's name, so that every model around it can put its own field in front
    (`max_num_seqs is 0; ...` becomes `scheduler.max_num_seqs is 0; ...`).
    """
    first = error.errors(include_url=False)[0]
    loc = field_path(model, first["loc"])
    if first["type"] == "value_error":  # a sentence already: from a validator, or from a part of this model
        return ".".join([*loc, str(first["ctx"]["error"])])
    name = ".".join(loc) or model.__name__
    if first["type"] == "extra_forbidden":
        return f"{name} is not a known field; closest are {closest(loc[-1], model.model_fields)}"
    if first["type"] == "missing":
        return f"{name} is missing; a value is needed"
    if first["type"] == "union_tag_not_found":
        return f"{name}.kind is missing; it says what the other fields mean"
    if first["type"] == "union_tag_invalid":
        allowed = first["ctx"]["expected_tags"].replace("'", "")
        return f"{name}.kind is {shown(first['ctx']['tag'])}; allowed are {allowed}"
    return f"{name} is {quoted_input(first['type'], first['input'])}; {limit(first)}"


def field_path(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """Where an error sits, without the tags that pydantic adds for members of a union."""
    path = [str(part) for part in loc]
    if path and (field := model.model_fields.get(path[0])) and field.discriminator:
        del path[1:2]
    return path


def quoted_input(kind: str, value: object) -> str:
    """The refused value; for lists that are too short or too long only their length counts."""
    if kind in {"too_short", "too_long"} and isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, Mapping):
        return "an object"
    return shown(value)


WANTED = {
    "int_type": "a whole number is needed",
    "int_from_float": "a whole number is needed",
    "float_type": "a number is needed",
    "finite_number": "a finite number is needed",
    "bool_type": "true or false is needed",
    "string_type": "a text is needed",
    "tuple_type": "a list is needed",
    "model_type": "an object with named fields is needed",
    "model_attributes_type": "an object with named fields is needed",
}


def limit(details: Mapping[str, Any]) -> str:
    """The second half of the sentence: what would have been accepted."""
    kind, ctx = details["type"], details.get("ctx", {})
    if kind in WANTED:
        return WANTED[kind]
    if kind == "greater_than_equal":
        return f"at least {shown(ctx['ge'])} is needed"
    if kind == "greater_than":
        return f"more than {shown(ctx['gt'])} is needed"
    if kind == "less_than_equal":
        return f"at most {shown(ctx['le'])} is allowed"
    if kind == "less_than":
        return f"less than {shown(ctx['lt'])} is needed"
    if kind == "string_pattern_mismatch":
        return f"a text of the form {ctx['pattern']} is needed"
    if kind == "literal_error":
        return f"allowed are {ctx['expected']}".replace("'", "")
    if kind in {"too_short", "string_too_short"}:
        return f"a length of at least {ctx['min_length']} is needed"
    if kind in {"too_long", "string_too_long"}:
        return f"a length of at most {ctx['max_length']} is allowed"
    message: str = details["msg"]
    return message[:1].lower() + message[1:]
