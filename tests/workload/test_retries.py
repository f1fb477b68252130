"""Requests of clients whose answer was cut: lengths, order and texts, worked by hand."""

from itertools import pairwise

import numpy as np
import pytest

from sim.deployment import resolve
from sim.engine.inputs import SHARED_TEXT, Requests
from sim.studies.output_lengths import capped
from sim.workload import RequestInfo, make_requests
from sim.workload.retries import NOBODY, Retry, in_order, questions, with_retries
from sim.workload_spec import Workload
from tests.cases import BASE
from tests.cases import trace as trace_of

OUTPUTS, PROMPTS, CAP = [3, 10, 4, 9], [5, 6, 7, 8], 4
NO_RETRIES = [NOBODY] * 4


def made(retry: Retry, cap: int = CAP, **limits: int) -> tuple[Requests, RequestInfo]:
    longest = limits.get("max_model_len", resolve(BASE).max_model_len)
    requests, info = make_requests(capped(BASE, cap), trace_of(OUTPUTS, PROMPTS), max_model_len=longest)
    clients = Workload(client_retry=retry.value)
    return with_retries(requests, info, clients, max_model_len=longest, tail_quantile=0.95)


def test_nobody_asks_again_where_clients_take_it() -> None:
    requests, info = made(Retry.NEVER)
    assert requests.output_len.tolist() == [3, 4, 4, 4]
    assert requests.again is None
    assert info.retry_of is None
    assert info.is_truncated.tolist() == [False, True, False, True]


def test_the_rest_is_asked_for_with_prompt_and_cut_answer_until_it_is_whole() -> None:
    # 10 tokens under a cap of 4: 4, 4 and 2, with prompts of 6, 10 and 14. 9 tokens: 4, 4 and 1, with 8, 12 and 16.
    requests, info = made(Retry.REST)
    assert requests.output_len.tolist() == [3, 4, 4, 4, 4, 2, 4, 1]
    assert requests.prompt_len.tolist() == [5, 6, 7, 8, 10, 14, 12, 16]
    assert info.retry_of.tolist() == [*NO_RETRIES, 1, 4, 3, 6]
    assert requests.again.tolist() == [0, 4, 0, 6, 5, 0, 7, 0]
    assert questions(info).tolist() == [0, 1, 2, 3, 1, 1, 3, 3]
    assert info.is_truncated.tolist() == [False, True, False, True, True, False, True, False]
    assert requests.cap.tolist() == [4] * 8
    assert len(requests.arrival_s) == 4


def test_whoever_asks_again_without_the_cap_gets_the_whole_answer() -> None:
    requests, info = made(Retry.AGAIN)
    assert requests.output_len.tolist() == [3, 4, 4, 4, 10, 9]
    assert requests.prompt_len.tolist() == [*PROMPTS, 6, 8]
    assert info.retry_of.tolist() == [*NO_RETRIES, 1, 3]
    assert not info.is_truncated[4:].any()
    assert (requests.cap[4:] >= 10).all()


@pytest.mark.parametrize("retry", Retry)
def test_a_cap_that_cuts_nothing_changes_nothing(retry: Retry) -> None:
    requests, info = made(retry, cap=10)
    assert requests.output_len.tolist() == OUTPUTS
    assert info.retry_of is None


def test_nobody_asks_for_what_the_server_has_no_room_for() -> None:
    # at most 12 tokens: question 1 wants 10 and may have 6 in all, question 3 has room for its 4
    requests, info = made(Retry.REST, max_model_len=12)
    assert requests.output_len.tolist() == [3, 4, 4, 4, 2]
    assert info.retry_of.tolist() == [*NO_RETRIES, 1]
    assert info.is_truncated.tolist() == [False, True, False, True, True]


def test_a_retry_quotes_the_text_of_its_question_and_what_was_answered_first() -> None:
    requests, _ = made(Retry.REST)
    start, content, length = requests.segment_start, requests.segment_content, requests.segment_len
    texts = [list(zip(content[a:b].tolist(), length[a:b].tolist(), strict=True)) for a, b in pairwise(start)]
    # Row 4 has a prompt of 10: the 6 of question 1 and its first 4 tokens. So has the beginning of row 5's 14.
    assert texts == [[], [], [], [], [(1, 10)], [(1, 10)], [(3, 12)], [(3, 12)]]
    again, _ = made(Retry.AGAIN)
    assert again.segment_len.tolist() == [6, 8]
    assert again.segment_content.tolist() == [1, 3]


def test_shared_texts_come_before_the_questions_own() -> None:
    under = Requests(
        arrival_s=np.zeros(2), prompt_len=np.array([6, 4]), output_len=np.array([5, 5]), cap=np.array([5, 5]),
        priority=np.zeros(2, np.int64), is_straggler=np.zeros(2, np.int64), segment_start=np.array([0, 1, 2]),
        segment_content=np.array([SHARED_TEXT, SHARED_TEXT + 1]), segment_len=np.array([2, 4]), users=0,
    )  # fmt: skip
    _, info = make_requests(BASE, trace_of([9, 9], [6, 4]), max_model_len=1000)
    clients = Workload(client_retry="again")
    found, _ = with_retries(under, info, clients, max_model_len=1000, tail_quantile=0.95)
    # The second prompt is shared as a whole: nothing of its own is quoted.
    assert found.segment_start.tolist() == [0, 1, 2, 4, 5]
    assert found.segment_content.tolist() == [SHARED_TEXT, SHARED_TEXT + 1, SHARED_TEXT, 0, SHARED_TEXT + 1]
    assert found.segment_len.tolist() == [2, 4, 2, 4, 4]


def test_in_order_a_retry_names_the_places_of_what_it_follows_and_quotes() -> None:
    requests, info = made(Retry.AGAIN)
    ordered, details = in_order(requests, info, np.array([0, 1, 4, 2, 3, 5]))  # question 1 asks before question 2 does
    assert ordered.output_len.tolist() == [3, 4, 10, 4, 4, 9]
    assert details.retry_of.tolist() == [NOBODY, NOBODY, 1, NOBODY, NOBODY, 4]
    assert ordered.segment_start.tolist() == [0, 0, 0, 1, 1, 1, 2]
    assert ordered.segment_content.tolist() == [1, 4]  # question 3 stands in row 4
    assert details.is_truncated.tolist() == [False, True, False, False, True, False]
    assert questions(details).tolist() == [0, 1, 1, 3, 4, 4]


def test_of_retries_that_never_came_nothing_is_left() -> None:
    requests, info = made(Retry.REST)
    ordered, details = in_order(requests, info, np.array([0, 1, 2, 4, 3]))
    assert ordered.prompt_len.tolist() == [5, 6, 7, 10, 8]
    assert details.retry_of.tolist() == [NOBODY, NOBODY, NOBODY, 1, NOBODY]
