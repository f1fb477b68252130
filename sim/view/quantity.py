"""What a number is: its name, unit and definition in one value, so that title, axis and tile cannot disagree."""

from typing import NamedTuple

from sim.view.number_words import short_number, time_parts

TIMES = ("s", "ms")


class Quantity(NamedTuple):
    """A metric as people read it.

    Source: metrics.md, sections 1 and 2.
    """

    key: str  # column or summary name
    label: str
    unit: str
    definition: str
    higher_is_better: bool | None  # None: neither is
    scale: float = 1.0  # shown number = stored number x scale
    short_label: str = ""  # where there is little room

    @property
    def short(self) -> str:
        """Label where there is little room."""
        return self.short_label or self.label

    @property
    def axis_title(self) -> str:
        """Label and unit, for an axis."""
        if self.label.endswith(")"):  # one pair of brackets
            return f"{self.label[:-1]}, {self.unit})"
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def parts(self, value: float) -> tuple[str, str]:
        """A stored value as number and unit; a time in what suits its size, not in the unit of the axis."""
        return time_parts(value) if self.unit in TIMES else (short_number(value * self.scale), self.unit)

    def told(self, value: float) -> str:
        """A stored value with its unit."""
        return " ".join(self.parts(value)).rstrip()


TTFT = Quantity(
    "ttft_s", "TTFT", "s", "Time to first token: first token - arrival; queueing and prefill included.", False
)
TPOT = Quantity(
    "tpot_s",
    "TPOT",
    "ms",
    "Time per output token of one request: (last token - first token) / (tokens - 1). "
    "Requests with one token have none.",
    False,
    1e3,
)
NORM_LATENCY = Quantity(
    "norm_latency_s",
    "E2E per token (batch delivery)",
    "ms",
    "(Finish - arrival) / output tokens. Every token of a held batch is delivered when the batch ends, so gaps "
    "between tokens say nothing; some papers call this number TPOT.",
    False,
    1e3,
    "E2E/token",
)
ITL = Quantity(
    "itl_s",
    "ITL",
    "ms",
    "Inter-token latency: every gap between two tokens of one request, pooled over all requests; stalls and "
    "preemptions included. Not the same as TPOT, which averages each request first.",
    False,
    1e3,
)
OUTPUT_RATE = Quantity(
    "output_tokens_per_s",
    "Output rate",
    "tokens/s",
    "Output tokens produced / (last finish - first arrival). Prompt tokens and tokens computed again after a "
    "preemption do not count.",
    True,
)
INPUT_RATE = Quantity(
    "input_tokens_per_s",
    "Prompt rate",
    "tokens/s",
    "Prompt tokens processed; what is computed again after a preemption counts here, what the prefix cache holds "
    "does not.",
    True,
)
TOTAL_RATE = Quantity(
    "total_tokens_per_s", "Processing rate", "tokens/s", "Prompt and decode tokens processed in iterations.", True
)
SATURATED_RATE = Quantity(
    "plateau_tokens_per_s",
    "Output rate, saturated",
    "tokens/s",
    "Output tokens/s with all requests waiting from the start, between 10 % and 90 % of the output: without filling up "
    "and running empty.",
    True,
)
KV_USE = Quantity(
    "kv_util",
    "KV use",
    "%",
    "Computed tokens of running requests / all KV memory, averaged over the run. Idle cached prefixes, unfilled block "
    "ends and reservations do not count. More is neither better nor worse.",
    None,
    100.0,
)
PREEMPTIONS = Quantity(
    "preemptions",
    "Preemptions",
    "",
    "How often a running request lost its KV memory because a block was missing, or to one that goes first. It "
    "computes its tokens a second time, or brings them back from host memory where they were swapped out.",
    False,
)
GOODPUT = Quantity(
    "goodput_rps",
    "Goodput",
    "requests/s",
    "Requests that meet all limits / duration (rate form). Set limits under Targets.",
    True,
)
LIMIT_NAMES = {"ttft_ms": TTFT.label, "tpot_ms": TPOT.label, "e2e_ms": "E2E"}  # by field of `slo`
QUANTITIES = (
    OUTPUT_RATE, SATURATED_RATE, INPUT_RATE, TOTAL_RATE, TTFT, TPOT, ITL, NORM_LATENCY, KV_USE, PREEMPTIONS, GOODPUT
)  # fmt: skip
