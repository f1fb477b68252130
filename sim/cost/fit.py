"""Fit the catalogue's step-time coefficients to measured steps.

    python -m sim.cost.fit ../shared/data/step_times.csv --out sim/catalog/cost_coefficients.csv

One fit for each GPU and family of models, over all its models and GPU counts, held weakly at where it starts: at
plain figures for dense models, at the GPU's dense fit for the other families. Residuals are log errors, robust; every
row counts the same, except that within a deployment half of the weight is on steps that only decode, as most steps of
a server do. A decode step measured slower than one of more sequences counts as fast as that one: a server can pad its
batch, and the tables of kernels have such outliers at 1 to 4 sequences. Beside each fit stands its error on all rows
as measured, mean over deployments, and where there are several models its error on the deployments of each model when
that model is left out.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from sim.catalog import model
from sim.cost.coefficients import KERNELS, OLD_ENGINE, Coefficients, families
from sim.cost.measured_steps import WHOLE_STEPS, MeasuredSteps, read_measured_steps
from sim.cost.step_time import linear_ms
from sim.cost.terms import Terms, terms_of

Floats = NDArray[np.float64]
Group = tuple[str, str, str]  # source, GPU, family

FREE = tuple(name for name in Coefficients._fields if name != "inv_eff_kv8")  # in a fit the cache has one width
LOWEST = Coefficients(0.001, 0.01, 0.3, 0.3, 0.3, 0.3, 0.3, 0.1, 0.3, 0.3, 0.3, 1.0)
HIGHEST = Coefficients(60, 600, 20, 20, 20, 20, 20, 300, 20, 20, 20, 20)
PLAIN = Coefficients(0.1, 40, 1.2, 1.1, 1.1, 1.4, 1.6, 5, 2.5, 2.5, 2, 1.8)
MOE = {"o0_ms": 0.7, "o1_us_layer": 20.0, "inv_eff_flop": 2.0, "p": 1.05}  # where it differs from dense
BLOCK_SCALED = {"o0_ms": 1.0, "o1_us_layer": 100.0, "inv_eff_mem": 2.0, "ar_us": 50.0}
HOST_BOUND = {"o0_ms": 10.0, "o1_us_layer": 150.0, "inv_eff_kv": 13.0, "ar_us": 80.0, "ab_tp2": 5.0, "ab_tp4": 5.0}
ROBUST = 0.1  # log error from which on a row counts less than its square
HELD = 0.02  # weight of the start against all rows together
DECODE_SHARE = 0.5  # of a deployment's weight


class Problem(NamedTuple):
    """One deployment's steps, ready to be predicted."""

    measured: MeasuredSteps
    terms: Terms
    padded_ms: Floats  # what to fit


class Fit(NamedTuple):
    """Result for one GPU and family."""

    best: Coefficients
    error_percent: float  # mean over deployments
    unseen_model_percent: float | None  # the same, each model left out of the fit in turn; None: there is but one


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit all groups of a table of measured steps and write the coefficients."""
    parser = argparse.ArgumentParser(description="Fit step-time coefficients to measured steps.")
    parser.add_argument("steps", type=Path, help="step_times.csv")
    parser.add_argument("--out", type=Path, required=True, help="table to write")
    options = parser.parse_args(arguments)
    measured, _ = read_measured_steps(options.steps)
    with options.out.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["source", "gpu", "family", *Coefficients._fields, *Fit._fields[1:]])
        for group, fit in sorted(fit_all(measured).items()):
            unseen = "" if fit.unseen_model_percent is None else f"{fit.unseen_model_percent:.1f}"
            table.writerow([*group, *(f"{value:.4g}" for value in fit.best), f"{fit.error_percent:.1f}", unseen])


def fit_all(measured: list[MeasuredSteps]) -> dict[Group, Fit]:
    """One fit for each source, GPU and family, with the coefficient of the other KV width borrowed."""
    groups: dict[Group, list[Problem]] = defaultdict(list)
    for each in measured:
        source = OLD_ENGINE if each.derivation == WHOLE_STEPS else KERNELS
        family = families(model(each.deployment.model), each.deployment.weight_dtype)[0]
        groups[source, each.gpu, family].append(Problem(each, terms_of(each.deployment, each.tokens), padded_ms(each)))
    fits: dict[Group, Fit] = {}
    for group in sorted(groups):  # dense comes first
        fits[group] = fit_group(groups[group], start_of(group, fits))
    return {group: fit._replace(best=_with_both_widths(group, fits)) for group, fit in fits.items()}


def start_of(group: Group, fits: dict[Group, Fit]) -> Coefficients:
    """Where a group's fit starts."""
    source, gpu, family = group
    dense = fits.get((source, gpu, "dense"))
    start = PLAIN if dense is None else dense.best
    if source == OLD_ENGINE:
        start = start._replace(**HOST_BOUND)
    if family.startswith("moe"):
        start = start._replace(**MOE)
    return start._replace(**BLOCK_SCALED) if family.endswith("block") else start


