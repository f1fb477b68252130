"""The naive SGLang behind the signature of a golden's run function."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.engine.sglang.inputs import SglangRules
from sim.golden.sglang_run import SglangRequests, SglangRun, SglangSteps
from tests.naive.sglang import Step, simulate


def run(rules: SglangRules, requests: SglangRequests) -> SglangRun:
    """Serve all requests."""
    members, steps = simulate(rules, requests)
    return SglangRun(columns(steps), np.array([member.max_new for member in members]))


def columns(steps: list[Step]) -> SglangSteps:
    """A list of iterations as arrays."""

    def counts(name: str) -> np.ndarray:
        return np.array([getattr(step, name) for step in steps], np.int64)

    def lists(name: str, *shape: int) -> tuple[np.ndarray, np.ndarray]:
        entries: Sequence[Sequence[Any]] = [getattr(step, name) for step in steps]
        flat = np.array([entry for each in entries for entry in each], np.int64).reshape(-1, *shape)
        return np.cumsum([0, *map(len, entries)], dtype=np.int64), flat

    prefill, decode, retracted, finished = (
        lists("prefill", 3), lists("decode"), lists("retracted"), lists("finished"),
    )  # fmt: skip
    return SglangSteps(
        counts("step"),
        counts("kind"),
        *prefill,
        counts("hit"),
        *decode,
        *retracted,
        *finished,
        counts("running"),
        counts("waiting"),
        counts("available"),
        counts("evictable"),
        np.array([-1 if step.chunked is None else step.chunked for step in steps], np.int64),
        counts("is_full"),
        np.array([step.ratio for step in steps]),
        np.array([step.ratio_end for step in steps]),
        counts("is_reset"),
    )
