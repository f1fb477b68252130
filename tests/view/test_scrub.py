"""One stage for several positions of a knob."""

import numpy as np
import plotly.graph_objects as go
import pytest

from sim.view.scrub import stage
from sim.view.theme import axis, log_axis


def figure(lines, **layout):
    return go.Figure([go.Scatter(uid=uid, x=[1.0, 2.0], y=y) for uid, y in lines], layout)


def test_stage_has_every_line_where_it_follows_in_its_own_figure():
    staged = stage([figure([("a", [1, 2]), ("c", [1, 2])]), figure([("a", [3, 4]), ("b", [3, 4]), ("c", [3, 4])])])
    assert [trace.uid for trace in staged.data] == ["a", "b", "c"]
    assert list(staged.data[0].y) == [1, 2]


def test_axes_without_a_range_of_their_own_reach_from_zero_over_every_line():
    own = {"xaxis": axis("x"), "yaxis": axis("y")}
    staged = stage([figure([("a", [1, 2])], **own), figure([("a", [30, np.nan])], **own)])
    assert list(staged.layout.xaxis.range) == [0, 2]
    assert list(staged.layout.yaxis.range) == pytest.approx([0, 31.5])


def test_logarithmic_axes_reach_over_all_and_get_ticks_for_it():
    low, high = (figure([("a", [1, 2])], xaxis=log_axis("x", *ends)) for ends in ((1, 10), (100, 1000)))
    staged = stage([low, high])
    assert staged.layout.xaxis.range == (low.layout.xaxis.range[0], high.layout.xaxis.range[1])
    assert {1, 10, 100, 1000} <= set(staged.layout.xaxis.tickvals)


def test_there_is_a_note_for_every_note_of_any_position():
    note = {"text": "only here", "showarrow": False}
    staged = stage([figure([("a", [1, 2])]), figure([("a", [1, 2])], annotations=[note])])
    assert [each.text for each in staged.layout.annotations] == ["only here"]