def _with_both_widths(group: Group, fits: dict[Group, Fit]) -> Coefficients:
    """Families with 8-bit weights were measured with an 8-bit cache, the others with a 16-bit one."""
    source, gpu, family = group
    kind, is_narrow = family.split()[0], " " in family
    own = fits[group].best.inv_eff_kv
    other = fits.get((source, gpu, kind if is_narrow else f"{kind} fp8"))
    borrowed = own if other is None else other.best.inv_eff_kv
    wide, narrow = (borrowed, own) if is_narrow else (own, borrowed)
    return fits[group].best._replace(inv_eff_kv=wide, inv_eff_kv8=narrow)


def fit_group(problems: list[Problem], start: Coefficients) -> Fit:
    """Fit one group, and cross-validate it over models."""
    best = fit_coefficients(problems, start)
    error = float(np.mean([error_percent(problem, best) for problem in problems]))
    models = sorted({problem.measured.deployment.model for problem in problems})
    if len(models) == 1:
        return Fit(best, error, None)
    unseen = []
    for name in models:
        others = [each for each in problems if each.measured.deployment.model != name]
        without = fit_coefficients(others, start)
        unseen += [error_percent(each, without) for each in problems if each.measured.deployment.model == name]
    return Fit(best, error, float(np.mean(unseen)))


def fit_coefficients(problems: list[Problem], start: Coefficients) -> Coefficients:
    """Coefficients that make the problems' log errors small, in logarithms and within bounds."""
    lowest, highest, begin = (np.log(_free(each)) for each in (LOWEST, HIGHEST, start))
    begin = np.clip(begin, lowest + 1e-6, highest - 1e-6)
    weight = np.concatenate([row_weights(problem.measured) for problem in problems])
    weight = np.sqrt(weight / weight.sum())

    def residuals(logs: Floats) -> Floats:
        fit = _of_free(np.exp(logs))
        errors = np.concatenate([np.log(step_ms(each, fit) / each.padded_ms) for each in problems])
        robust = np.sign(errors) * ROBUST * np.sqrt(2 * (np.hypot(1, errors / ROBUST) - 1))
        return np.concatenate([weight * robust, HELD * (logs - begin)])

    found = least_squares(residuals, begin, bounds=(lowest, highest), max_nfev=300)
    return _of_free(np.exp(found.x))


def padded_ms(measured: MeasuredSteps) -> Floats:
    """Step times as measured, but no decode step longer than one of more sequences of the same length."""
    padded: Floats = measured.step_ms.copy()
    is_decode = measured.prefill_tokens == 0
    kv_len = measured.kv_tokens / np.maximum(measured.decode_seqs, 1)
    for length in np.unique(kv_len[is_decode]):
        rows = np.flatnonzero(is_decode & (kv_len == length))
        rows = rows[np.argsort(-measured.decode_seqs[rows], kind="stable")]  # most sequences first
        padded[rows] = np.minimum.accumulate(padded[rows])
    return padded


def row_weights(measured: MeasuredSteps) -> Floats:
    """Weights that add up to the number of rows: half on steps that only decode, the rest by kind of step."""
    is_decode = measured.prefill_tokens == 0
    is_mixed = ~is_decode & (measured.decode_seqs > 0)
    kinds = [(is_decode, DECODE_SHARE)]
    kinds += [(kind, (1 - DECODE_SHARE) / 2) for kind in (is_mixed, ~is_decode & ~is_mixed)]
    weights = np.zeros(len(is_decode))
    for kind, share in kinds:
        if kind.any():
            weights[kind] = share / kind.sum()
    return np.asarray(weights / weights.sum() * len(weights), dtype=np.float64)


def step_ms(problem: Problem, fit: Coefficients) -> Floats:
    """Predicted time of each step of a problem, without host time."""
    measured, terms = problem.measured, problem.terms
    reading_ms = fit.inv_eff_kv * terms.kv_ms * measured.kv_tokens
    return linear_ms(terms, fit, 0.0) + reading_ms + fit.inv_eff_attn * terms.attention_ms * measured.work


def error_percent(problem: Problem, fit: Coefficients) -> float:
    """Mean absolute error of a problem's steps."""
    return 100 * float(np.mean(np.abs(step_ms(problem, fit) / problem.measured.step_ms - 1)))


def _free(fit: Coefficients) -> Floats:
    return np.array([getattr(fit, name) for name in FREE])


def _of_free(values: Floats) -> Coefficients:
    named = dict(zip(FREE, (float(value) for value in values), strict=True))
    return Coefficients(**named, inv_eff_kv8=named["inv_eff_kv"])


if __name__ == "__main__":
    main()
