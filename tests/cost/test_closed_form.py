import numpy as np
import pytest

from sim.cost.closed_form import latencies, load_of
from sim.cost.measured_point import MeasuredPoint, simulated
from sim.cost.step_time import catalogue_fit
from sim.system_spec import Deployment
from tests.cost.points import BASE, point
from tests.cost.test_step_time import FIT


def test_one_user_decodes_alone() -> None:
    """Prompt 1,000 and 200 tokens of answer on one H100: no other prefill is in the way. All by hand."""
    load = load_of(Deployment(), [point(1, 1000, 200)], 8192)
    found = latencies(load, FIT, 1.0)
    weights_ms, flops_ms = 1.2 * 7.505e9 * 2 / 3350e6, 1.3 * 2 * 7.505e9 / 989e9
    step_ms = 0.5 + 40 * 32 / 1000 + 1.0 + np.hypot(weights_ms, flops_ms) + 1.1 * 1100 * 131_072 / 3350e6
    assert found.tpot_ms[0] == pytest.approx(step_ms, rel=1e-9)
    prefill_ms = np.hypot(weights_ms, 1001 * flops_ms) - np.hypot(weights_ms, flops_ms)
    attention_ms = 1.6 * 4 * 32 * 32 * 128 * 1000**2 / 2 / 989e9
    assert found.ttft_ms[0] == pytest.approx(step_ms + prefill_ms + attention_ms, rel=1e-9)


def test_each_token_waits_for_its_share_of_the_others_prefills() -> None:
    """Five users: four other prompts are prefilled while a user gets 200 tokens."""
    one, five = (load_of(Deployment(), [point(users, 1000, 200)], 8192) for users in (1, 5))
    extra_ms = latencies(five, FIT, 0.0).ttft_ms - latencies(five._replace(users=np.ones(1)), FIT, 0.0).tpot_ms
    alone = latencies(five._replace(prompt=np.ones(1), mixed=five.decode), FIT, 0.0).tpot_ms
    assert latencies(five, FIT, 0.0).tpot_ms > alone
    assert latencies(one, FIT, 0.0).tpot_ms < latencies(five, FIT, 0.0).tpot_ms
    assert extra_ms > 0


def test_long_prompts_take_several_steps() -> None:
    assert load_of(Deployment(), [point(1, 20_000, 10), point(1, 8192, 10)], 8192).chunks.tolist() == [3, 1]


@pytest.mark.parametrize("users", [1, 8, 64])
def test_the_form_is_near_the_simulation_where_nothing_queues(users: int) -> None:
    """Within a tenth, as corrections then have little to do."""
    loaded: MeasuredPoint = point(users, 512, 128)._replace(num_requests=6 * users)
    fit, _ = catalogue_fit(BASE.deployment)
    found = latencies(load_of(BASE.deployment, [loaded], 8192), fit, 1.0)
    assert found.tpot_ms[0] == pytest.approx(simulated(BASE, loaded).tpot_ms, rel=0.1)
