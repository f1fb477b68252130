"""Predictor in figures: from numbers written down here."""

import numpy as np
import pytest

from sim.studies.predictor.break_even import Limits
from sim.studies.predictor.error_map import BIASES, FINE_BIASES, OBJECTIVES, SPREADS, TWICE, direction
from sim.studies.predictor.published import LESSON
from sim.studies.predictor.uses import Use
from sim.view import limits_figure, predictor_figures
from tests.predictor_runs import THROUGHPUT, errors, now, published, steep


def test_map_has_the_objective_in_its_unit_the_own_predictor_and_the_published_ones_apart():
    found = {"ranker_lmsys": published("ranker_lmsys", 0.62, spread=0.60)}
    found |= {"self_declared_lmsys": published("self_declared_lmsys", 0.67, spread=0.61)}
    found |= {"class10_lmsys": published("class10_lmsys", 0.17, 0.97, spread=3.7)}
    figure = predictor_figures.error_map(
        errors(lambda bias: now(tpot_s=0.02)), "p99 TPOT", OBJECTIVES["p99 TPOT"], (TWICE, 0.5), found, is_complete=True
    )
    heat, own, names = figure.data
    assert np.asarray(heat.z).shape == (len(SPREADS), len(BIASES))
    assert np.asarray(heat.z) == pytest.approx(20)
    assert heat.reversescale
    assert (own.x[0], own.y[0]) == (1, 0.5)
    assert list(names.text) == ["ranker", "self-declared", "10 classes ▴ 3.7"]
    assert np.diff(names.y).min() > 0.05
    assert max(names.y) <= figure.layout.yaxis.range[1]


def test_labels_are_moved_apart_and_stay_below_the_top():
    assert predictor_figures.spaced([0.1, 0.11, 0.9], 0.1, 1.0) == pytest.approx([0.1, 0.2, 0.9])
    assert predictor_figures.spaced([0.95, 0.96, 0.97], 0.1, 1.0) == pytest.approx([0.8, 0.9, 1.0])
    assert predictor_figures.spaced([], 0.1, 1.0) == []


def test_curve_marks_both_sides_the_best_and_no_predictor():
    found = errors(steep)
    best = direction(found, 0.5, THROUGHPUT)
    figure = predictor_figures.bias_curve(
        found, 0.5, ("throughput", "p99 TPOT"), OBJECTIVES, best, now(80.0), is_complete=True
    )
    names = [trace.name for trace in figure.data]
    assert names == ["throughput", "no predictor", "p99 TPOT", "no predictor"]
    assert list(figure.data[0].x) == pytest.approx([bias / TWICE for bias in FINE_BIASES])
    assert list(figure.data[1].y) == [80, 80]
    words = " ".join(each.text for each in figure.layout.annotations)
    assert "under-predicts" in words
    assert "over-predicts" in words
    assert len([shape for shape in figure.layout.shapes if shape.type == "rect"]) == 2


def test_limits_have_a_line_for_each_use_in_both_panels():
    by_spread, waits, meanwhile = ([0.0, 0.5], [0.2, 0.1]), ([0.0, 3.0], [0.4, 0.3]), ([0.0, 10.0], [0.4, 0.4])
    both = dict.fromkeys((Use.RESERVE, Use.ORDER), Limits(by_spread, waits, meanwhile))
    figure = limits_figure.limits(both, is_complete=False)
    assert [trace.name for trace in figure.data] == ["reservation", "ordering"] * 3
    assert list(figure.data[0].y) == pytest.approx([20, 10])
    assert [figure.data[i].marker.symbol for i in (2, 4)] == [None, "circle-open"]
    # 0, 1, 3 and 10 ms stand side by side: the scheduler that goes on was tried at the first and the last of them.
    assert [list(figure.data[i].x) for i in (2, 4)] == [[0, 2], [0, 3]]
    assert len({trace.uid for trace in figure.data}) == 6
    assert figure.layout.annotations[0].text.startswith("incomplete")


def test_every_predictor_of_the_lesson_has_a_name_and_a_place():
    found = {name: published(name, 0.5, 0.9) for name in LESSON}
    figure = predictor_figures.lesson(found, now(e2e_s=0.4))
    assert len(figure.data[0].x) == len(LESSON)
    assert figure.data[0].text[0] == "10 classes: 90 % in the right class"
    assert list(figure.data[1].y) == [400, 400]
