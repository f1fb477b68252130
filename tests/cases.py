"""Small runs for tests: explicit lengths, one-second steps, blocks of one token."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim import Result, Scenario, Trace, simulate, with_values

STEP_S = 1.0  # T: with it a time in seconds reads as a number of iterations

BASE = Scenario(
    deployment={"block_size": 1, "num_gpu_blocks_override": 100_001},
    workload={"arrivals": {"kind": "all_at_once"}},
    scheduler={
        "max_num_seqs": 32,
        "max_num_batched_tokens": 100_000,
        "enable_prefix_caching": False,
        "async_scheduling": False,
    },
    cost={"source": "constant", "step_ms": 1000 * STEP_S},
)
STATIC = with_values(BASE, {"scheduler.system": "static", "workload.types.0.cap": 2000})


def trace(
    output_len: Sequence[int],
    prompt_len: int | Sequence[int] = 1,
    arrival_s: Sequence[float] | None = None,
    types: Sequence[str] = (),
) -> Trace:
    """Requests with these lengths; types by name, one a request."""
    names = tuple(dict.fromkeys(types))
    n = len(output_len)
    return Trace(
        name="case.csv",
        sha256="0" * 64,
        layout="plain",
        arrival_s=None if arrival_s is None else np.asarray(arrival_s, dtype=np.float64),
        prompt_len=np.broadcast_to(np.asarray(prompt_len, dtype=np.int64), n).copy(),
        output_len=np.asarray(output_len, dtype=np.int64),
        type_names=names,
        type_id=np.array([names.index(name) for name in types] or [0] * n, dtype=np.int64),
    )


def with_blocks(scenario: Scenario, usable_blocks: int, **values: Any) -> Scenario:
    """The scenario with so many usable blocks, and other values by path, `__` for the dots."""
    changed = {path.replace("__", "."): value for path, value in values.items()}
    return with_values(scenario, {"deployment.num_gpu_blocks_override": usable_blocks + 1, **changed})


def run(scenario: Scenario, requests: Trace) -> Result:
    """Simulate with the step table kept, and refuse a run whose books do not balance."""
    result = simulate(scenario, requests, record_steps=True)
    assert max(result.ledger.imbalance()) < 1e-9
    return result
