"""What a scheduler is: five choices, the knobs it reads, and where it comes from."""

from dataclasses import dataclass, field
from typing import Any, Literal

Idea = Literal["request-level", "iteration-level", "paged", "chunked", "prefix-aware", "length-aware"]
IDEAS: tuple[Idea, ...] = ("request-level", "iteration-level", "paged", "chunked", "prefix-aware", "length-aware")

Batching = Literal["iteration", "request"]
Prefill = Literal["mixed", "first", "chunked", "alternate"]
Reserve = Literal[
    "chunk",
    "prompt",
    "cap",
    "max_model_len",
    "pow2",
    "truth",
    "predicted",
    "quantile",
    "conformal",
    "peak_predicted",
    "peak_upper",
    "peak_lower",
    "peak_history",
    "peak_aggressive",
    "peak_cap",
    "peak_truth",
    "horizon",
]
Order = Literal[
    "arrival",
    "priority",
    "predicted",
    "upper",
    "lower",
    "shortest_guarded",
    "tail_averse",
    "largest_need",
    "fair",
    "by_type",
    "rank",
    "true_length",
    "true_remaining",
    "levels",
    "skip_levels",
    "refined",
    "declared",
    "planned",
]
Eviction = Literal["recompute", "swap", "restart", "fail"]
# max_model_len itself; that, but at least 2,048 (vLLM V0); that for each seat, so no limit on a batch of whole prompts
Budget = Literal["max_model_len", "context", "batch"]
Victim = Literal[
    "last_admitted", "latest_arrival", "last_in_order", "largest_remaining", "fewest_generated", "smallest_bound"
]

# Orders in which every iteration chooses among all live requests, running or not.
PREEMPTIVE_ORDERS = ("rank", "true_length", "true_remaining", "levels", "skip_levels", "refined", "declared")
# Orders and reservations that read the scenario's predictor.
PREDICTED_ORDERS = (
    "predicted", "upper", "lower", "shortest_guarded", "tail_averse", "rank", "refined", "declared", "planned"
)  # fmt: skip
PREDICTED_RESERVES = ("predicted", "quantile", "conformal", "peak_predicted", "peak_upper", "peak_lower", "horizon")


@dataclass(frozen=True)
class Choices:
    """The five choices. What each value means is said in `MEANING`."""

    batching: Batching
    prefill: Prefill
    reserve: Reserve
    order: Order
    eviction: Eviction = "recompute"
    victim: Victim = "last_admitted"


@dataclass(frozen=True)
class System:
    """A named scheduler."""

    name: str
    title: str  # as people call it
    idea: Idea
    source: str
    knows: str  # about output lengths
    reserves: str  # KV memory at admission
    gives_way: str  # who, and how, when memory runs out
    choices: Choices
    knobs: tuple[str, ...] = ()  # fields of `Scheduler` it reads, besides those of all
    seats: int | None = None  # default of max_num_seqs; None: vLLM's for the GPU
    budget: int | Budget | None = None  # default of max_num_batched_tokens, likewise
    watermark: float = 0.0  # default
    details: dict[str, Any] = field(default_factory=dict)  # further rules of the loop that no knob moves
    engine: Literal["general", "calendar", "sglang"] = "general"  # which loop runs it while nothing is overridden

    @property
    def is_preemptive(self) -> bool:
        """Whether every iteration chooses among all live requests."""
        return self.choices.order in PREEMPTIVE_ORDERS

    @property
    def reads_predictor(self) -> bool:
        """Whether the scenario's predictor makes a difference."""
        return reads_predictor(self.choices)


def reads_predictor(choices: Choices) -> bool:
    """Whether the predictor makes a difference under these choices."""
    is_in_choice = choices.order in PREDICTED_ORDERS or choices.reserve in PREDICTED_RESERVES
    return is_in_choice or choices.victim == "largest_remaining"


MEANING: dict[str, dict[str, str]] = {
    "batching": {
        "iteration": "requests join and leave at every iteration",
        "request": "a batch runs until its last member ends; nobody joins it",
    },
    "prefill": {
        "mixed": "whole prompts beside decoding",
        "first": "whole prompts in iterations of their own, before any decoding",
        "chunked": "prompts are cut to what decoding leaves of the token budget",
        "alternate": "iterations of prompt chunks and of decoding in turns",
    },
    "reserve": {
        "chunk": "blocks of the first chunk",
        "prompt": "blocks of the prompt",
        "cap": "prompt + cap",
        "max_model_len": "the longest sequence the server allows",
        "pow2": "prompt + the power of two at or above the true output",
        "truth": "prompt + the true output",
        "predicted": "prompt + the predicted output, or its class's upper end",
        "quantile": "prompt + a quantile of the predicted output",
        "conformal": "prompt + the prediction times a quantile of past truth / prediction",
        "peak_predicted": "nothing; the future peak by predicted lengths must fit",
        "peak_upper": "nothing; the future peak by upper bounds must fit",
        "peak_lower": "nothing; the future peak by present lower bounds must fit",
        "peak_history": "nothing; the future peak by lengths drawn from past ones must fit",
        "peak_aggressive": "nothing; the future peak must fit if outputs end soon",
        "peak_cap": "nothing; the future peak must fit if all generate to their caps",
        "peak_truth": "nothing; the future peak by true lengths must fit",
        "horizon": "nothing; what all hold `horizon` iterations ahead must fit",
    },
    "order": {
        "arrival": "first come, first served",
        "priority": "smallest priority number",
        "predicted": "shortest predicted output",
        "upper": "smallest upper bound of the output",
        "lower": "smallest lower bound of the output",
        "shortest_guarded": "shortest predicted output, unless somebody has waited too long",
        "tail_averse": "smallest mean plus a share of the tail's mean",
        "largest_need": "largest reservation that fits",
        "fair": "client that was served least",
        "by_type": "task types in turns",
        "rank": "smallest predicted rank, running or not",
        "true_length": "shortest true output, running or not",
        "true_remaining": "least true output left, running or not",
        "levels": "queues with growing quanta",
        "skip_levels": "queues with growing quanta, entered by prefill time",
        "refined": "least output left by an estimate that is refined while generating",
        "declared": "arrival for the first tokens, then by declared length",
        "planned": "groups planned ahead by predicted length",
    },
    "eviction": {
        "recompute": "KV is thrown away, tokens are kept",
        "swap": "KV moves to host memory",
        "restart": "KV and tokens are thrown away",
        "fail": "out of memory: the whole batch dies and starts again",
    },
    "victim": {
        "last_admitted": "the last admitted",
        "latest_arrival": "the latest arrival",
        "last_in_order": "the last in the order",
        "largest_remaining": "the one with the most predicted output left",
        "fewest_generated": "the one with the fewest generated tokens",
        "smallest_bound": "the one with the smallest present bound",
    },
}
