"""Knobs of schedulers that order, reserve or displace by length, and of swapping."""

from pydantic import Field

from sim.part import MAX_TOKENS, Number, Part, Switch, Whole


class LengthKnobs(Part):
    """Each is read by the systems named in front of its description, or under the choice named there."""

    swap_space_gib: Number = Field(
        default=4.0, ge=0, le=100_000, description="Swap: host memory for KV, GiB per GPU. Full: recompute instead."
    )
    swap_gb_s: Number = Field(
        default=25.0, gt=0, le=10_000, description="Swap: rate of the link between a GPU and host memory, GB/s."
    )
    starvation_threshold: Whole = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="rank: iterations in a row without service after which a request goes first; 0 is off.",
    )
    starvation_quantum: Whole = Field(
        default=10, ge=1, le=1_000_000, description="rank: iterations that such a request goes first."
    )
    quantum_ms: Number | None = Field(
        default=None, gt=0, le=86_400_000, description="mlfq, fastserve: time in the first queue. None: 30 and 10 ms."
    )
    quantum_growth: Number | None = Field(
        default=None, ge=1, le=1000, description="mlfq, fastserve: quantum over that of the queue before. None: 10, 2."
    )
    starvation_s: Number = Field(
        default=3.0, gt=0, le=86_400, description="fastserve: who has not run for so long returns to the first queue."
    )
    keep_share: Number = Field(
        default=0.8,
        ge=0,
        le=1,
        description="trail: share of the first estimate after which nobody displaces a request; 1 is plain SRPT, 0 "
        "never displaces.",
    )
    guard_wait_s: Number = Field(
        default=100.0, ge=0, le=86_400, description="ssjf: whoever has waited so long goes first; 0 is no limit."
    )
    guard_factor: Number = Field(
        default=10.0, ge=0, le=1e6, description="ssjf: or so many times its own estimated duration; 0 is no limit."
    )
    group_size: Whole = Field(
        default=256, ge=1, le=65_536, description="seq_sched: requests that are predicted and sorted together."
    )
    batch_by_length: Switch = Field(
        default=True, description="seq_sched: larger batches of shorter answers (VBS). Off: all of max_num_seqs."
    )
    recollect: Switch = Field(
        default=True,
        description="seq_sched: a batch ends at its longest prediction; who is not done runs again later (FCR).",
    )
    conformal_window: Whole = Field(
        default=200, ge=1, le=10_000, description="conformal: past ratios of truth to prediction it remembers."
    )
    history: Whole = Field(default=200, ge=1, le=10_000, description="past_future: finished lengths it remembers.")
    peak_share: Number = Field(
        default=0.95,
        gt=0,
        le=1,
        description="past_future, aggressive, conservative: share of KV memory that the future peak may fill.",
    )
    admission_interval_steps: Whole = Field(
        default=1, ge=1, le=1_000_000, description="Requests are admitted at every so many iterations only."
    )
    horizon: Whole = Field(
        default=256, ge=1, le=MAX_TOKENS, description="reserve horizon: iterations ahead that must fit."
    )
