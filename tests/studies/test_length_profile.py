"""Numbers of length distributions, by hand and against samples."""

import math

import numpy as np
import pytest

from sim import simulate, with_values
from sim.catalog import dataset_names, length_quantiles
from sim.presets import preset
from sim.studies.length_profile import outputs, profile_of, profile_of_quantiles, profiles, real_profiles
from sim.studies.sla import attained


def test_profile_of_lengths():
    found = profile_of("a", np.array([1, 2, 3, 4, 10], np.int64))
    # mean 4, variance (9 + 4 + 1 + 0 + 36) / 5 = 10; p99 at position 3.96 between 4 and 10
    assert found.mean == 4
    assert found.cv == pytest.approx(math.sqrt(10) / 4)
    assert found.quantiles["p50"] == 3
    assert found.quantiles["max"] == 10
    assert found.quantiles["p99"] == pytest.approx(9.76)
    assert found.tail_ratio == pytest.approx(2.44)


def test_profile_of_quantiles_is_that_of_the_straight_lines():
    # half of the lengths uniform from 0 to 10, half from 10 to 40: mean (5 + 25) / 2 = 15
    # second moment (100 / 3 + (100 + 400 + 1600) / 3) / 2 = 366.667, variance 141.667
    found = profile_of_quantiles("a", ((0.0, 0.0), (0.5, 10.0), (1.0, 40.0)))
    assert found.mean == pytest.approx(15)
    assert found.cv == pytest.approx(math.sqrt(366.6666666667 - 225) / 15)
    assert found.quantiles["p90"] == pytest.approx(34)


def test_real_data_sets_agree_with_a_sample_of_them():
    u = (np.arange(200_000) + 0.5) / 200_000
    found = {profile.name: profile for profile in real_profiles()}
    assert set(found) == set(dataset_names("output"))
    for name, profile in found.items():
        drawn = np.interp(u, *zip(*length_quantiles(name, "output"), strict=True))
        assert profile.mean == pytest.approx(drawn.mean(), rel=1e-3)
        assert profile.cv == pytest.approx(drawn.std() / drawn.mean(), rel=1e-3)
    ratios = [profile.tail_ratio for profile in real_profiles()]
    assert ratios == sorted(ratios, reverse=True)


def test_a_mix_has_a_profile_for_each_of_its_types():
    names = [profile.name for profile in profiles(outputs(preset("textbook-straggler")))]
    assert names == ["this scenario", *(task.name for task in preset("textbook-straggler").workload.types)]
    (only,) = profiles(outputs(preset("chat")))
    assert only.mean == pytest.approx(256, rel=0.03)  # 10,000 draws of CV 1: 2.6 standard errors are 2.6 %


def test_a_prompt_that_never_fits_is_no_answer_of_one_token():
    """Prompts of 1 to 1,000 tokens in a context of 500: half of them leave no room, and say nothing about answers."""
    narrow = with_values(
        preset("chat"),
        {
            "workload.types.0.prompt": {"kind": "uniform", "low": 1, "high": 1000},
            "workload.types.0.output": {"kind": "uniform", "low": 50, "high": 60},
            "workload.num_requests": 1000,
            "deployment.max_model_len": 500,
        },
    )
    run = simulate(narrow)
    fits = run.inputs.prompt_len < 500
    answers = np.minimum(run.info.true_len, 500 - run.inputs.prompt_len)[fits]
    assert 400 < len(answers) < 600
    figures = run.summary()["metrics"]
    assert figures["output_len_mean_tokens"] == pytest.approx(answers.mean())
    assert figures["output_len_cv"] == pytest.approx(answers.std() / answers.mean())
    (profile,) = profiles(outputs(narrow))
    assert (profile.mean, profile.quantiles["p50"]) == (pytest.approx(answers.mean()), np.median(answers))
    assert attained(narrow, "as it is").lengths.mean == pytest.approx(answers.mean())
    assert run.inputs.is_straggler[fits].sum() == (answers > np.quantile(answers, 0.95)).sum()
    nobody = with_values(narrow, {"workload.types.0.prompt": {"kind": "lognormal", "mean": 1e5, "cv": 0.01}})
    assert np.isfinite(simulate(nobody).summary()["metrics"]["tail_ratio"])  # nothing to speak of, and no crash
