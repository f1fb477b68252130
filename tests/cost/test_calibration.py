from functools import lru_cache

import numpy as np
import pytest

from sim import Scenario, with_values
from sim.cost.calibration import Calibration, calibrate
from sim.cost.calibration_fit import PARAMETERS, problem_of, simulate_point
from sim.cost.identifiable import LIMIT
from sim.cost.measured_point import MeasuredPoint, scenario_at, simulated
from sim.errors import DataError, ScenarioError
from tests.cost.points import ALIKE, BASE, OFF, RICH, UNSEEN, measured, point


@lru_cache
def rich() -> Calibration:
    return calibrate(BASE, measured(RICH, client_ms=30.0), "synthetic")


def test_eight_points_of_a_synthetic_deployment_predict_unseen_ones_within_two_percent() -> None:
    calibrated = with_values(BASE, {"cost.coefficients": rich().step.model_dump(), "cost.source": "calibrated"})
    unseen = measured(UNSEEN)
    for each in unseen:
        assert simulated(calibrated, each).tpot_ms == pytest.approx(each.tpot_ms, rel=0.02)
    assert max(abs(simulated(BASE, each).tpot_ms / each.tpot_ms - 1) for each in unseen) > 0.1  # by the catalogue


def test_what_the_points_determine_is_found_and_so_is_the_clients_time() -> None:
    true = np.array(rich().catalogue) * OFF
    assert rich().values[2:4] == pytest.approx(true[2:4], rel=0.05)  # KV cache and products
    assert rich().client_ms == pytest.approx(30.0, rel=0.1)


def test_errors_are_those_of_the_simulation() -> None:
    found = rich()
    by_hand = [abs(each.fitted.tpot_ms / each.point.tpot_ms - 1) for each in found.points]
    assert found.error_percent("fitted") == pytest.approx(100 * np.mean(by_hand))
    for each in found.points[:2]:
        problem = problem_of(BASE, [each.point])
        assert simulate_point(problem, each.point, np.array(found.values)) == each.fitted
    assert found.error_percent("fitted") < 0.5 < found.error_percent("catalogue")
    assert found.step.error_percent == found.error_percent("left_out")


@pytest.mark.parametrize("loads", [RICH, ALIKE, RICH[:3]])
def test_a_parameter_is_flagged_exactly_when_the_condition_number_is_above_its_limit(
    loads: tuple[tuple[int, int, int], ...],
) -> None:
    found = rich() if loads is RICH else calibrate(BASE, measured(loads))
    assert bool(found.weak) == (found.identifiable.condition_number > LIMIT)
    assert any("do not tell them apart" in sentence for sentence in found.warnings) == bool(found.weak)


def test_a_narrow_range_leaves_parameters_undetermined_and_a_wide_one_does_not() -> None:
    assert rich().weak == ()
    narrow = calibrate(BASE, measured(ALIKE))
    assert set(narrow.weak) >= {"fixed_ms", "inv_eff_mem"}
    assert narrow.error_percent("fitted") < 0.5  # and yet the points themselves are met


def test_few_points_are_warned_about() -> None:
    few = calibrate(BASE, measured(RICH[:3]))
    assert few.warnings[0] == "3 points for five parameters; 6 or more are needed to check the fit"
    assert few.step.points == 3
    alone = calibrate(BASE, measured(RICH[:1]))
    assert alone.error_percent("left_out") is None
    assert alone.step.error_percent is None


def test_points_that_need_no_calibration_keep_the_catalogue() -> None:
    """Measured with the catalogue's own coefficients."""
    exact = [each._replace(tpot_ms=simulated(BASE, each).tpot_ms) for each in (point(*load) for load in RICH)]
    found = calibrate(BASE, exact)
    assert found.values == pytest.approx(found.catalogue, rel=1e-3)
    assert found.error_percent("left_out") < 0.1


def test_a_parameter_at_its_bound_is_named() -> None:
    slow = [each._replace(tpot_ms=100 * each.tpot_ms) for each in measured(RICH[:4])]
    assert any("ran into its bound" in sentence for sentence in calibrate(BASE, slow).warnings)


def test_what_was_measured_travels_with_the_coefficients() -> None:
    step = rich().step
    assert (step.model, step.gpu, step.tensor_parallel_size) == ("Llama-3.1-8B", "H100-SXM", 1)
    assert (step.weight_dtype, step.kv_cache_dtype, step.measured) == ("bf16", "auto", "synthetic")


def test_no_points_and_impossible_loads_are_refused() -> None:
    with pytest.raises(DataError, match="there is no point to calibrate with"):
        calibrate(BASE, [])
    too_long = with_values(BASE, {"deployment.max_model_len": 100})
    with pytest.raises(ScenarioError, match="prompt is 128 tokens or more"):
        calibrate(too_long, [point(1, 128, 4)])


def test_progress_runs_from_nothing_to_one() -> None:
    shares: list[float] = []
    calibrate(BASE, measured(RICH[:2]), on_progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_parameters_are_fields_of_what_a_scenario_holds() -> None:
    assert set(PARAMETERS) <= set(type(rich().step).model_fields)


def test_a_point_is_simulated_under_its_own_load() -> None:
    scenario = scenario_at(Scenario(), point(7, 100, 20))
    assert (scenario.workload.arrivals.kind, scenario.workload.arrivals.concurrency) == ("closed_loop", 7)
    assert scenario.workload.num_requests == 24
    assert scenario.deployment == Scenario().deployment
    longer: MeasuredPoint = point(7, 100, 20)._replace(num_requests=None)
    assert scenario_at(Scenario(), longer).workload.num_requests == 70
