"""What a predictor says of each request: the truth, seen through the error that a scenario gives it.

All kinds but a confusion matrix are one estimate in log units, ln N + bias + noise, read in different ways. Every
random number belongs to a request and a purpose, so that another bias or spread moves each prediction by its own z.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sim.engine.inputs import Predictions, Requests
from sim.part import MAX_TOKENS
from sim.predictor_spec import Predictor
from sim.scenario import Scenario
from sim.workload.clock import rounded_to_ns
from sim.workload.kendall import noise_for_class_tau, noise_for_tau
from sim.workload.length_classes import LengthClasses, confused, confusion_by_accuracy, equal_classes, published_classes
from sim.workload.randomness import Purpose, RandomNumbers
from sim.workload.requests import RequestInfo

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAMPLE = 4096  # first requests, whose lengths say how much noise a wanted tau is: the same ones in a longer run
TOKEN_GRID = 2.0**10  # steps of a token: the same score on every machine
LOG_GRID = 2.0**32
LOWEST_LOG, HIGHEST_LOG = -20.0, 25.0  # of a score: far beyond any length, and still on the grid


def make_predictions(scenario: Scenario, requests: Requests, info: RequestInfo, replication: int = 0) -> Predictions:
    """Predictions for the requests of one run.

    Parameters
    ----------
    scenario : Scenario
        Its predictor, caps and seed are read.
    requests : Requests
        The true output is `output_len`, cut to the cap already.
    info : RequestInfo
        As `make_requests` returned it with the requests.
    replication : int
        Which repetition; each has random numbers of its own.

    Returns
    -------
    Predictions
        For kind `none` no random number is drawn: score 0, the point is the cap, and nothing is believed.

    Source: schedulers.md, section 2.
    """
    predictor = scenario.predictor.in_use
    n = len(requests.cap)
    delay_s = rounded_to_ns(np.full(n, predictor.delay_ms / 1000))
    cap = requests.cap
    if predictor.kind == "none":
        nothing = np.full(n, math.log(MAX_TOKENS))
        return Predictions(np.zeros(n), np.zeros(n), cap, cap, cap, nothing, np.zeros(n))
    if predictor.kind == "oracle":
        truth = requests.output_len
        return _of_points(delay_s, truth.astype(np.float64), truth, truth, truth)
    numbers = RandomNumbers(scenario.seed, replication)
    if predictor.kind == "bucket":
        classes = classes_of(scenario, requests, info)
        lower, upper = classes.bounds(_class_told(predictor, classes, requests, numbers), cap)
        return _of_points(delay_s, upper.astype(np.float64), upper, lower, upper)
    if predictor.kind == "rank":
        log_len = np.log(requests.output_len)
        noise = noise_for_tau(log_len[:SAMPLE], predictor.tau)
        estimate = log_len + _shift(predictor, numbers, n) + noise * _normals(numbers, Purpose.PREDICTION, n)
        return _of_points(delay_s, _score(estimate), cap, cap, cap)
    return _of_estimate(predictor, delay_s, _estimate(predictor, requests, numbers), cap)


def reservation_tokens(predictions: Predictions, cap: Ints, q: float) -> Ints:
    """Output tokens that are enough with the believed probability `q`.

    Parameters
    ----------
    predictions : Predictions
    cap : (n,) int64
        Largest output allowed, tokens.
    q : float
        Strictly between 0 and 1.

    Returns
    -------
    (n,) int64
        Tokens, 1 to cap. Kinds that name one length are believed to be right, whatever `q` is.
    """
    return _tokens(predictions.log_mean + float(ndtri(q)) * predictions.log_sd, cap)


def error_spread(predictor: Predictor) -> float:
    """Standard deviation of a named length's error, log units, as the predictor knows it: without drift.

    Two answers to one prompt differ each by its own `within_prompt_spread`.
    """
    return math.hypot(predictor.spread, math.sqrt(2) * predictor.within_prompt_spread)


def classes_of(scenario: Scenario, requests: Requests, info: RequestInfo) -> LengthClasses:
    """Classes of lengths that the scenario's bucket predictor speaks of.

    Where it names no width, the longest answer allowed is cut into equal classes: the largest cap, or the longest
    text of the server where a task type has none.
    """
    predictor = scenario.predictor.in_use
    if predictor.confusion != "none":
        return published_classes(predictor.confusion)
    is_capped = all(task.cap for task in scenario.workload.types)
    allowed = requests.cap if is_capped else requests.prompt_len + requests.cap
    longest = int(np.max(allowed, where=~info.is_rejected, initial=1))
    return equal_classes(predictor.class_width or -(-longest // predictor.num_classes), predictor.num_classes)


def _class_told(predictor: Predictor, classes: LengthClasses, requests: Requests, numbers: RandomNumbers) -> Ints:
    """(n,) class that a bucket predictor names."""
    n = len(requests.cap)
    log_len = np.log(requests.output_len)
    shift = _shift(predictor, numbers, n)
    if predictor.confusion == "none" and predictor.accuracy is None:
        # A classifier that names its likeliest class keeps to the middle: its estimate is pulled to the mean.
        sample = log_len[:SAMPLE]
        pull = noise_for_class_tau(sample, np.log(classes.longest + 0.5), predictor.tau)
        mean, sd = float(sample.mean()), float(sample.std())
        z = _normals(numbers, Purpose.PREDICTION, n)
        estimate = mean + pull * (log_len - mean) + math.sqrt(pull * (1 - pull)) * sd * z + shift
        return classes.of(_tokens(estimate, np.full(n, MAX_TOKENS)))
    shares = classes.shares
    if predictor.confusion == "none":
        assert predictor.accuracy is not None
        shares = confusion_by_accuracy(predictor.accuracy, predictor.num_classes)
    seen = classes.of(_tokens(log_len + shift, np.full(n, MAX_TOKENS)))
    return confused(seen, shares, numbers.uniforms(Purpose.PREDICTION, n))


def _estimate(predictor: Predictor, requests: Requests, numbers: RandomNumbers) -> Floats:
    """(n,) estimate of ln(output) of the kinds that name a length."""
    n = len(requests.cap)
    estimate = np.log(requests.output_len)
    if predictor.within_prompt_spread > 0:
        estimate = _other_answer(estimate, predictor.within_prompt_spread, numbers)
    return estimate + _shift(predictor, numbers, n) + predictor.spread * _normals(numbers, Purpose.PREDICTION, n)


def _other_answer(log_len: Floats, within: float, numbers: RandomNumbers) -> Floats:
    """ln of the length of another answer to each prompt.

    Two answers to one prompt share its mean, so that their logarithms correlate by 1 - within^2 / total^2; the other
    one is drawn given the true one, and both are spread alike.
    """
    sample = log_len[:SAMPLE]
    mean, total = float(sample.mean()), float(sample.std())
    alike = max(0.0, 1 - (within / total) ** 2) if total > 0 else 1.0
    own = total * math.sqrt(1 - alike**2)
    return mean + alike * (log_len - mean) + own * _normals(numbers, Purpose.OTHER_ANSWER, len(log_len))


def _shift(predictor: Predictor, numbers: RandomNumbers, n: int) -> Floats | float:
    """Bias and drift, log units."""
    bias = predictor.bias + predictor.drift_bias
    if predictor.drift_spread == 0:
        return bias
    return bias + predictor.drift_spread * _normals(numbers, Purpose.DRIFT, n)


def _of_estimate(predictor: Predictor, delay_s: Floats, estimate: Floats, cap: Ints) -> Predictions:
    """Predictions of the kinds that name a length; what they say of their own error knows neither bias nor drift."""
    point = lower = upper = _tokens(estimate, cap)
    sd = math.hypot(
        predictor.spread, math.sqrt(2) * predictor.within_prompt_spread
    )  # two answers differ, each by its own
    if predictor.kind == "interval":
        reach = float(ndtri((1 + predictor.coverage) / 2)) * sd
        lower, upper = _tokens(estimate - reach, cap), _tokens(estimate + reach, cap)
    if predictor.kind == "point":
        sd = 0.0
    log_mean = np.rint(estimate * LOG_GRID) / LOG_GRID
    return Predictions(delay_s, _score(estimate), point, lower, upper, log_mean, np.full(len(cap), sd))


def _of_points(delay_s: Floats, score: Floats, point: Ints, lower: Ints, upper: Ints) -> Predictions:
    """Predictions that are believed to be right."""
    log_mean = np.rint(np.log(point) * LOG_GRID) / LOG_GRID
    return Predictions(delay_s, score, point, lower, upper, log_mean, np.zeros(len(point)))


def _normals(numbers: RandomNumbers, purpose: Purpose, n: int) -> Floats:
    z: Floats = ndtri(numbers.uniforms(purpose, n))
    return z


def _score(estimate: Floats) -> Floats:
    """Tokens, not cut to the cap: order is kept above it."""
    score: Floats = np.rint(np.exp(np.clip(estimate, LOWEST_LOG, HIGHEST_LOG)) * TOKEN_GRID) / TOKEN_GRID
    return score


def _tokens(log_tokens: Floats, cap: Ints) -> Ints:
    """Whole tokens, rounded half up, 1 to cap."""
    rounded = np.floor(np.exp(np.minimum(log_tokens, HIGHEST_LOG)) + 0.5)
    return np.minimum(np.maximum(rounded, 1), cap).astype(np.int64)
