"""What the engine needs to tell predictions anew while requests are served."""

import math

import numpy as np
from numpy.typing import NDArray

from sim.engine.inputs import Predictions, Refinement, Requests
from sim.scenario import Scenario
from sim.workload.length_classes import class_shares, confusion_by_spread
from sim.workload.predictions import SAMPLE
from sim.workload.randomness import Purpose, RandomNumbers

Floats = NDArray[np.float64]

COVERED = 0.99  # share of answers whose length lies in a class of ordinary width
LEAST_BELIEF = 1e-6  # of every class at first: what is ruled out can never come back, for a remainder only shrinks


def make_refinement(
    scenario: Scenario, requests: Requests, *, every: int | None = None, replication: int = 0
) -> Refinement:
    """How the scenario's refined predictor looks at requests that are being served.

    Parameters
    ----------
    scenario : Scenario
        Its predictor and seed are read. Looks err by `refresh_spread`, and by drift, of which the filter knows nothing.
    requests : Requests
        The first ones say how wide the classes are, if the predictor does not.
    every : int, optional
        Tokens between looks; None is the predictor's own.
    replication : int

    Source: schedulers.md, section 4.
    """
    predictor = scenario.predictor.in_use
    k = predictor.num_classes
    width = predictor.class_width or math.ceil(np.quantile(requests.output_len[:SAMPLE], COVERED) / k)
    seen = confusion_by_spread(math.hypot(predictor.refresh_spread, predictor.drift_spread), width, k)
    return Refinement(
        key=RandomNumbers(scenario.seed, replication).word(Purpose.LOOK),
        every=every or predictor.refresh_tokens,
        width=width,
        scale=math.exp(predictor.bias + predictor.drift_bias),
        thresholds=np.rint(np.cumsum(seen, axis=1) * 2.0**53).astype(np.int64),
        likelihood=_rounded(confusion_by_spread(predictor.refresh_spread, width, k)),
    )


def first_posterior(predictions: Predictions, refinement: Refinement) -> Floats:
    """What is believed of each request before its first look: its prediction, as classes.

    Returns
    -------
    (n, k) float64
        Rows add up to 1; the engine's filter writes them.
    """
    k = len(refinement.likelihood)
    shares = _rounded(class_shares(predictions.log_mean, predictions.log_sd, refinement.width, k))
    belief: Floats = np.maximum(shares, LEAST_BELIEF)
    belief /= belief.sum(axis=1, keepdims=True)
    return belief


def _rounded(shares: Floats) -> Floats:
    """The same on every machine."""
    rounded: Floats = np.rint(shares * 2.0**40) / 2.0**40
    return rounded
