"""Published predictors: exactly the figures of schedulers.md, section 2."""

import pytest

from sim.catalog import confusion_matrix, predictor_names, published_predictor

FIGURES = {
    "ranker_sharegpt": {"tau": 0.54},
    "ranker_lmsys": {"tau": 0.62},
    "ranker_alpaca": {"tau": 0.73},
    "ranker_sharegpt_on_lmsys": {"tau": 0.45},
    "ranker_lmsys_on_sharegpt": {"tau": 0.40},
    "class10_sharegpt": {"tau": 0.24, "accuracy": 0.85, "num_classes": 10, "class_width": 820},
    "class10_lmsys": {"tau": 0.17, "accuracy": 0.97, "num_classes": 10, "class_width": 820},
    "class_100_tokens_sharegpt": {"tau": 0.49, "accuracy": 0.28, "class_width": 100},
    "class_100_tokens_lmsys": {"tau": 0.58, "accuracy": 0.43, "class_width": 100},
    "self_declared_sharegpt": {"tau": 0.51},
    "self_declared_lmsys": {"tau": 0.67},
    "ceiling_sharegpt": {"tau": 0.74},
    "ceiling_lmsys": {"tau": 0.84},
    "finetuned_alpaca": {"mean_abs_error": 62, "within_50": 0.59, "within_100": 0.81},
    "bert_5_class": {"accuracy": 0.60, "within_one_class": 0.93, "too_short": 0.19, "too_long": 0.21, "tau": 0.64},
    "bert_2_class": {"accuracy": 0.83, "class_width": 141, "num_classes": 2},
    "another_answer_alpaca": {"within_prompt_spread": 0.39, "total_spread": 1.05},
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_catalogue_holds_the_published_figures(name: str) -> None:
    found = published_predictor(name)
    assert {field: getattr(found, field) for field in FIGURES[name]} == FIGURES[name]


def test_no_published_predictor_is_without_its_figures() -> None:
    assert set(predictor_names()) == set(FIGURES)


def test_the_confusion_matrix_of_bert_is_the_published_one_to_its_two_digits() -> None:
    found = confusion_matrix("bert_5_class")
    assert found.longest == (42, 141, 294, 503)
    published = [
        [0.80, 0.15, 0.03, 0.02, 0.00],
        [0.16, 0.57, 0.19, 0.08, 0.01],
        [0.03, 0.22, 0.46, 0.28, 0.02],
        [0.01, 0.07, 0.26, 0.59, 0.07],
        [0.02, 0.05, 0.16, 0.53, 0.24],
    ]
    for row, wanted in zip(found.shares, published, strict=True):
        assert row == pytest.approx(wanted, abs=0.006)
        assert sum(row) == pytest.approx(1, abs=1e-12)
