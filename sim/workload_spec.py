"""What comes to the server: arrivals and a mix of task types, or a trace."""

from typing import Literal, Self

from pydantic import Field, model_validator

from sim.arrivals_spec import Arrivals, Poisson
from sim.catalog import length_quantiles
from sim.lengths_spec import Empirical, Lengths, LogNormal
from sim.part import MAX_TOKENS, Number, Part, Whole


class TaskType(Part):
    """One kind of request in the mix."""

    name: str = Field(
        default="chat", min_length=1, max_length=40, pattern=r"^[A-Za-z0-9_.-]+$", description="Its name."
    )
    share: Number = Field(
        default=1.0, gt=0, le=1_000_000, description="Weight in the mix; shares need not add up to 1."
    )
    prompt: Lengths = Field(
        default=LogNormal(mean=1024, cv=1.0), description="Prompt length. Longer prompts cost prefill and memory."
    )
    output: Lengths = Field(
        default=LogNormal(mean=256, cv=1.0), description="Output length, unknown to the scheduler until the end."
    )
    correlation: Number = Field(
        default=0.0, ge=-1, le=1, description="Spearman correlation of prompt and output length (Gaussian copula)."
    )
    shared_prefix_tokens: Whole = Field(
        default=0,
        ge=0,
        le=MAX_TOKENS,
        description="The prompt's first so many tokens are a shared text; part of its length.",
    )
    num_prefixes: Whole = Field(
        default=1, ge=1, le=1_000_000, description="How many different shared texts there are, equally likely."
    )
    cap: Whole | None = Field(
        default=None,
        ge=1,
        le=MAX_TOKENS,
        description="max_tokens of the request: longer answers are cut. None: no cap.",
    )
    priority: Whole = Field(
        default=0, ge=-1000, le=1000, description="Smaller is served first, where the scheduling policy is priority."
    )

    @model_validator(mode="after")
    def _dataset_has_lengths(self) -> Self:
        for kind, lengths in (("prompt", self.prompt), ("output", self.output)):
            if isinstance(lengths, Empirical) and kind not in length_quantiles(lengths.dataset):
                raise ValueError(f"{kind}.dataset is '{lengths.dataset}'; it has no {kind} lengths")
        return self


class TraceFile(Part):
    """Which trace file a run was made with; the file itself travels separately."""

    name: str = Field(min_length=1, max_length=255, description="File name.")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the file, in hexadecimal.")
    rows: Whole = Field(ge=1, le=100_000_000, description="Requests in it.")


class Workload(Part):
    """What comes to the server."""

    arrivals: Arrivals = Field(default=Poisson(rate_rps=8.0), description="When requests come.")
    num_requests: Whole = Field(
        default=10_000,
        ge=1,
        le=5_000_000,
        description="Requests in a run. More narrows the tail percentiles, and takes longer.",
    )
    types: tuple[TaskType, ...] = Field(
        default=(TaskType(),), min_length=1, max_length=64, description="Task types; each request is of one."
    )
    mix: Literal["random", "exact"] = Field(
        default="random",
        description="random: each request draws its type by share. exact: types are dealt so that every first n "
        "requests hold the shares as closely as whole numbers allow.",
    )
    client_timeout_s: Number | None = Field(
        default=None,
        gt=0,
        le=86_400,
        description="A client gives up when its answer is not complete so long after it asked. None: it waits.",
    )
    client_retry: Literal["never", "rest", "again"] = Field(
        default="never",
        description="What a client does with an answer that its cap has cut. never: it takes it. rest: it asks for the "
        "rest, prompt and cut answer being the new prompt, under the same cap, until all is there. again: it throws "
        "the answer away and asks once more, without the cap.",
    )
    client_retry_delay_s: Number = Field(
        default=1.0, ge=0, le=86_400, description="From a cut answer to the request that follows it."
    )
    trace_file: TraceFile | None = Field(default=None, description="The trace that the arrivals and lengths come from.")

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [task.name for task in self.types]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"types has the name '{name}' {names.count(name)} times; names must differ")
        return self
