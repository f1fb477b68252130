"""Predicted against measured step times, with the catalogue's coefficients and no host time."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from sim.catalog import model
from sim.cost.coefficients import OLD_ENGINE, Coefficients, fitted
from sim.cost.measured_steps import WHOLE_STEPS, MeasuredSteps, read_measured_steps
from sim.cost.step_time import catalogue_fit, linear_ms
from sim.cost.terms import terms_of
from sim.errors import ScenarioError
from sim.gpu_memory import weight_dtype
from sim.studies.validation.figures import Floats, Row, bias_percent, error_percent, mean_of, thinned


def step_times(path: Path) -> Row:
    """Errors of every deployment, and their mean by GPU and family of models.

    Raises
    ------
    DataError
        The table cannot be read.
    """
    measured, left_out = read_measured_steps(path)
    deployments, parity = [], []
    for each in measured:
        try:
            predicted_ms = predicted(each)
        except ScenarioError as error:
            left_out[str(error)] = left_out.get(str(error), 0) + len(each.step_ms)
            continue
        deployments.append(_deployment(each, predicted_ms))
        parity += [
            {"gpu": each.gpu, "family": family(each), "measured_ms": at, "predicted_ms": by}
            for at, by in zip(each.step_ms.tolist(), predicted_ms.tolist(), strict=True)
        ]
    return {
        "rows": sum(row["rows"] for row in deployments),
        "groups": groups(deployments),
        "deployments": deployments,
        "parity": thinned(parity),
        "left_out": left_out,
    }


def predicted(measured: MeasuredSteps) -> Floats:
    """Time of each step in milliseconds, of kernels alone; whole steps of the old engine by its own coefficients."""
    fit = coefficients_of(measured)
    terms = terms_of(measured.deployment, measured.tokens)
    kv_ms = fit.inv_eff_kv * terms.kv_ms * measured.kv_tokens
    return linear_ms(terms, fit, 0.0) + kv_ms + fit.inv_eff_attn * terms.attention_ms * measured.work


def coefficients_of(measured: MeasuredSteps) -> Coefficients:
    """The catalogue's coefficients for a table of steps."""
    if measured.derivation != WHOLE_STEPS:
        return catalogue_fit(measured.deployment)[0]
    old = fitted("dense", OLD_ENGINE)
    if measured.gpu not in old:
        raise ScenarioError(f"gpu is '{measured.gpu}'; whole steps are known of {', '.join(old)}")
    return old[measured.gpu]


def family(measured: MeasuredSteps) -> str:
    """Dense or mixture of experts, block-scaled FP8 apart."""
    shape = model(measured.deployment.model)
    kind = "MoE" if shape.is_moe else "dense"
    return f"{kind} block-FP8" if weight_dtype(shape, measured.deployment) == "fp8_block" else kind


def _deployment(measured: MeasuredSteps, predicted_ms: Floats) -> Row:
    deployment = measured.deployment
    return {
        "derivation": measured.derivation,
        "gpu": measured.gpu,
        "family": family(measured),
        "model": deployment.model,
        "gpus": deployment.tensor_parallel_size,
        "weight_dtype": deployment.weight_dtype,
        "is_fitted": measured.derivation == WHOLE_STEPS or catalogue_fit(deployment)[1],
        "rows": len(predicted_ms),
        "error_percent": error_percent(predicted_ms, measured.step_ms),
        "bias_percent": bias_percent(predicted_ms, measured.step_ms),
        "worst_percent": 100 * float(np.max(np.abs(predicted_ms / measured.step_ms - 1))),
    }


def groups(deployments: list[Row]) -> list[Row]:
    """Mean over deployments by derivation, GPU and family."""
    members: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in deployments:
        members[row["derivation"], row["gpu"], row["family"]].append(row)
    return [
        {
            "derivation": derivation,
            "gpu": gpu,
            "family": name,
            "deployments": len(rows),
            "rows": sum(row["rows"] for row in rows),
            "error_percent": mean_of(rows, "error_percent"),
        }
        for (derivation, gpu, name), rows in sorted(members.items())
    ]
