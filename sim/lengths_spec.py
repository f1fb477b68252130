"""Distributions of prompt and output lengths, as a scenario names them. All lengths in tokens."""

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sim.catalog import length_quantiles
from sim.part import MAX_TOKENS, Number, Part, Whole


class Constant(Part):
    """Every request has the same length."""

    kind: Literal["constant"] = "constant"
    tokens: Whole = Field(ge=1, le=MAX_TOKENS, description="Length of every request.")


class Uniform(Part):
    """Whole numbers from `low` to `high`, both included, equally likely."""

    kind: Literal["uniform"] = "uniform"
    low: Whole = Field(ge=1, le=MAX_TOKENS, description="Shortest length.")
    high: Whole = Field(ge=1, le=MAX_TOKENS, description="Longest length.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.high < self.low:
            raise ValueError(f"high is {self.high}; at least low ({self.low}) is needed")
        return self


class LogNormal(Part):
    """Log-normal by its mean and coefficient of variation (standard deviation / mean)."""

    kind: Literal["lognormal"] = "lognormal"
    mean: Number = Field(ge=1, le=MAX_TOKENS, description="Mean length.")
    cv: Number = Field(ge=0, le=20, description="Spread: standard deviation / mean. More gives more stragglers.")


class LogNormalP90(Part):
    """Log-normal by its median and 90th percentile."""

    kind: Literal["lognormal_p90"] = "lognormal_p90"
    median: Number = Field(ge=1, le=MAX_TOKENS, description="Half of the requests are shorter.")
    p90: Number = Field(ge=1, le=MAX_TOKENS, description="One request in ten is longer.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.p90 < self.median:
            raise ValueError(f"p90 is {self.p90:g}; at least the median ({self.median:g}) is needed")
        return self


class Gamma(Part):
    """Gamma by its mean and coefficient of variation; a lighter tail than log-normal."""

    kind: Literal["gamma"] = "gamma"
    mean: Number = Field(ge=1, le=MAX_TOKENS, description="Mean length.")
    cv: Number = Field(ge=0, le=20, description="Spread: standard deviation / mean.")


class Geometric(Part):
    """Each token is the last with probability 1 / mean: an answer that never knows how long it is."""

    kind: Literal["geometric"] = "geometric"
    mean: Number = Field(ge=1, le=MAX_TOKENS, description="Mean length.")


class ParetoTail(Part):
    """Log-normal up to the 90th percentile, above it a Pareto tail: P(length > x) = 0.1 (x / p90)^-alpha."""

    kind: Literal["pareto_tail"] = "pareto_tail"
    median: Number = Field(ge=1, le=MAX_TOKENS, description="Half of the requests are shorter.")
    p90: Number = Field(ge=1, le=MAX_TOKENS, description="One request in ten is longer; here the tail begins.")
    alpha: Number = Field(ge=0.5, le=10, description="Tail index; smaller is heavier, at 1 the mean is infinite.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.p90 < self.median:
            raise ValueError(f"p90 is {self.p90:g}; at least the median ({self.median:g}) is needed")
        return self


class Empirical(Part):
    """Lengths of a real data set, by its quantiles in the catalogue."""

    kind: Literal["empirical"] = "empirical"
    dataset: str = Field(description="Name of a data set in the catalogue of length quantiles.")

    @model_validator(mode="after")
    def _known(self) -> Self:
        length_quantiles(self.dataset)
        return self


class Quantiles(Part):
    """Lengths by quantiles of the user's own, linear between them."""

    kind: Literal["quantiles"] = "quantiles"
    points: tuple[tuple[Number, Number], ...] = Field(
        min_length=2, max_length=1000, description="Pairs of quantile (from 0 to 1) and length, both ascending."
    )

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        quantiles, tokens = zip(*self.points, strict=True)
        if quantiles[0] != 0 or quantiles[-1] != 1:
            raise ValueError(f"points run from quantile {quantiles[0]:g} to {quantiles[-1]:g}; 0 to 1 is needed")
        if any(b <= a for a, b in pairwise(quantiles)):
            raise ValueError(f"points have the quantiles {list(quantiles)}; strictly ascending ones are needed")
        if any(b < a for a, b in pairwise(tokens)):
            raise ValueError(f"points have the lengths {list(tokens)}; ascending ones are needed")
        if tokens[0] < 1 or tokens[-1] > MAX_TOKENS:
            raise ValueError(f"points run from {tokens[0]:g} to {tokens[-1]:g} tokens; 1 to {MAX_TOKENS} is allowed")
        return self


Lengths = Annotated[
    Constant | Uniform | LogNormal | LogNormalP90 | Gamma | Geometric | ParetoTail | Empirical | Quantiles,
    Field(discriminator="kind"),
]
LENGTH_KINDS: dict[str, type[Part]] = {
    part.model_fields["kind"].default: part
    for part in (Constant, Uniform, LogNormal, LogNormalP90, Gamma, Geometric, ParetoTail, Empirical, Quantiles)
}
