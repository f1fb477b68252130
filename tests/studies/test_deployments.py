"""Which GPUs and tensor-parallel sizes a model fits on."""

import pytest

from sim import ScenarioError, with_values
from sim.catalog import gpu
from sim.deployment import resolve
from sim.presets import preset
from sim.studies.deployments import fitting, named

CHAT = preset("chat")


def test_the_own_deployment_comes_first_and_nothing_comes_twice() -> None:
    names = [named(each) for each in fitting(CHAT)]
    assert names[0] == "1 x H100-SXM"
    assert names[1:4] == ["2 x H100-SXM", "4 x H100-SXM", "8 x H100-SXM"]
    assert len(names) == len(set(names)) > 50


def test_what_does_not_fit_is_left_out_and_everything_else_runs() -> None:
    large = with_values(CHAT, {"deployment.model": "Llama-3.1-70B", "deployment.tensor_parallel_size": 4})
    names = [named(each) for each in fitting(large, ["H100-SXM", "B200", "RTX4090"])]
    # 131 GiB of 16-bit weights: two GPUs of 79 GiB hold them and one of 178 does; eight of 23.5 give 169 GiB, but
    # 16.4 GiB each leave room for little more than the runtime, and four give 94.
    assert names[:3] == ["4 x H100-SXM", "2 x H100-SXM", "8 x H100-SXM"]
    assert [name for name in names if "B200" in name] == ["1 x B200", "2 x B200", "4 x B200", "8 x B200"]
    assert not {"1 x H100-SXM", "1 x RTX4090", "2 x RTX4090", "4 x RTX4090"} & set(names)
    for each in fitting(large):
        assert resolve(each).usable_blocks > 0


def test_sixteen_gpus_only_where_eight_do_not_hold_the_model() -> None:
    names = [named(each) for each in fitting(CHAT, ["GB200"])]
    assert "16 x GB200" not in names
    huge = with_values(
        CHAT,
        {"deployment.model": "Llama-3.1-405B", "deployment.gpu": "H100-SXM", "deployment.tensor_parallel_size": 16},
    )
    assert named(fitting(huge, ["H100-SXM"])[0]) == "16 x H100-SXM"


def test_what_was_measured_on_one_deployment_is_not_taken_to_another() -> None:
    own = with_values(CHAT, {"deployment.num_gpu_blocks_override": 9000, "cost.price_per_gpu_hour": 9.0})
    mine, *same_gpu, other = fitting(own, ["H100-SXM", "H200"])[:5]
    assert mine == own
    assert same_gpu[0].deployment.num_gpu_blocks_override is None
    assert same_gpu[0].cost.price_per_gpu_hour == 9.0  # of that GPU, however many
    assert other.deployment.gpu == "H200"
    assert other.cost.price_per_gpu_hour is None


def test_gpus_without_a_price_come_when_asked_for_by_name() -> None:
    assert gpu("A800-SXM").price_per_hour is None
    assert "1 x A800-SXM" not in [named(each) for each in fitting(CHAT)]
    assert "1 x A800-SXM" in [named(each) for each in fitting(CHAT, ["A800-SXM"])]
    with pytest.raises(ScenarioError, match="H1000"):
        fitting(CHAT, ["H1000"])


def test_a_constant_step_time_says_nothing_of_other_gpus() -> None:
    assert fitting(with_values(CHAT, {"cost.source": "constant"})) == [with_values(CHAT, {"cost.source": "constant"})]
