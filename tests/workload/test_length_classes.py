"""Classes of lengths, and how one is taken for another."""

import numpy as np
import pytest
from scipy import stats

from sim.workload.length_classes import confused, confusion_by_accuracy, equal_classes, published_classes
from sim.workload.randomness import Purpose, RandomNumbers

ENOUGH = 40_000


def test_a_class_holds_its_longest_length_and_the_last_is_open():
    classes = equal_classes(820, 10)
    tokens = np.array([1, 820, 821, 1640, 7380, 7381, 8200, 100_000])
    assert classes.of(tokens).tolist() == [0, 0, 1, 1, 8, 9, 9, 9]
    lower, upper = classes.bounds(np.array([0, 1, 9]), np.array([8192, 1000, 8192]))
    assert lower.tolist() == [1, 821, 7381]
    assert upper.tolist() == [820, 1000, 8192]


def test_published_classes_are_cut_where_the_table_says():
    classes = published_classes("bert_5_class")
    assert classes.of(np.array([42, 43, 141, 142, 294, 295, 503, 504])).tolist() == [0, 1, 1, 2, 2, 3, 3, 4]


def test_accuracy_is_the_same_in_every_class_and_errors_halve_with_distance():
    shares = confusion_by_accuracy(0.6, 4)
    assert np.diag(shares) == pytest.approx(0.6)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert shares[0] == pytest.approx([0.6, 0.4 * 4 / 7, 0.4 * 2 / 7, 0.4 / 7])


@pytest.mark.parametrize("true_class", range(5))
def test_classes_are_confused_as_often_as_the_matrix_says(true_class):
    shares = published_classes("bert_5_class").shares
    u = RandomNumbers(3).uniforms(Purpose.PREDICTION, ENOUGH)
    told = confused(np.full(ENOUGH, true_class), shares, u)
    counts = np.bincount(told, minlength=5)
    possible = shares[true_class] > 0
    assert counts[~possible].sum() == 0
    assert stats.chisquare(counts[possible], shares[true_class][possible] * ENOUGH).pvalue > 1e-3


def test_a_larger_number_never_gives_a_lower_class():
    shares = confusion_by_accuracy(0.5, 6)
    u = np.sort(RandomNumbers(3).uniforms(Purpose.PREDICTION, 1000))
    assert (np.diff(confused(np.full(1000, 2), shares, u)) >= 0).all()


@pytest.mark.parametrize(("u", "told"), [(1e-15, 0), (0.7999, 0), (0.8001, 1), (1 - 2.0**-53, 3)])
def test_ends_of_the_first_row(u, told):
    shares = published_classes("bert_5_class").shares  # .80 .15 .03 .02 .00
    assert confused(np.array([0]), shares, np.array([u])).tolist() == [told]
