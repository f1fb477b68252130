"""Figures of the comparison: what they show of memory over time."""

import numpy as np
import pytest

from sim.studies.compare import Memory, Row
from sim.view.compare import going_on
from sim.view.compare_figures import against_load, memory, memory_end_s


def of(end_s: float) -> Row:
    """A run of that length, half of its memory in use."""
    time_s = (np.arange(4) + 0.5) * end_s / 4
    return Row(None, Memory(time_s, np.full(4, 0.5), np.zeros(4)), "")


def test_who_takes_far_longer_than_most_makes_no_slivers_of_the_others() -> None:
    rows = {"vllm_v1": of(100.0), "static": of(900.0), "orca": of(180.0)}
    assert memory_end_s(rows) == 2 * 180  # twice the median
    assert all(memory(rows).layout[f"xaxis{n}"].range == (0, 360) for n in ("", 2, 3))
    assert going_on(rows, 360.0) == "Shown up to 360 s: Static batching goes on to 900 s."


def test_panels_that_share_a_scale_are_equally_high_and_apart() -> None:
    names = ("vllm_v1", "static", "orca", "sarathi", "s3", "rank")
    layout = memory({name: of(100.0) for name in names}).layout
    domains = [layout[f"yaxis{n}"].domain for n in ("", 2, 3, 4, 5, 6)]
    heights = [high - low for low, high in domains]
    assert max(heights) - min(heights) < 1e-9
    assert min(low for low, _ in domains) == 0
    assert domains[0][0] > domains[4][1] + 0.1  # room for the times of one and the name of the other


@pytest.mark.parametrize(("panels", "lines"), [(1, [1]), (4, [4]), (5, [3, 2]), (6, [3, 3]), (7, [4, 3]), (8, [4, 4])])
def test_lines_of_panels_are_about_equally_long(panels: int, lines: list[int]) -> None:
    names = ("vllm_v1", "static", "orca", "sarathi", "s3", "rank", "sglang", "vllm_v0")[:panels]
    layout = memory({name: of(100.0) for name in names}).layout
    tops = [layout["yaxis" + (str(n + 1) if n else "")].domain[1] for n in range(panels)]
    assert [tops.count(top) for top in sorted(set(tops), reverse=True)] == lines


def test_runs_about_as_long_as_each_other_are_shown_whole() -> None:
    rows = {"vllm_v1": of(100.0), "static": of(150.0)}
    assert memory_end_s(rows) == 150
    assert going_on(rows, 150.0) == ""


def test_several_that_go_on_are_listed() -> None:
    rows = {"vllm_v1": of(100.0), "sarathi": of(100.0), "vllm_v0": of(100.0), "static": of(900.0), "orca": of(1400.0)}
    assert going_on(rows, memory_end_s(rows)) == (
        "Shown up to 200 s: Static batching goes on to 900 s and Orca goes on to 1,400 s."
    )


def test_before_there_is_a_point_the_axes_already_span_a_decade() -> None:
    limits = {"ttft_p99_s": 1.0, "tpot_p99_s": 0.05}
    layout = against_load([], ["vllm_v1", "orca"], "rate", limits, [], is_complete=False).layout
    for axis in (layout.xaxis, layout.yaxis, layout.yaxis2):
        assert 1 <= axis.range[1] - axis.range[0] < 1.2
    assert 10 ** layout.yaxis.range[0] < 5 < 50 < 10 ** layout.yaxis.range[1]  # ms: the limit is in sight
