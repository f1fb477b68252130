"""Which scheduler serves, the knobs that depart from its defaults, and choices put in place of its own."""

from typing import Literal, Self

from pydantic import Field, model_validator

from sim.errors import closest, shown
from sim.length_knobs_spec import LengthKnobs
from sim.part import MAX_TOKENS, Number, Part, Switch, Whole
from sim.sglang_spec import Sglang
from sim.systems import PREEMPTIVE_ORDERS, SYSTEMS, Choices, overrides
from sim.systems.system import Batching, Eviction, Order, Prefill, Reserve, Victim
from sim.vllm_releases import PriorityPolicy, vllm_release


class Recombination(Part):
    """The five choices. None is what the system does itself."""

    batching: Batching | None = Field(
        default=None, description="When requests may join: at every iteration, or when the batch before has ended."
    )
    prefill: Prefill | None = Field(
        default=None,
        description="How prompts are computed: mixed whole beside decoding, first in iterations of their own, chunked "
        "to the token budget, or chunks and decoding alternate.",
    )
    reserve: Reserve | None = Field(
        default=None,
        description="KV memory that admission makes sure of. More: fewer preemptions, fewer requests at once.",
    )
    order: Order | None = Field(default=None, description="Who is served first.")
    preemption_mode: Eviction | None = Field(
        default=None,
        description="What happens to who gives way when blocks run out: recompute, swap, restart, or fail, which is "
        "an out-of-memory error of the whole batch.",
    )
    victim: Victim | None = Field(default=None, description="Who gives way when blocks run out.")


