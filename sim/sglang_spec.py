"""The knobs of SGLang's scheduler, under SGLang's own names and with its defaults.

Source: SGLang 0.5.23; README of the SGLang goldens.
"""

from typing import Literal, Self

from pydantic import Field, model_validator

from sim.part import MAX_TOKENS, Number, Part, Switch, Whole

NOT_CUT = -1  # SGLang's way to say that prompts are not cut


class Sglang(Part):
    """What only SGLang reads."""

    schedule_policy: Literal["fcfs", "lpm", "lof"] = Field(
        default="fcfs",
        description="Who is tried first: the earliest, the longest cached prefix, or the largest max_new_tokens.",
    )
    schedule_conservativeness: Number = Field(
        default=1.0,
        ge=0,
        le=10,
        description="Scales the share of what running requests may still produce that admission sets aside. More: "
        "fewer retractions, fewer requests at once.",
    )
    page_size: Whole = Field(
        default=1,
        ge=1,
        le=256,
        description="Tokens a KV page; takes the place of block_size. Larger pages waste more at their ends.",
    )
    chunked_prefill_size: Whole | None = Field(
        default=None,
        ge=NOT_CUT,
        le=MAX_TOKENS,
        description="Longest prefill of one step in tokens; -1: prompts are not cut. None: SGLang's default for the "
        "GPU's memory.",
    )
    max_prefill_tokens: Whole = Field(
        default=16_384, ge=1, le=MAX_TOKENS, description="Prompt tokens after which a step admits nobody more."
    )
    max_running_requests: Whole | None = Field(
        default=None,
        ge=1,
        le=65_536,
        description="Most requests running at once. None: max_num_seqs, or without it SGLang's default for the KV "
        "memory, 2048 to 4096.",
    )
    prefill_max_requests: Whole | None = Field(
        default=None, ge=1, le=65_536, description="Most requests admitted in one step. None: any number."
    )
    enable_mixed_chunk: Switch = Field(
        default=False, description="Running requests decode in the steps that compute prompts, too."
    )
    disable_radix_cache: Switch = Field(
        default=False, description="Keep no KV of finished texts for prompts that begin alike."
    )
    disable_overlap_schedule: Switch = Field(
        default=False, description="Schedule a step when the one before has ended, not while it is computed."
    )
    init_new_token_ratio: Number = Field(
        default=0.7,
        ge=0,
        le=1,
        description="Share of what running requests may still produce that admission sets aside at first; "
        "schedule_conservativeness scales it.",
    )
    min_new_token_ratio_factor: Number = Field(
        default=0.14, ge=0, le=1, description="How far that share falls, relative to its start."
    )
    new_token_ratio_decay_steps: Whole = Field(
        default=600, ge=1, le=1_000_000, description="Decode steps in which it falls so far."
    )
    retract_decode_steps: Whole = Field(
        default=20, ge=0, le=10_000, description="Steps for which a retraction makes room for those who stay."
    )
    clip_max_new_tokens: Whole = Field(
        default=4096, ge=1, le=MAX_TOKENS, description="Most tokens that admission counts for one answer."
    )

    @model_validator(mode="after")
    def _chunk_holds_a_page(self) -> Self:
        chunk = self.chunked_prefill_size
        if chunk is not None and chunk != NOT_CUT and chunk < self.page_size:
            raise ValueError(
                f"chunked_prefill_size is {chunk}; at least page_size ({self.page_size}) is needed, or -1 for no cut"
            )
        return self

    @property
    def cuts_prompts(self) -> bool:
        """Whether prompts are computed in chunks."""
        return self.chunked_prefill_size != NOT_CUT
