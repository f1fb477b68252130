"""What the general naive simulator knows: a scheduler and its server, requests, and what they compute at a time."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from sim.engine.inputs import Predictions, Refinement, Requests, StepTime
from sim.scheduler_spec import Scheduler as Knobs


class Case(NamedTuple):
    """What a scheduler and its server are, in the words of schedulers.md; tokens, blocks and seconds."""

    system: str
    knobs: Knobs
    requests: Requests
    predictions: Predictions
    step_time: StepTime
    block: int
    capacity: int  # blocks
    seats: int  # max_num_seqs
    budget: int  # max_num_batched_tokens
    max_model_len: int
    watermark: float  # share of the blocks
    host_blocks: int
    swap_block_s: float
    quantile: float
    seed: int
    client: list[int]  # task type of each request, which stands for the client
    shares: list[float]  # of the task types
    predict_delay_s: float = 0.0
    predict_step_s: float = 0.0
    timeout_s: float = math.inf
    refinement: Refinement | None = None
    posterior: object = None


@dataclass(eq=False)
class Member:
    """One request and everything that changes about it. Lengths in tokens."""

    id: int
    arrival: float
    prompt: int
    output: int  # no scheduler looks at it, but those that are said to know the truth
    cap: int
    is_straggler: bool
    generated: int = 0  # output tokens that it has now
    delivered: int = 0  # output tokens that its user has: more than `generated` after a restart
    computed: int = 0  # tokens with KV on the GPU
    host: int = 0  # tokens with KV in host memory
    high_water: int = 0  # tokens that were computed at least once
    reserved: int = 0  # blocks set aside
    in_prompt: bool = False  # some of its known text was not computed since it was admitted
    output_slots: int | None = None  # what its next admission reserves, or believes, in place of the prediction
    status: str = "unfinished"
    first_scheduled: float = math.nan
    times: list[float] = field(default_factory=list)  # of its tokens
    stopped: float | None = None  # since when it waits to be served again
    pause: float = 0.0
    num_preemptions: int = 0
    recomputed: int = 0
    memory_token_s: float = 0.0

    @property
    def known(self) -> int:
        return self.prompt + self.generated

    @property
    def left(self) -> int:
        """Known tokens without KV."""
        return self.known - self.computed - self.host


class Chunk(NamedTuple):
    """What one member computes in one iteration."""

    member: Member
    tokens: int
    before: int

    @property
    def is_decode(self) -> bool:
        """One token, the newest of the answer; everything else is prefill."""
        return self.tokens == 1 and self.before == self.member.known - 1 >= self.member.prompt
