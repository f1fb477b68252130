"""Latencies of a loaded server without simulating it: what a fit differentiates. Source: cost.md.

Every user's prompt is prefilled once while the others decode an answer, so

    TPOT = decode step + (users - 1) / output tokens * extra time of the steps that carry a prefill
    TTFT = decode step + that extra time

with all sequences at prompt + half of the answer. Waves, queueing and preemption are not in it: whoever uses it
multiplies by what a simulation says over what this form says.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.cost.coefficients import Coefficients
from sim.cost.measured_point import MeasuredPoint
from sim.cost.step_time import linear_ms
from sim.cost.terms import Terms, terms_of
from sim.system_spec import Deployment

Floats = NDArray[np.float64]


class Load(NamedTuple):
    """Points of one deployment, ready for the form; one row a point."""

    users: Floats
    prompt: Floats  # tokens
    output: Floats
    chunks: Floats  # steps that a prompt takes
    decode: Terms  # of a step in which all users decode
    mixed: Terms  # of a step that carries one chunk as well


class Latencies(NamedTuple):
    """In milliseconds, one row a point."""

    tpot_ms: Floats
    ttft_ms: Floats


def load_of(deployment: Deployment, points: Sequence[MeasuredPoint], max_num_batched_tokens: int) -> Load:
    """What the form needs to know about points."""
    users = np.array([point.in_flight for point in points])
    prompt = np.array([point.prompt_tokens for point in points])
    output = np.array([point.output_tokens for point in points])
    chunks = np.ceil(prompt / max_num_batched_tokens)
    mixed = terms_of(deployment, users + prompt / chunks)
    return Load(users, prompt, output, chunks, terms_of(deployment, users), mixed)


def latencies(load: Load, fit: Coefficients, host_ms: float) -> Latencies:
    """TPOT and TTFT of all points by the form."""
    decode_ms, mixed_ms = linear_ms(load.decode, fit, host_ms), linear_ms(load.mixed, fit, host_ms)
    step_ms = decode_ms + fit.inv_eff_kv * load.decode.kv_ms * load.users * (load.prompt + load.output / 2)
    extra_ms = load.chunks * (mixed_ms - decode_ms) + fit.inv_eff_attn * load.decode.attention_ms * load.prompt**2 / 2
    return Latencies(step_ms + (load.users - 1) / load.output * extra_ms, step_ms + extra_ms)
