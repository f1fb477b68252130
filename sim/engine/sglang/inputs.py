"""The settings of one SGLang scheduler. Source: README of the SGLang goldens."""

from enum import IntEnum
from typing import NamedTuple

from sim.engine.inputs import SHARED_TEXT

END_OF_TEXT = SHARED_TEXT  # content id of the end-of-sequence token, where a run has one


class SglangOrder(IntEnum):
    """`schedule_policy`: which waiting request is tried first."""

    FCFS = 0
    LPM = 1  # longest cached prefix
    LOF = 2  # largest max_new_tokens


class StepKind(IntEnum):
    """What an iteration ran."""

    IDLE = 0
    PREFILL = 1
    DECODE = 2
    MIXED = 3


class SglangRules(NamedTuple):
    """Settings of one SGLang scheduler."""

    order: int  # `SglangOrder`
    pool_tokens: int  # KV tokens, `max_total_num_tokens`
    page_size: int  # tokens
    max_running_requests: int
    max_prefill_tokens: int
    chunked_prefill_size: int  # 0: prompts are not cut
    prefill_max_requests: int  # admissions in one pass; 0: any number
    context_len: int  # tokens
    clip_max_new_tokens: int  # most tokens that the estimate of an output counts
    retract_decode_steps: int
    mixed_chunk: bool
    radix_cache: bool
    overlap: bool
    init_ratio: float  # the new-token ratio: at first and after idling, its floor, and the drop at a decode step
    min_ratio: float
    ratio_drop: float


def plain_rules(rules: SglangRules) -> SglangRules:
    """Rules of one type each, so that the loop compiles once."""
    plain = {name: float(value) if "ratio" in name else int(value) for name, value in rules._asdict().items()}
    return SglangRules(**plain)  # type: ignore[arg-type]
