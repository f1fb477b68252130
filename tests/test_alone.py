"""Time alone on an idle machine, against runs of one request."""

import numpy as np
import pytest

from sim import simulate, with_values
from tests.cases import BASE, run, trace

CATALOG = with_values(BASE, {"cost.source": "catalog"})


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"scheduler.max_num_batched_tokens": 64},
        {"scheduler.max_num_batched_tokens": 64, "scheduler.long_prefill_token_threshold": 16},
        {"scheduler.system": "static"},
        {"scheduler.system": "static", "scheduler.hold": False},
    ],
)
@pytest.mark.parametrize(("prompt", "output"), [(1, 1), (1, 50), (64, 2), (65, 1), (500, 90)])
def test_single_request_is_not_slowed_down(values: dict[str, object], prompt: int, output: int) -> None:
    assert run(with_values(CATALOG, values), trace([output], prompt)).slowdown == pytest.approx([1.0], rel=1e-9)


def test_request_that_waits_for_a_slot_is_slowed_down_by_the_wait() -> None:
    result = run(with_values(BASE, {"scheduler.max_num_seqs": 1}), trace([4, 4]))
    assert result.slowdown.tolist() == [1.0, 2.0]


def test_no_request_is_quicker_in_company() -> None:
    values = {
        "workload.num_requests": 300,
        "workload.types.0.shared_prefix_tokens": 100,
        "scheduler.enable_prefix_caching": True,
        "scheduler.max_num_batched_tokens": 512,
        "deployment.block_size": 16,
    }
    result = simulate(with_values(CATALOG, values))
    assert result.run.outcome.cached_tokens.max() > 0
    assert np.nanmin(result.slowdown) >= 1 - 1e-9
