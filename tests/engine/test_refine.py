"""The filter behind refined predictions: against a naive one, and how much it gains."""

import numpy as np
import pytest
from numba import njit

from sim.engine.general import refine
from sim.scenario import Scenario, with_values
from sim.workload import make_requests
from sim.workload.predictions import make_predictions
from sim.workload.refinement import first_posterior, make_refinement

ALPACA = {  # schedulers.md, 5.2
    "kind": "quantiles",
    "points": [[0, 1], [0.1, 16], [0.25, 33], [0.5, 101], [0.75, 174], [0.9, 276], [0.95, 333], [0.99, 484], [1, 512]],
}
MASK = 2**64 - 1


@njit
def random_53(key, i, number):
    return refine.random_53(key, i, number)


@njit
def follow(i, output_len, key, every, width, scale, thresholds, likelihood, posterior, estimate):
    """Estimate of what is left at every look at one request."""
    for generated in range(every, output_len, every):
        estimate[generated // every - 1] = refine.refresh(
            i, generated, output_len - generated, key, every, width, scale, thresholds, likelihood, posterior
        )


def refined(n, every=None, output=ALPACA, **predictor):
    """Requests with refined predictions, and all that the filter needs."""
    values = {"workload.num_requests": n, "workload.types.0.output": output, "workload.types.0.cap": 512}
    values["predictor.kind"] = "refined"
    scenario = with_values(Scenario(), values | {f"predictor.{name}": value for name, value in predictor.items()})
    requests, info = make_requests(scenario, max_model_len=8192)
    predictions = make_predictions(scenario, requests, info)
    refinement = make_refinement(scenario, requests, every=every)
    return requests, predictions, refinement, first_posterior(predictions, refinement)


def estimates(i, requests, refinement, posterior):
    """What the compiled filter says at every look at request `i`."""
    found = np.zeros(int(requests.output_len[i]) // refinement.every + 1)
    follow(i, int(requests.output_len[i]), *refinement, posterior, found)
    return found[: (int(requests.output_len[i]) - 1) // refinement.every]


def naive_word(key, i, number):
    """SplitMix64 in whole numbers of any size."""
    z = (key + 0x9E3779B97F4A7C15 * ((i << 32) + number)) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return (z ^ (z >> 31)) >> 11


def naive_estimates(i, output_len, refinement, belief):
    """The same filter with matrices."""
    k, width = len(belief), refinement.width
    down = np.eye(k) * (1 - 1 / width) + np.diag(np.full(k - 1, 1 / width), 1)
    down[0, 0] = 1
    down = np.linalg.matrix_power(down, refinement.every)
    middles = np.array([(c * width + 1 + (c + 1) * width) / 2 for c in range(k)])
    found = []
    for generated in range(refinement.every, output_len, refinement.every):
        left = (output_len - generated) * refinement.scale
        true_class = min(int((left - 0.5) / width), k - 1)
        word = naive_word(refinement.key, i, generated // refinement.every)
        seen = int((word >= refinement.thresholds[true_class, :-1]).sum())
        belief = (down @ belief) * refinement.likelihood[:, seen]
        belief = belief / belief.sum()
        found.append(float(belief @ middles))
    return np.array(found)


def test_random_numbers_are_those_of_splitmix64():
    # The first outputs for seed 1234567, as they are widely published.
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [random_53(1234567, 0, number) for number in (1, 2, 3, 4)] == [word >> 11 for word in published]


def test_requests_have_stretches_of_their_own():
    found = {random_53(99, i, number) for i in range(50) for number in range(50)}
    assert len(found) == 2500


@pytest.mark.parametrize(("every", "bias"), [(1, 0.0), (50, 0.0), (7, 0.6), (1, -0.8)])
def test_the_filter_is_the_naive_one(every, bias):
    requests, _, refinement, posterior = refined(25, every=every, bias=bias)
    for i in range(25):
        naive = naive_estimates(i, int(requests.output_len[i]), refinement, posterior[i].copy())
        assert estimates(i, requests, refinement, posterior) == pytest.approx(naive, rel=1e-9)


def test_looks_name_classes_as_often_as_their_error_says():
    _, _, refinement, _ = refined(2000)
    shares = np.diff(refinement.thresholds, axis=1, prepend=0) / 2.0**53
    assert shares.sum(axis=1) == pytest.approx(1)
    assert shares == pytest.approx(refinement.likelihood, abs=1e-9)  # no drift: looks err as the filter thinks
    words = np.array([random_53(refinement.key, 0, number) for number in range(1, 20_001)])
    named = np.searchsorted(refinement.thresholds[4, :-1], words, side="right")
    expected = shares[4] * 20_000
    found = np.bincount(named, minlength=10)
    assert np.abs(found - expected).max() < 4 * np.sqrt(expected.max())


def mean_errors(n=1000, **predictor):
    """Mean absolute error of what is left, over all tokens of all requests: by prompt only, and refined."""
    requests, predictions, refinement, posterior = refined(n, **predictor)
    by_prompt = by_filter = looks = 0.0
    for i in range(n):
        left = np.arange(int(requests.output_len[i]) - 1, 0, -1)
        generated = int(requests.output_len[i]) - left
        by_prompt += np.abs(np.maximum(predictions.point[i] - generated, 0) - left).sum()
        by_filter += np.abs(estimates(i, requests, refinement, posterior) - left).sum()
        looks += len(left)
    return by_prompt / looks, by_filter / looks


def test_refining_lowers_the_error_as_much_as_published():
    by_prompt, by_filter = mean_errors()
    assert 2 < by_prompt / by_filter < 3.5  # published: 2.7 times


def test_looks_that_see_less_refine_less():
    sharp, blurred = mean_errors(n=300, refresh_spread=0.5)[1], mean_errors(n=300, refresh_spread=3.0)[1]
    assert sharp < 0.7 * blurred


def test_a_look_depends_on_what_is_left_only_through_its_class():
    requests, _, refinement, posterior = refined(3)
    key, every, width, scale, thresholds, likelihood = refinement
    assert width == np.ceil(np.quantile(requests.output_len, 0.99) / 10)
    found = np.zeros(1)
    seen = []
    for left in (2 * width + 1, 3 * width):
        belief = posterior.copy()
        follow(0, 1 + left, key, left, width, scale, thresholds, likelihood, belief, found)
        seen.append(belief[0])
    assert every == 1
    assert not np.array_equal(seen[0], seen[1])  # aged by other numbers of tokens


def test_a_first_belief_leaves_no_class_impossible():
    _, predictions, _, posterior = refined(500, spread=0)
    assert posterior.sum(axis=1) == pytest.approx(1)
    assert posterior.min() > 0
    assert (posterior.max(axis=1) > 0.99).all()
    assert (predictions.log_sd == 0).all()
