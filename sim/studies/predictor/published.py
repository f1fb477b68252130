"""Published predictors on this traffic: how well each knows classes and order here, and what ordering by it gives."""

from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau

from sim.catalog import PublishedPredictor, predictor_names, published_predictor
from sim.deployment import resolve
from sim.scenario import Scenario
from sim.simulate import simulate_requests
from sim.studies.predictor.uses import Measured, Use, measured, served
from sim.studies.saturated import replayed, saturated
from sim.workload import Trace, make_requests
from sim.workload.kendall import noise_for_tau
from sim.workload.predictions import SAMPLE, classes_of, make_predictions
from sim.workload.requests import answers

LESSON = (  # from the most accurate to the best order
    "class10_lmsys",
    "class_100_tokens_lmsys",
    "ranker_lmsys",
    "self_declared_lmsys",
    "ceiling_lmsys",
)
DRIFTS = (  # where a ranker was built for the traffic, and where it comes from elsewhere
    ("ranker_lmsys", "ranker_sharegpt_on_lmsys"),
    ("ranker_sharegpt", "ranker_lmsys_on_sharegpt"),
)


class PublishedHere(NamedTuple):
    """A published predictor on the scenario's requests."""

    published: PublishedPredictor
    tau: float  # here; NaN where all lengths tie, or there is one
    accuracy: float  # share in the right class, here; NaN where it names no class
    spread: float  # of a log-normal error that orders the requests as badly
    ordering: Measured  # the run that serves in its order


def names() -> tuple[str, ...]:
    """The predictors of the study, those of the lesson first."""
    return (*LESSON, *(name for name in predictor_names() if name not in LESSON))


def run_published(scenario: Scenario, name: str, trace: Trace | None = None) -> PublishedHere:
    """Predict the scenario's requests as a published predictor does, and serve them in that order from a full queue.

    Raises
    ------
    ScenarioError
        The scenario cannot run.
    """
    asked = saturated(served(scenario, Use.ORDER, preset=name, bias=0.0))
    longest = resolve(asked).max_model_len
    requests, info = make_requests(asked, replayed(asked, trace), max_model_len=longest)
    says = make_predictions(asked, requests, info)
    lengths = answers(requests.output_len, info.is_rejected)
    tau = float(kendalltau(answers(says.score, info.is_rejected), lengths).statistic) if len(lengths) > 1 else np.nan
    accuracy = np.nan
    if asked.predictor.in_use.kind == "bucket":
        classes = classes_of(asked, requests, info)
        point = answers(says.point, info.is_rejected)
        accuracy = float((classes.of(lengths) == classes.of(point)).mean())
    spread = noise_for_tau(np.log(lengths[:SAMPLE]), tau) if np.isfinite(tau) else np.nan
    return PublishedHere(
        published_predictor(name), tau, accuracy, spread, measured(simulate_requests(asked, requests, info))
    )
