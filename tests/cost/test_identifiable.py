import numpy as np
import pytest

from sim.cost.identifiable import LIMIT, identifiability


def test_independent_parameters_are_all_determined() -> None:
    verdict = identifiability(np.diag([1.0, 0.5, 0.1]))
    assert verdict.condition_number == pytest.approx(10)
    assert verdict.is_weak == (False, False, False)


def test_a_parameter_without_effect_is_flagged_alone() -> None:
    verdict = identifiability(np.array([[1.0, 0.0], [0.5, 0.0], [0.2, 0.0]]))
    assert verdict.condition_number == np.inf
    assert verdict.is_weak == (False, True)


def test_two_parameters_that_act_alike_are_both_flagged() -> None:
    """Columns one and two are equal: only their sum is known. The third stands alone."""
    verdict = identifiability(np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 1.0], [0.5, 0.5, 3.0]]))
    assert verdict.condition_number > 1e12
    assert verdict.is_weak == (True, True, False)


def test_fewer_measurements_than_parameters_determine_no_more_than_their_number() -> None:
    verdict = identifiability(np.array([[1.0, 0.2, 0.1]]))
    assert verdict.condition_number == np.inf
    assert sum(verdict.is_weak) >= 2


@pytest.mark.parametrize("seed", range(40))
def test_something_is_flagged_exactly_when_the_condition_number_is_above_the_limit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jacobian = rng.normal(size=(8, 5)) * 10.0 ** rng.uniform(-3, 0, size=5)
    verdict = identifiability(jacobian)
    assert verdict.condition_number == pytest.approx(np.linalg.cond(jacobian))
    assert any(verdict.is_weak) == (np.linalg.cond(jacobian) > LIMIT)


def test_a_matrix_of_zeros_determines_nothing() -> None:
    assert identifiability(np.zeros((4, 2))).is_weak == (True, True)
