"""Base of every part of a scenario: frozen, closed to unknown keys, refusing in one sentence."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Strict, ValidationError

from sim.errors import ScenarioError, sentence

Whole = Annotated[int, Strict()]  # no true, no "3", no 3.0
Number = Annotated[float, Strict()]  # whole numbers are fine
Switch = Annotated[bool, Strict()]

MAX_TOKENS = 10_485_760  # longest context in the catalogue (Llama-4-Scout)


class Part(BaseModel):
    """A frozen value whose fields are checked once, when it is made.

    Raises
    ------
    ScenarioError
        With one sentence that names the field, the value and the limit.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **values: Any) -> None:
        # Also called for parts inside parts, so each level can put its field's name before the sentence.
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ScenarioError(sentence(type(self), error)) from None
