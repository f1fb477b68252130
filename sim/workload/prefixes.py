"""Texts that prompts share: system prompts, few-shot examples, documents."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.engine.inputs import SHARED_TEXT
from sim.workload.randomness import Purpose, RandomNumbers
from sim.workload_spec import TaskType

Ints = NDArray[np.int64]


class Segments(NamedTuple):
    """Shared texts at the start of prompts; request `i` has rows `start[i]` to `start[i + 1]`."""

    start: Ints  # (n + 1,)
    content: Ints  # (m,) content id, from SHARED_TEXT on
    length: Ints  # (m,) tokens


def no_segments(n: int) -> Segments:
    """Every prompt is a text of its own."""
    nothing = np.zeros(0, dtype=np.int64)
    return Segments(np.zeros(n + 1, dtype=np.int64), nothing, nothing)


def draw_prefixes(
    tasks: Sequence[TaskType], type_id: Ints, prompt_len: Ints, numbers: RandomNumbers
) -> tuple[Segments, Ints]:
    """Choose each request's shared prefix.

    A prompt shorter than the shared text is the beginning of that text.

    Parameters
    ----------
    tasks : sequence of TaskType
        One for each value of `type_id`.
    type_id, prompt_len : (n,) int64
        Task type and tokens of each request.
    numbers : RandomNumbers
        Purpose PREFIX is used.

    Returns
    -------
    segments : Segments
        One a request that shares anything.
    prefix_group : (n,) int64
        Which of its type's prefixes a request has, from 0; -1 where it shares nothing.
    """
    n = len(prompt_len)
    if not any(task.shared_prefix_tokens for task in tasks):
        return no_segments(n), np.full(n, -1, dtype=np.int64)
    num_prefixes = np.array([task.num_prefixes for task in tasks])
    first_content = SHARED_TEXT + np.cumsum(num_prefixes) - num_prefixes
    group = (numbers.uniforms(Purpose.PREFIX, n) * num_prefixes[type_id]).astype(np.int64)
    shared_len = np.minimum(np.array([task.shared_prefix_tokens for task in tasks])[type_id], prompt_len)
    shares = shared_len > 0
    segments = Segments(
        start=np.concatenate(([0], np.cumsum(shares))),
        content=(first_content[type_id] + group)[shares],
        length=shared_len[shares],
    )
    return segments, np.where(shares, group, -1)
