"""What predictors say: the published figures, the direction of the error, and whose luck it is."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from sim.catalog import predictor_names, published_predictor
from sim.errors import ScenarioError
from sim.scenario import Scenario, with_values
from sim.workload import make_requests
from sim.workload.predictions import classes_of, make_predictions, reservation_tokens

MAX_MODEL_LEN = 8192
LMSYS = {"kind": "lognormal", "mean": 293, "cv": 1.4}  # schedulers.md, 5.3
SHAREGPT = {"kind": "lognormal", "mean": 412, "cv": 1.05}
SSJF = {"kind": "empirical", "dataset": "ssjf_lmsys_vicuna13b"}
ALPACA = {  # schedulers.md, 5.2
    "kind": "quantiles",
    "points": [[0, 1], [0.1, 16], [0.25, 33], [0.5, 101], [0.75, 174], [0.9, 276], [0.95, 333], [0.99, 484], [1, 512]],
}


class Predicted:
    """Predictions of one scenario, beside the truth."""

    def __init__(self, output=LMSYS, n=20_000, seed=0, replication=0, rate=8.0, cap=None, **predictor):
        self.scenario = with_values(
            Scenario(),
            {
                "seed": seed,
                "workload.num_requests": n,
                "workload.arrivals.rate_rps": rate,
                "workload.types.0.output": output,
                "workload.types.0.cap": cap,
                **{f"predictor.{name}": value for name, value in predictor.items()},
            },
        )
        self.requests, self.info = make_requests(self.scenario, max_model_len=MAX_MODEL_LEN, replication=replication)
        self.says = make_predictions(self.scenario, self.requests, self.info, replication)
        self.truth, self.cap = self.requests.output_len, self.requests.cap

    @property
    def tau(self):
        return stats.kendalltau(self.says.score, self.truth)[0]

    @property
    def classes(self):
        """True and told class."""
        classes = classes_of(self.scenario, self.requests, self.info)
        return classes.of(self.truth), classes.of(self.says.point)

    @property
    def error(self):
        return np.abs(self.says.point - self.truth)


def share_near(found, wanted, n):
    """Whether a share found among n is within 4 standard errors of the wanted one."""
    return abs(found - wanted) <= 4 * math.sqrt(wanted * (1 - wanted) / n)


# what each kind tells


def test_without_a_predictor_the_cap_is_all_that_is_known():
    found = Predicted()
    assert (found.says.score == 0).all()
    assert (found.says.point == found.cap).all()
    assert (reservation_tokens(found.says, found.cap, 0.5) == found.cap).all()


def test_an_oracle_tells_the_truth_whatever_the_error():
    found = Predicted(kind="oracle", bias=1, spread=2)
    for column in (found.says.point, found.says.lower, found.says.upper, found.says.score):
        assert (column == found.truth).all()
    assert (reservation_tokens(found.says, found.cap, 0.99) == found.truth).all()


def test_a_point_without_error_is_the_truth():
    found = Predicted(kind="point", spread=0)
    assert (found.says.point == found.truth).all()


def test_a_bucket_tells_the_upper_bound_of_the_class():
    found = Predicted(kind="bucket", accuracy=1.0, num_classes=10, class_width=100)
    true_class, _ = found.classes
    expected = np.where(true_class == 9, found.cap, np.minimum((true_class + 1) * 100, found.cap))
    assert (found.says.upper == expected).all()
    assert (found.says.lower == np.minimum(true_class * 100 + 1, found.cap)).all()
    assert (found.says.point == expected).all()
    assert (reservation_tokens(found.says, found.cap, 0.9) == expected).all()


def test_classes_without_a_width_divide_the_longest_answer_allowed():
    # 8192 / 10 rounded up, as for the published 10 classes; with a cap, the cap.
    uncapped = Predicted(kind="bucket", accuracy=1.0, n=100)
    assert set(uncapped.says.upper) <= {820, 1640, 2460, 3280, 4100, 4920, 5740, 6560, 7380} | set(uncapped.cap)
    capped = Predicted(kind="bucket", accuracy=1.0, n=100, cap=500)
    assert set(capped.says.upper) <= set(range(50, 501, 50))


def test_a_rank_says_nothing_about_tokens():
    found = Predicted(kind="rank", tau=0.6)
    assert (found.says.point == found.cap).all()
    assert len(np.unique(found.says.score)) > 0.95 * len(found.cap)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
@pytest.mark.parametrize("within", [0.0, 0.39])
def test_intervals_hold_the_truth_as_often_as_they_say(coverage, within):
    lengths = {"kind": "lognormal", "mean": 300, "cv": 1}  # log-normal, so that the theory is exact but for rounding
    found = Predicted(lengths, kind="interval", coverage=coverage, within_prompt_spread=within)
    held = ((found.says.lower <= found.truth) & (found.truth <= found.says.upper)).mean()
    assert share_near(held, coverage, len(found.cap) / 2)  # bounds are rounded to tokens


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
def test_a_reserved_quantile_is_enough_as_often_as_it_says(q):
    found = Predicted(kind="distribution", spread=0.6, n=50_000)
    enough = (found.truth <= reservation_tokens(found.says, found.cap, q)).mean()
    assert share_near(enough, q, 50_000 / 2)


def test_bias_is_another_quantile():
    # Reserving the median with bias b is reserving the quantile at z = b / spread without: the asymmetry in one number.
    median = Predicted(kind="distribution", spread=0.5, bias=0.5 * ndtri(0.8))
    quantile = Predicted(kind="distribution", spread=0.5)
    a = reservation_tokens(median.says, median.cap, 0.5)
    b = reservation_tokens(quantile.says, quantile.cap, 0.8)
    assert np.abs(a - b).max() <= 1


def test_drift_makes_a_reservation_fall_short_of_what_it_says():
    found = Predicted(kind="distribution", spread=0.5, drift_spread=0.5, drift_bias=-0.3)
    # ln N - prediction is normal with mean 0.3 and sd sqrt(0.5); 0.5 * z(0.9) is reserved above the prediction.
    wanted = stats.norm.cdf((0.5 * ndtri(0.9) - 0.3) / math.sqrt(0.5))
    enough = (found.truth <= reservation_tokens(found.says, found.cap, 0.9)).mean()
    assert share_near(enough, wanted, len(found.cap) / 2)
    assert found.says.log_sd[0] == 0.5


# published predictors


@pytest.mark.parametrize(
    ("name", "output"),
    [(name, SHAREGPT if "sharegpt" in name.split("_on_")[-1] else LMSYS) for name in predictor_names()
     if published_predictor(name).kind == "rank"],
)  # fmt: skip
def test_published_rankers_keep_the_order_as_well_as_measured(name, output):
    found = Predicted(output, preset=name)
    # 4 standard errors of tau.
    assert found.tau == pytest.approx(published_predictor(name).tau, abs=4 * 0.67 / math.sqrt(20_000))


@pytest.mark.parametrize(
    ("name", "output", "accuracy_within"),
    [
        ("class10_sharegpt", SHAREGPT, 0.06),
        ("class10_lmsys", LMSYS, 0.06),
        ("class_100_tokens_sharegpt", SHAREGPT, 0.06),
        ("class_100_tokens_lmsys", LMSYS, 0.06),
    ],
)
def test_published_classifiers_have_their_tau_and_about_their_accuracy(name, output, accuracy_within):
    found, published = Predicted(output, preset=name), published_predictor(name)
    assert found.tau == pytest.approx(published.tau, abs=0.03)
    true_class, told = found.classes
    # The lengths are log-normals through published means and spreads, so accuracy, which follows from the share of the
    # short class, comes out near the measured one and not at it.
    assert (true_class == told).mean() == pytest.approx(published.accuracy, abs=accuracy_within)


def test_a_classifier_that_is_nearly_always_right_may_hardly_know_the_order():
    classifier = Predicted(LMSYS, preset="class10_lmsys")
    true_class, told = classifier.classes
    assert (true_class == told).mean() > 0.9
    assert classifier.tau < 0.22
    # A ranker that is wrong about most classes of 100 tokens knows it far better.
    assert Predicted(LMSYS, preset="class_100_tokens_lmsys").tau > 2.5 * classifier.tau


def test_bert_of_five_classes_errs_as_published():
    found, published = Predicted(SSJF, n=50_000, preset="bert_5_class"), published_predictor("bert_5_class")
    true_class, told = found.classes
    # The published shares are rounded to a percent.
    assert (true_class == told).mean() == pytest.approx(published.accuracy, abs=0.01)
    assert (np.abs(true_class - told) <= 1).mean() == pytest.approx(published.within_one_class, abs=0.01)
    assert (told < true_class).mean() == pytest.approx(published.too_short, abs=0.01)
    assert (told > true_class).mean() == pytest.approx(published.too_long, abs=0.01)
    # The matrix treats a class's longest and shortest alike, which the real classifier does not: its tau is higher.
    assert published.tau - 0.06 < found.tau < published.tau


def test_bert_of_two_classes_is_right_as_often_as_published():
    found = Predicted(SSJF, preset="bert_2_class")
    true_class, told = found.classes
    assert share_near((true_class == told).mean(), 0.83, len(told))
    assert ((found.truth <= 141) == (true_class == 0)).all()


def test_the_fine_tuned_model_errs_as_published_within_two_points():
    found, published = (
        Predicted(ALPACA, n=50_000, cap=512, preset="finetuned_alpaca"),
        published_predictor("finetuned_alpaca"),
    )
    assert found.error.mean() == pytest.approx(published.mean_abs_error, rel=0.03)
    assert (found.error <= 50).mean() == pytest.approx(published.within_50, abs=0.02)
    assert (found.error <= 100).mean() == pytest.approx(published.within_100, abs=0.02)


def test_another_answer_to_the_prompt_is_spread_like_the_first_and_as_alike_as_theory_says():
    lengths = {"kind": "lognormal", "mean": 150, "cv": 1.4203}  # ln spread 1.05, as measured
    found = Predicted(lengths, preset="another_answer_alpaca")
    log_said, log_true = found.says.log_mean, np.log(found.truth)
    assert log_said.std() == pytest.approx(log_true.std(), rel=0.02)
    alike = 1 - (0.39 / 1.05) ** 2
    assert np.corrcoef(log_said, log_true)[0, 1] == pytest.approx(alike, abs=0.01)
    assert (log_said - log_true).std() == pytest.approx(math.sqrt(2) * 0.39, rel=0.03)


@pytest.mark.parametrize("name", predictor_names())
def test_every_published_predictor_has_its_source_and_predicts(name):
    assert published_predictor(name).source
    found = Predicted(n=300, preset=name)
    assert (found.says.point >= 1).all()
    assert (found.says.point <= found.cap).all()
    assert np.isfinite(found.says.score).all()


def test_bias_comes_on_top_of_a_published_predictor():
    plain, biased = Predicted(preset="finetuned_alpaca"), Predicted(preset="finetuned_alpaca", bias=0.4)
    assert biased.says.log_mean - plain.says.log_mean == pytest.approx(0.4)


def test_an_unknown_predictor_is_refused_with_the_closest():
    with pytest.raises(ScenarioError) as refusal:
        with_values(Scenario(), {"predictor.preset": "ranker_lmsis"})
    assert str(refusal.value).startswith("predictor.preset is 'ranker_lmsis'; the catalogue's closest are ranker_lmsys")


# whose luck it is


def test_bias_moves_the_median_by_its_exponential():
    plain, biased = Predicted(kind="point"), Predicted(kind="point", bias=0.7)
    ratio = np.median(biased.says.point) / np.median(plain.says.point)
    assert ratio == pytest.approx(math.exp(0.7), rel=0.01)  # whole tokens
    assert biased.says.log_mean - plain.says.log_mean == pytest.approx(0.7, abs=1e-9)


def test_every_request_keeps_its_luck_when_bias_or_spread_moves():
    narrow, wide = Predicted(kind="point", spread=0.3), Predicted(kind="point", spread=0.9, bias=-0.5)
    log_true = np.log(narrow.truth)
    assert (wide.says.log_mean - log_true + 0.5) / 0.9 == pytest.approx(
        (narrow.says.log_mean - log_true) / 0.3, abs=1e-8
    )


@pytest.mark.parametrize("kind", ["point", "bucket", "interval", "distribution", "refined"])
def test_more_bias_never_shortens_a_prediction(kind):
    last = None
    for bias in (-1.0, -0.3, 0.0, 0.2, 1.5):
        point = Predicted(kind=kind, bias=bias, n=2000).says.point
        assert last is None or (point >= last).all()
        last = point


@pytest.mark.parametrize("kind", ["point", "bucket", "rank"])
def test_another_rate_changes_no_prediction(kind):
    slow, fast = Predicted(kind=kind, n=2000), Predicted(kind=kind, n=2000, rate=80.0)
    for a, b in zip(slow.says, fast.says, strict=True):
        assert (a == b).all()


@pytest.mark.parametrize("kind", ["point", "bucket", "rank"])
def test_a_longer_run_begins_with_the_same_predictions(kind):
    short, long = Predicted(kind=kind, n=5000), Predicted(kind=kind, n=9000)
    for a, b in zip(short.says, long.says, strict=True):
        assert (a == b[:5000]).all()


def test_seeds_and_replications_have_luck_of_their_own():
    first = Predicted(kind="point", n=100, output={"kind": "constant", "tokens": 100})
    for other in ({"seed": 1}, {"replication": 1}):
        found = Predicted(kind="point", n=100, output={"kind": "constant", "tokens": 100}, **other)
        assert (found.says.point != first.says.point).mean() > 0.8


def test_delay_is_in_seconds_on_the_grid_of_arrivals():
    found = Predicted(kind="point", n=10, delay_ms=4.2)
    assert found.says.delay_s.tolist() == [0.0042] * 10


def test_types_are_those_the_kernel_was_compiled_for():
    for kind in ("none", "oracle", "point", "bucket", "rank", "interval", "distribution", "refined"):
        says = Predicted(kind=kind, n=10).says
        types = [column.dtype.kind + str(column.dtype.itemsize) for column in says]
        assert types == ["f8", "f8", "i8", "i8", "i8", "f8", "f8"]
        assert all(column.shape == (10,) for column in says)
