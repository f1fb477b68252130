"""Lengths drawn by hand."""

import numpy as np
import pytest

from sim.errors import ScenarioError
from sim.presets import preset
from sim.studies.length_profile import outputs
from sim.view.drawn_lengths import MARKS, marks, with_drawn

DRAWN = {"min": 10, "p10": 20, "p50": 100, "p90": 200, "p95": 400, "p99": 800, "max": 1000}


def test_marks_are_the_quantiles_in_whole_tokens():
    assert marks(np.arange(1, 102)) == {"min": 1, "p10": 11, "p50": 51, "p90": 91, "p95": 96, "p99": 100, "max": 101}


def test_what_is_drawn_is_what_the_requests_have():
    found = marks(outputs(with_drawn(preset("chat"), 0, DRAWN)).output_len)
    for name in ("p10", "p50", "p90"):  # of 10,000 draws the 90 % quantile is one of 89.4 to 90.6 %: within 24 tokens
        assert found[name] == pytest.approx(DRAWN[name], rel=0.12)
    assert found["max"] <= 1000
    assert found["min"] >= 10


def test_a_share_moves_the_mix_and_leaves_the_other_types_lengths():
    before = preset("textbook-straggler")
    after = with_drawn(before, 1, DRAWN, 3.0)
    assert [task.share for task in after.workload.types] == [before.workload.types[0].share, 3.0]
    assert after.workload.types[0].output == before.workload.types[0].output
    assert with_drawn(before, 1, DRAWN).workload.types[1].share == before.workload.types[1].share


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"p90": 50}, "p90 is 50; at least p50 (100) is needed"), ({"min": 0}, "lengths run from 0"),
     ({"max": 99_000_000}, "is allowed")],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_sentence(changed, told):
    with pytest.raises(ScenarioError) as refused:
        with_drawn(preset("chat"), 0, DRAWN | changed)
    assert told in str(refused.value)
    assert set(DRAWN) == set(MARKS)
