"""Numbers of length distributions, by hand and against samples."""

import math

import numpy as np
import pytest

from sim.catalog import dataset_names, length_quantiles
from sim.presets import preset
from sim.studies.length_profile import outputs, profile_of, profile_of_quantiles, profiles, real_profiles


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
