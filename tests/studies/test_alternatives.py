"""Alternatives of a capacity: what they are held to besides their rate."""

import numpy as np
import pytest

from sim import simulate, with_values
from sim.presets import preset
from sim.studies.alternatives import LIGHT_REQUESTS, share_cut, tried
from sim.studies.output_lengths import capped


def test_the_share_of_answers_that_a_cap_cuts_is_of_all_requests() -> None:
    """As on Operate; the search itself looks at the first 4,000 of 10,000."""
    crowded = preset("mixed-priority")
    found = tried(capped(crowded, 512), None, 0.9).searched
    assert found is not None
    whole = simulate(crowded).info.true_len
    assert found.truncated == pytest.approx(float(np.mean(whole > 512)), abs=1e-12)
    assert abs(float(np.mean(whole[:LIGHT_REQUESTS] > 512)) - found.truncated) > 0.003


def test_what_is_cut_anyway_is_counted_as_what_a_change_cuts() -> None:
    """Clients ask again here, and some prompts leave no room: both have their first answers of all requests."""
    asked = with_values(
        preset("summarisation"),
        {
            "workload.num_requests": 6000,
            "workload.client_retry": "rest",
            "workload.types.0.cap": 128,
            "deployment.max_model_len": 4096,
        },
    )
    run = simulate(with_values(asked, {"workload.client_retry": "never"}))
    is_answered = run.inputs.prompt_len < 4096
    room = np.minimum(128, 4096 - run.inputs.prompt_len)
    cut = float(np.mean((run.info.true_len > room)[is_answered]))
    assert 0.3 < cut < 0.9
    assert share_cut(asked, None) == pytest.approx(cut, abs=1e-12)


def test_a_refusal_is_an_answer() -> None:
    free = with_values(preset("chat"), {"slo": {}})
    assert tried(free, None, 0.9).refusal.startswith("slo is without a limit")
