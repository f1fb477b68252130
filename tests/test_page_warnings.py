"""What the page says of knobs that cannot be, and of runs to be read with care."""

from streamlit.testing.v1 import AppTest

from tests.page_script import MAIN, headline, open_page, turn


def test_a_value_out_of_range_is_refused_with_its_limit() -> None:
    app = open_page(rate="-3")
    assert [error.value for error in app.error] == ["workload.arrivals.rate_rps is -3; more than 0 is needed"]


def test_choices_that_contradict_each_other_are_refused_beside_them_and_stay() -> None:
    app = open_page(order="rank", reserve="quantile")
    assert not app.error
    turn(app, "reserve", "peak_cap")
    sentence = "scheduler.reserve is peak_cap; with order rank, which may displace anybody, a future peak means nothing"
    assert [error.value.startswith(sentence) for error in app.error] == [True, True]
    assert (app.selectbox(key="order_named").value, app.selectbox(key="reserve_named").value) == ("rank", "peak_cap")
    assert (app.query_params["order"], app.query_params["reserve"]) == ("rank", "peak_cap")
    turn(app, "reserve", "cap")
    assert not app.error
    assert app.session_state.asked.scenario.scheduler.choices.reserve == "cap"


def test_a_scheduler_says_what_it_knows_and_which_predictor_it_has() -> None:
    app = open_page(sched="s3")
    captions = [caption.value for caption in app.caption]
    assert any(text.startswith("Knows a predicted class of lengths. Reserves prompt") for text in captions)
    assert any(text.startswith("None is named: S3 uses its own, kind bucket") for text in captions)
    turn(app, "pred", "oracle")
    assert not any(caption.value.startswith("None is named") for caption in app.caption)


def test_vllms_mode_of_scheduling_is_named() -> None:
    app = open_page(**{"async": "false"})
    assert any(caption.value.endswith("Scheduling is synchronous.") for caption in app.caption)
    turn(app, "async", "true")
    assert any(caption.value.endswith("Scheduling is asynchronous.") for caption in app.caption)


def test_of_several_values_that_cannot_be_one_is_refused_and_all_stay() -> None:
    wrong = {"rate": "fast", "output": "nonsense", "cache": "maybe", "sched": "nonsense"}
    app = open_page(**wrong)
    (error,) = app.error
    assert error.value.startswith(("workload.", "scheduler."))
    assert {key: app.query_params[key] for key in wrong} == wrong


def test_a_model_that_does_not_fit_is_refused_with_the_numbers() -> None:
    app = open_page(model="Llama-3.1-405B")
    assert len(app.error) == 1
    assert "GiB" in app.error[0].value


def test_an_unstable_run_has_a_banner() -> None:
    app = open_page(rate="100", n="1000")
    assert any(warning.value.startswith("Unstable") for warning in app.warning)
    assert headline(app).startswith("Overloaded")


def test_a_short_run_has_a_banner() -> None:
    app = open_page(n="30")
    assert any(warning.value.startswith("Too short") for warning in app.warning)


def test_an_uncalibrated_cost_has_a_banner() -> None:
    app = open_page(model="gpt-oss-20b", gpu="L40S")
    assert any(warning.value.startswith("Uncalibrated") for warning in app.warning)


def test_batch_delivery_shows_end_to_end_time_per_token_instead_of_tpot() -> None:
    app = AppTest.from_file(MAIN, default_timeout=120)
    app.query_params["preset"] = "textbook-straggler"
    app.run()
    assert [metric.label for metric in app.metric][3:5] == [
        "p50 E2E per token (batch delivery)",
        "p99 E2E per token (batch delivery)",
    ]
    verdict = headline(app)
    assert "E2E per token (what the article calls TPOT) is 20 T" in verdict
    assert "19.4 T on average" in verdict
