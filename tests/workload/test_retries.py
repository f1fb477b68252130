"""Requests of clients whose answer was cut: lengths, order and texts, worked by hand."""

from itertools import pairwise

import numpy as np
import pytest

from sim.deployment import resolve
from sim.engine.inputs import SHARED_TEXT, Requests
from sim.simulate import simulate_requests
from sim.studies.output_lengths import capped
from sim.workload import make_requests
from sim.workload.retries import NOBODY, Retry, Tries, arranged, tries
from tests.cases import BASE, with_blocks
from tests.cases import trace as trace_of

OUTPUTS, PROMPTS, CAP = [3, 10, 4, 9], [5, 6, 7, 8], 4


def made(retry: Retry, cap: int = CAP) -> Tries:
    rows = trace_of(OUTPUTS, PROMPTS)
    longest = resolve(BASE).max_model_len
    whole, _ = make_requests(BASE, rows, max_model_len=longest)
    requests, info = make_requests(capped(BASE, cap), rows, max_model_len=longest)
    return tries(requests, info, whole, retry)


def test_nobody_asks_again_where_clients_take_it() -> None:
    found = made(Retry.NEVER)
    assert found.requests.output_len.tolist() == [3, 4, 4, 4]
    assert found.useful.tolist() == [3, 4, 4, 4]
    assert found.after.tolist() == [NOBODY] * 4
    assert found.info.is_truncated.tolist() == [False, True, False, True]


def test_the_rest_is_asked_for_with_prompt_and_cut_answer_until_it_is_whole() -> None:
    # 10 tokens under a cap of 4: 4, 4 and 2, with prompts of 6, 10 and 14. 9 tokens: 4, 4 and 1, with 8, 12 and 16.
    found = made(Retry.REST)
    assert found.requests.output_len.tolist() == [3, 4, 4, 4, 4, 2, 4, 1]
    assert found.requests.prompt_len.tolist() == [5, 6, 7, 8, 10, 14, 12, 16]
    assert found.question.tolist() == [0, 1, 2, 3, 1, 1, 3, 3]
    assert found.after.tolist() == [NOBODY] * 4 + [1, 4, 3, 6]
    assert np.bincount(found.question, found.useful).tolist() == OUTPUTS
    assert found.info.is_truncated.tolist() == [False, True, False, True, True, False, True, False]
    assert found.requests.cap.tolist() == [4] * 8


def test_whoever_asks_again_without_the_cap_throws_the_cut_answer_away() -> None:
    found = made(Retry.AGAIN)
    assert found.requests.output_len.tolist() == [3, 4, 4, 4, 10, 9]
    assert found.requests.prompt_len.tolist() == [*PROMPTS, 6, 8]
    assert found.useful.tolist() == [3, 0, 4, 0, 10, 9]
    assert found.after.tolist() == [NOBODY] * 4 + [1, 3]
    assert not found.info.is_truncated[4:].any()
    assert (found.requests.cap[4:] >= 10).all()


@pytest.mark.parametrize("retry", Retry)
def test_a_cap_that_cuts_nothing_changes_nothing(retry: Retry) -> None:
    found = made(retry, cap=10)
    assert found.requests.output_len.tolist() == OUTPUTS
    assert len(found.question) == 4


def test_a_retry_quotes_the_text_of_its_question_and_what_was_answered_first() -> None:
    found = made(Retry.REST)
    start, content, length = (
        found.requests.segment_start,
        found.requests.segment_content,
        found.requests.segment_len,
    )
    texts = [list(zip(content[a:b].tolist(), length[a:b].tolist(), strict=True)) for a, b in pairwise(start)]
    # Row 4 has a prompt of 10: the 6 of question 1 and its first 4 tokens. So has the beginning of row 5's 14.
    assert texts == [[], [], [], [], [(1, 10)], [(1, 10)], [(3, 12)], [(3, 12)]]
    again = made(Retry.AGAIN).requests
    assert again.segment_len.tolist() == [6, 8]
    assert again.segment_content.tolist() == [1, 3]


def test_shared_texts_come_before_the_questions_own() -> None:
    whole = Requests(
        arrival_s=np.zeros(2), prompt_len=np.array([6, 4]), output_len=np.array([9, 9]), cap=np.array([99, 99]),
        priority=np.zeros(2, np.int64), is_straggler=np.zeros(2, np.int64), segment_start=np.array([0, 1, 2]),
        segment_content=np.array([SHARED_TEXT, SHARED_TEXT + 1]), segment_len=np.array([2, 4]), users=0,
    )  # fmt: skip
    under = whole._replace(output_len=np.array([5, 5]), cap=np.array([5, 5]))
    _, info = make_requests(BASE, trace_of([9, 9], [6, 4]), max_model_len=1000)
    found = tries(under, info, whole, Retry.AGAIN).requests
    # The second prompt is shared as a whole: nothing of its own is quoted.
    assert found.segment_start.tolist() == [0, 1, 2, 4, 5]
    assert found.segment_content.tolist() == [SHARED_TEXT, SHARED_TEXT + 1, SHARED_TEXT, 0, SHARED_TEXT + 1]
    assert found.segment_len.tolist() == [2, 4, 2, 4, 4]


def test_tries_are_put_in_order_and_quote_the_row_where_the_question_then_stands() -> None:
    found = made(Retry.AGAIN)
    arrival_s = np.array([0.0, 1.0, 5.0, 6.0, 4.0, 9.0])  # the retry of question 1 comes before question 2
    requests, info, order = arranged(found, arrival_s, 0.95)
    assert order.tolist() == [0, 1, 4, 2, 3, 5]
    assert requests.arrival_s.tolist() == [0, 1, 4, 5, 6, 9]
    assert requests.output_len.tolist() == [3, 4, 10, 4, 4, 9]
    assert requests.segment_start.tolist() == [0, 0, 0, 1, 1, 1, 2]
    assert requests.segment_content.tolist() == [1, 4]  # question 3 stands in row 4
    assert info.is_truncated.tolist() == [False, True, False, False, True, False]


def test_a_prefix_cache_finds_the_prompt_and_the_answer_that_a_retry_quotes() -> None:
    # Blocks of one token: question 1 has a prompt of 6 and an answer of 4, all but the last token of it computed.
    caching = with_blocks(BASE, 1000, scheduler__enable_prefix_caching=True)
    found = made(Retry.REST)
    arrival_s = np.array([0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0])
    requests, info, order = arranged(found, arrival_s, 0.95)
    result = simulate_requests(caching, requests, info)
    cached = np.empty(8, np.int64)
    cached[order] = result.run.outcome.cached_tokens
    assert cached.tolist() == [0, 0, 0, 0, 9, 10, 11, 12]  # the second retries find what the first computed
