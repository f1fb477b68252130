"""How long each request would take alone on an idle machine: the yardstick of its slowdown."""

import numpy as np
from numpy.typing import NDArray

from sim.engine.inputs import StepTime

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def e2e_alone_s(step_time: StepTime, prompt_len: Ints, output_len: Ints, cached: Ints, largest_chunk: int) -> Floats:
    """End-to-end time of every request if nobody else were there.

    Parameters
    ----------
    step_time : StepTime
    prompt_len, output_len, cached : (n,) int64
        Tokens; the first `cached` tokens of the prompt are found in the prefix cache.
    largest_chunk : int
        Tokens of a prompt that one iteration takes.

    Returns
    -------
    (n,) float64
        Seconds: the chunks of the prompt, the last of which brings the first token, then one iteration a token.
    """
    decodes = output_len - 1
    contexts = decodes * prompt_len + decodes * (decodes + 1) / 2  # prompt + 1, prompt + 2, ...
    total_s = decodes * linear_s(step_time, np.ones(1, dtype=np.int64)) + step_time.kv_s * contexts
    done = cached.astype(np.int64)
    while (left := prompt_len - done).any():
        chunk = np.minimum(left, largest_chunk)
        work = chunk * done + chunk * chunk / 2
        seconds = linear_s(step_time, chunk) + step_time.kv_s * done + step_time.attention_s * work
        total_s += np.where(chunk > 0, seconds, 0.0)
        done = done + chunk
    return total_s


def linear_s(step_time: StepTime, tokens: Ints) -> Floats:
    """Token-proportional part of iterations; a straight line past the table."""
    last = len(step_time.linear_s) - 1
    seconds: Floats = step_time.linear_s[np.minimum(tokens, last)]
    return seconds + np.maximum(tokens - last, 0) * step_time.beyond_s
