"""What caps cost with clients that take it and clients that ask again: worked by hand."""

import warnings

import numpy as np
import pytest

from sim import Scenario, with_values
from sim.presets import preset
from sim.studies.caps import cap_point, caps_of, in_order, run_capped, whole_s
from sim.workload.retries import Retry
from tests.cases import BASE
from tests.cases import trace as trace_of

REPLAY = with_values(BASE, {"workload.arrivals": {"kind": "trace"}, "scheduler.max_num_seqs": 1})


def test_the_last_token_of_an_answer_comes_with_the_last_retry() -> None:
    # One slot, one token a second. The question at 0 wants 10 tokens under a cap of 4: done at 4; asked again at 5,
    # done at 9; asked again at 10, done at 12. The one at 100 wants 3 and is done at 103.
    rows = trace_of([10, 3], arrival_s=[0.0, 100.0])
    assert whole_s(run_capped(REPLAY, 4, Retry.REST, rows)).tolist() == [12.0, 3.0]
    assert whole_s(run_capped(REPLAY, 4, Retry.AGAIN, rows)).tolist() == [15.0, 3.0]  # 4, then from 5 on all 10
    assert whole_s(run_capped(REPLAY, 4, Retry.NEVER, rows)).tolist() == [4.0, 3.0]


def test_shares_that_are_cut_and_lost_by_type() -> None:
    rows = trace_of([10, 3, 20, 4], arrival_s=[0.0, 50.0, 100.0, 150.0], types=["a", "b", "a", "b"])
    point = cap_point(REPLAY, 4, Retry.NEVER, rows)
    assert point.truncated == 0.5
    assert point.tokens_lost == pytest.approx((6 + 16) / 37)
    assert [(each.name, each.truncated, each.tokens_lost) for each in point.types] == [
        ("a", 1.0, pytest.approx(22 / 30)),
        ("b", 0.0, 0.0),
    ]
    whole = cap_point(REPLAY, 4, Retry.REST, rows)
    assert (whole.truncated, whole.tokens_lost) == (0.5, 0.0)
    assert whole.requests_per_question == 2.5  # 10 tokens: two retries; 20: four


@pytest.mark.parametrize(("retry", "steps"), [(Retry.NEVER, 4), (Retry.REST, 8), (Retry.AGAIN, 12)])
def test_answers_a_second_of_a_full_server_by_hand(retry: Retry, steps: int) -> None:
    # 8 slots, steps of 0.1 s, answers of 8 tokens under a cap of 4. A try of n tokens takes n steps of a slot, so an
    # answer takes 4 where clients take it, 4 + 4 where they ask for the rest, 4 + 8 where they ask again.
    scenario = with_values(
        BASE,
        {
            "scheduler.max_num_seqs": 8,
            "cost.step_ms": 100.0,
            "workload.arrivals": {"kind": "deterministic", "rate_rps": 2.0},
            "workload.num_requests": 800,
            "workload.types.0.prompt": {"kind": "constant", "tokens": 1},
            "workload.types.0.output": {"kind": "constant", "tokens": 8},
        },
    )
    point = cap_point(scenario, 4, retry)
    assert point.answers_per_s == pytest.approx(8 / 0.1 / steps, rel=0.01)
    kept = 4 if retry is Retry.NEVER else 8
    assert point.useful_tokens_per_s == pytest.approx(kept * 8 / 0.1 / steps, rel=0.01)


EIGHT_SEATS = {"scheduler.max_num_seqs": 8, "cost.step_ms": 100.0, "deployment.max_model_len": 60}


def test_prompts_without_room_for_an_answer_are_no_answers() -> None:
    """Every other prompt has 60 tokens of 60: of 400 questions 200 get 8 tokens each, 80 tokens a second in 8 seats."""
    rows = trace_of([8] * 400, prompt_len=[1, 60] * 200, arrival_s=[0.5 * i for i in range(400)])
    point = cap_point(with_values(REPLAY, EIGHT_SEATS), 4, Retry.NEVER, rows)
    assert (point.truncated, point.tokens_lost, point.requests_per_question) == (1.0, 0.5, 1.0)
    assert point.answers_per_s == pytest.approx(80 / 4, rel=0.02)
    assert point.useful_tokens_per_s == pytest.approx(80, rel=0.02)
    assert point.num_whole == 200


def test_clients_that_give_up_do_not_make_a_full_server_answer_more() -> None:
    """80 tokens a second in 8 seats are 10 answers of 8, or 20 cut to 4; who asked last gave up long ago."""
    rows = trace_of([8] * 400, arrival_s=[0.5 * i for i in range(400)])
    impatient = with_values(REPLAY, EIGHT_SEATS | {"workload.client_timeout_s": 3.0})
    whole, cut = (cap_point(impatient, cap, Retry.NEVER, rows).answers_per_s for cap in (None, 4))
    assert whole == pytest.approx(10, rel=0.02)
    assert cut == pytest.approx(20, rel=0.02)


