"""Runs of a predictor study by numbers written down here, for the tests of its words and figures."""

import math

from sim.catalog import published_predictor
from sim.studies.predictor.error_map import BIASES, FINE_BIASES, OBJECTIVES, SPREADS, TWICE, ErrorCell
from sim.studies.predictor.published import PublishedHere
from sim.studies.predictor.uses import Measured

THROUGHPUT = OBJECTIVES["throughput"]


def now(tokens_per_s=100.0, tpot_s=0.02, preemptions=0.0, e2e_s=0.1):
    return Measured(tokens_per_s, tpot_s, 1.0, preemptions, e2e_s, 0.5)


def errors(value):
    """The whole map, by a function of the bias."""
    cells = [ErrorCell(bias, 0.5) for bias in FINE_BIASES]
    cells += [ErrorCell(bias, spread) for spread in SPREADS for bias in BIASES if spread != 0.5]
    return {cell: value(cell.bias) for cell in cells}


def steep(bias):
    """Twice too long costs 40 %, half as long 10 %."""
    return now(100 - 40 * max(bias, 0) / TWICE - 10 * max(-bias, 0) / TWICE)


def published(name, tau, accuracy=math.nan, e2e_s=0.1, spread=0.6):
    return PublishedHere(published_predictor(name), tau, accuracy, spread, now(e2e_s=e2e_s))