class Scheduler(Recombination, LengthKnobs):
    """A named system, and the knobs that depart from its defaults."""

    system: str = Field(
        default="vllm_v1",
        description="Name of the scheduler; `longtail systems` lists them with what each knows and reserves.",
    )
    max_num_seqs: Whole | None = Field(
        default=None,
        ge=1,
        le=65_536,
        description="Most requests running at once. None: the system's own; vLLM's goes by the GPU.",
    )
    max_num_batched_tokens: Whole | None = Field(
        default=None,
        ge=1,
        le=MAX_TOKENS,
        description="Token budget of one step, decodes first, the rest for prefill chunks (vLLM also calls it "
        "max_num_scheduled_tokens). It bounds how long prefill holds up decoding, not memory. None: the "
        "system's own; vLLM's goes by the GPU.",
    )
    enable_chunked_prefill: Switch = Field(
        default=True, description="Cut prompts to what is left of the step's token budget."
    )
    long_prefill_token_threshold: Whole = Field(
        default=0,
        ge=0,
        le=MAX_TOKENS,
        description="Longest prefill chunk of one request while others are there; 0 is no limit.",
    )
    enable_prefix_caching: Switch = Field(
        default=True, description="Keep the KV of finished texts for prompts that begin alike."
    )
    scheduling_policy: Literal["fcfs", "priority"] = Field(
        default="fcfs", description="Who is served first: the earliest, or the smallest priority number."
    )
    watermark: Number | None = Field(
        default=None,
        ge=0,
        le=0.5,
        description="Share of KV blocks that admission leaves free. More: fewer preemptions, fewer running at once. "
        "None: the system's own, 0 in vLLM V1 and 0.01 in vLLM V0 and Sarathi.",
    )
    scheduler_reserve_full_isl: Switch = Field(
        default=True, description="Admit a request only when all of its prompt fits, not just the first chunk."
    )
    async_scheduling: Switch = Field(
        default=True,
        description="vLLM schedules the next step while the GPU computes this one, so an end is noticed one step late. "
        "Served vLLM does so by default.",
    )
    vllm_release: Literal["0.33.0", "0.32.0", "0.30.0", "0.23.0", "0.18.1", "0.11.0", "0.8.5"] = Field(
        default="0.33.0",
        description="Whose scheduling rules apply; each release stands for those before it that schedule alike.",
    )
    hold: Switch = Field(default=True, description="static: finished requests keep their slots until the batch ends.")
    delivery: Literal["batch", "stream"] = Field(
        default="batch",
        description="static, seq_sched: tokens are handed over when the batch ends, or as they are produced.",
    )
    batch_wait_s: Number = Field(
        default=0.0, ge=0, le=3600, description="static: how long to wait for a batch to fill."
    )

    sglang: Sglang = Field(default_factory=Sglang, description="What only SGLang reads.")

    @model_validator(mode="after")
    def _system_is_known(self) -> Self:
        if self.system not in SYSTEMS:
            raise ValueError(f"system is {shown(self.system)}; closest are {closest(self.system, SYSTEMS)}")
        return self

    @property
    def is_recombined(self) -> bool:
        """Whether a choice departs from the system's own in a way that its own loop does not know."""
        return overrides(SYSTEMS[self.system], self) or self.admission_interval_steps > 1

    @property
    def delivers_batches(self) -> bool:
        """Whether all answers of a batch are handed over when it ends."""
        return self.holds_batches and self.delivery == "batch"

    @property
    def holds_batches(self) -> bool:
        """Whether finished requests keep their slots until their batch ends."""
        if self.choices.batching != "request":
            return False
        if self.system == "static":
            return self.hold
        return bool(SYSTEMS[self.system].details.get("hold")) and self.choices.order == "planned"

    @property
    def is_chunked(self) -> bool:
        """Whether a prompt longer than the token budget is computed in several iterations."""
        is_whole = self.system == "vllm_v1" and not self.is_recombined and not self.enable_chunked_prefill
        is_cut = self.choices.prefill in ("chunked", "alternate") or SYSTEMS[self.system].engine == "sglang"
        return is_cut and not is_whole

    @property
    def choices(self) -> Choices:
        """The five choices in force."""
        own = SYSTEMS[self.system].choices
        batching = self.batching or ("request" if self.order == "planned" else own.batching)
        return Choices(
            batching=batching,
            prefill=self.prefill or ("mixed" if batching == "request" else own.prefill),
            reserve=self.reserve or own.reserve,
            order=self.order or own.order,
            eviction=self.preemption_mode or own.eviction,
            victim=self.victim or own.victim,
        )

    @model_validator(mode="after")
    def _choices_agree(self) -> Self:
        if SYSTEMS[self.system].engine == "sglang" and self.is_recombined:
            raise ValueError("system is sglang; it takes no other choices than its own")
        chosen = self.choices
        is_preemptive = chosen.order in PREEMPTIVE_ORDERS
        if is_preemptive and chosen.batching == "request":
            raise ValueError(
                f"order is {chosen.order}, which chooses anew at every iteration; batching iteration is needed"
            )
        if is_preemptive and (chosen.reserve.startswith("peak") or chosen.reserve == "horizon"):
            raise ValueError(
                f"reserve is {chosen.reserve}; with order {chosen.order}, which may displace anybody, a future peak "
                "means nothing: chunk, prompt or a reservation is needed"
            )
        if is_preemptive and chosen.eviction in ("restart", "fail"):
            raise ValueError(
                f"preemption_mode is {chosen.eviction}; order {chosen.order} displaces requests by design, and they "
                "might never end: recompute or swap is needed"
            )
        if is_preemptive and self.admission_interval_steps > 1:
            raise ValueError(
                f"admission_interval_steps is {self.admission_interval_steps}; order {chosen.order} chooses anew at "
                "every iteration: 1 is needed"
            )
        if is_preemptive and chosen.prefill in ("first", "alternate"):
            raise ValueError(f"prefill is {chosen.prefill}; order {chosen.order} needs mixed or chunked")
        if chosen.batching == "request" and chosen.prefill in ("chunked", "alternate", "first"):
            raise ValueError(f"prefill is {chosen.prefill}; batching request computes whole prompts: mixed is needed")
        if chosen.order == "planned" and chosen.batching == "iteration":
            raise ValueError("order is planned, which plans whole batches; batching request is needed")
        return self

    @model_validator(mode="after")
    def _release_is_known(self) -> Self:
        release = vllm_release(self.vllm_release)
        if self.scheduling_policy == "priority" and release.priority != PriorityPolicy.RELIABLE:
            raise ValueError(f"scheduling_policy is priority; vllm_release {self.vllm_release} needs fcfs")
        return self

    @model_validator(mode="after")
    def _budget_covers_seats(self) -> Self:
        seats, budget = self.max_num_seqs, self.max_num_batched_tokens
        if seats is None or budget is None or budget >= seats:
            return self
        if self.system == "vllm_v1" and not self.is_recombined:
            raise ValueError(f"max_num_batched_tokens is {budget}; at least max_num_seqs ({seats}) is needed")
        return self
