"""Published predictors on a scenario's requests."""

import warnings

import numpy as np
import pytest

from sim import preset, with_values
from sim.catalog import predictor_names
from sim.studies.predictor.published import DRIFTS, LESSON, names, run_published

TIGHT = with_values(preset("memory-pressure"), {"workload.num_requests": 600})


def test_every_published_predictor_comes_once_the_lesson_first():
    assert names()[: len(LESSON)] == LESSON
    assert sorted(names()) == sorted(predictor_names())
    assert {name for pair in DRIFTS for name in pair} <= set(predictor_names())


def test_a_ranker_has_its_tau_here_and_the_spread_that_orders_as_badly():
    found = run_published(TIGHT, "ranker_lmsys")
    assert found.tau == pytest.approx(0.62, abs=4 * 0.67 / np.sqrt(600))
    assert np.isnan(found.accuracy)
    # For log-normal lengths of CV 1.2, ln spread 0.944: tau = (2 / pi) asin of the correlation.
    correlation = np.sin(np.pi * found.tau / 2)
    assert found.spread == pytest.approx(0.944 * np.sqrt(1 / correlation**2 - 1), rel=0.1)


def test_one_request_has_no_order_and_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(run_published(with_values(TIGHT, {"workload.num_requests": 1}), "ranker_lmsys").tau)


def test_better_order_shortens_the_mean_wait_whatever_the_accuracy():
    classes, ceiling = (run_published(TIGHT, name) for name in ("class10_lmsys", "ceiling_lmsys"))
    assert classes.accuracy > 0.75
    assert classes.tau < 0.3
    assert ceiling.ordering.norm_latency_mean_s < 0.5 * classes.ordering.norm_latency_mean_s