def test_a_run_that_stops_early_cuts_no_answer_and_no_retry() -> None:
    """Eight tokens in two tries of four: two requests a question, 10 answers a second, however early one looks away."""
    rows = trace_of([8] * 400, arrival_s=[0.5 * i for i in range(400)])
    point = cap_point(with_values(REPLAY, EIGHT_SEATS | {"max_sim_time_s": 20.0}), 4, Retry.REST, rows)
    assert (point.truncated, point.tokens_lost, point.requests_per_question) == (1.0, 0.0, 2.0)
    assert point.answers_per_s == pytest.approx(10, rel=0.02)


def test_where_nobody_is_answered_nothing_is_cut_and_nothing_lost() -> None:
    nobody = cap_point(with_values(REPLAY, EIGHT_SEATS), 4, Retry.NEVER, trace_of([8] * 5, 60, [0.0] * 5))
    assert (nobody.truncated, nobody.tokens_lost, nobody.types) == (0.0, 0.0, ())
    assert not nobody.answers_per_s > 0


def test_one_request_fills_no_server_and_makes_no_queue() -> None:
    """Alone it takes 0.8 s, so a server full of it gives 1.25 answers a second; it came as one of 8 a second."""
    one = with_values(BASE, {"workload.num_requests": 1, "workload.arrivals": {"kind": "poisson", "rate_rps": 8.0}})
    assert not cap_point(one, 8, Retry.NEVER).is_overloaded


def test_a_p99_of_few_answers_is_none_and_all_at_once_is_no_growing_queue() -> None:
    few = cap_point(with_values(BASE, {"workload.num_requests": 20}), 8, Retry.NEVER)
    assert np.isnan(few.whole_p99_s)
    assert few.num_whole == 20
    assert not few.is_overloaded


def test_a_cap_above_every_answer_changes_nothing() -> None:
    chat = with_values(preset("chat"), {"workload.num_requests": 400})
    base = cap_point(chat, None, Retry.NEVER)
    assert cap_point(chat, 4096, Retry.REST)._replace(cap=None, retry=Retry.NEVER) == base
    assert base.truncated == base.tokens_lost == 0


@pytest.mark.parametrize("retry", [Retry.REST, Retry.AGAIN])
def test_nothing_is_lost_where_clients_ask_until_they_have_it(retry: Retry) -> None:
    point = cap_point(with_values(preset("chat"), {"workload.num_requests": 3000}), 256, retry)
    assert not point.is_overloaded
    assert point.tokens_lost == 0
    assert point.requests_per_question > 1


def test_asking_for_the_rest_costs_more_than_the_cap_gave() -> None:
    chat = with_values(preset("chat"), {"workload.num_requests": 3000})
    base, never, rest = (
        cap_point(chat, *each) for each in ((None, Retry.NEVER), (256, Retry.NEVER), (256, Retry.REST))
    )
    assert never.answers_per_s > base.answers_per_s > rest.answers_per_s


def test_an_overloaded_server_says_so() -> None:
    busy = with_values(preset("memory-pressure"), {"workload.num_requests": 3000, "workload.arrivals.rate_rps": 5})
    assert cap_point(busy, 256, Retry.AGAIN).is_overloaded
    assert not cap_point(busy, 256, Retry.NEVER).is_overloaded


def test_caps_worth_a_look_lie_below_the_scenarios_own() -> None:
    assert caps_of(preset("chat")) == [128, 256, 512, 1024, 2048]  # its own cap is 4,096


def test_points_come_in_order_of_the_cap() -> None:
    small = with_values(preset("chat"), {"workload.num_requests": 200})
    points = [cap_point(small, cap, Retry.NEVER) for cap in (None, 512, 128)]
    assert [point.cap for point in in_order(points, Retry.NEVER)] == [128, 512, None]
    assert in_order(points, Retry.REST) == []


def test_users_of_a_closed_loop_wait_for_their_whole_answer_and_never_overload() -> None:
    """One user, one token a second, answers of 8 tokens under a cap of 3: cut at 3, asked for the rest, 3 + 3 + 2."""
    values = {"workload.types.0.output": {"kind": "constant", "tokens": 8}, "workload.num_requests": 100}
    user = with_values(BASE, values | {"workload.arrivals": {"kind": "closed_loop", "concurrency": 1}})
    never, rest = (cap_point(user, 3, retry) for retry in (Retry.NEVER, Retry.REST))
    assert (never.truncated, never.tokens_lost, never.whole_p99_s) == (1.0, pytest.approx(5 / 8), 3.0)
    assert (rest.tokens_lost, rest.requests_per_question) == (0.0, 3.0)
    assert rest.whole_p99_s == pytest.approx(8.0, abs=2.1)  # and a moment between two tries
    assert not never.is_overloaded
    assert not rest.is_overloaded


def test_the_scenario_itself_is_left_alone() -> None:
    chat: Scenario = with_values(preset("chat"), {"workload.num_requests": 200})
    cap_point(chat, 128, Retry.REST)
    assert chat == with_values(preset("chat"), {"workload.num_requests": 200})


def test_a_try_that_never_ends_has_no_wait_and_no_warning() -> None:
    """Ten tokens, one a second: nobody who gives up after a second has them."""
    impatient = with_values(REPLAY, {"workload.client_timeout_s": 1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(whole_s(run_capped(impatient, 4, Retry.NEVER, trace_of([10], arrival_s=[0.0])))).all()
