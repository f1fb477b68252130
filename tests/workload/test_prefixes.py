"""Shared texts at the start of prompts."""

import numpy as np

from sim.engine.inputs import SHARED_TEXT
from sim.lengths_spec import Constant
from sim.workload.prefixes import draw_prefixes
from sim.workload.randomness import RandomNumbers
from sim.workload_spec import TaskType

NUMBERS = RandomNumbers(5)


def task(name="chat", tokens=0, num_prefixes=1):
    length = Constant(tokens=10)
    return TaskType(name=name, prompt=length, output=length, shared_prefix_tokens=tokens, num_prefixes=num_prefixes)


def draw(tasks, type_id, prompt_len):
    return draw_prefixes(tasks, np.array(type_id), np.array(prompt_len), NUMBERS)


def test_nobody_shares_where_no_type_has_a_prefix():
    segments, group = draw([task()], [0, 0], [10, 20])
    assert segments.start.tolist() == [0, 0, 0]
    assert segments.length.size == segments.content.size == 0
    assert group.tolist() == [-1, -1]


def test_prompt_shorter_than_the_shared_text_is_its_beginning():
    segments, group = draw([task(tokens=100)], [0, 0], [40, 200])
    assert segments.length.tolist() == [40, 100]
    assert segments.content.tolist() == [SHARED_TEXT, SHARED_TEXT]
    assert group.tolist() == [0, 0]


def test_only_types_with_a_prefix_have_a_segment():
    segments, group = draw([task("plain"), task("agent", tokens=30)], [0, 1, 0, 1], [50, 50, 50, 50])
    assert segments.start.tolist() == [0, 0, 1, 1, 2]
    assert segments.length.tolist() == [30, 30]
    assert group.tolist() == [-1, 0, -1, 0]


def test_types_never_share_a_text_with_each_other():
    tasks = [task("a", 5, num_prefixes=3), task("b", 5, num_prefixes=2)]
    type_id = np.arange(1000) % 2
    segments, group = draw(tasks, type_id, np.full(1000, 10))
    assert set(segments.content[type_id == 0]) == {SHARED_TEXT, SHARED_TEXT + 1, SHARED_TEXT + 2}
    assert set(segments.content[type_id == 1]) == {SHARED_TEXT + 3, SHARED_TEXT + 4}
    assert np.array_equal(segments.content, SHARED_TEXT + 3 * type_id + group)


def test_prefixes_are_equally_likely():
    n = 40_000
    _, group = draw([task(tokens=5, num_prefixes=4)], np.zeros(n, dtype=int), np.full(n, 10))
    # Binomial with p = 1/4: five standard deviations.
    assert np.abs(np.bincount(group) - n / 4).max() < 5 * np.sqrt(n * 3 / 16)


def test_choice_of_prefix_does_not_depend_on_lengths():
    tasks = [task(tokens=5, num_prefixes=8)]
    _, short = draw(tasks, [0] * 50, [6] * 50)
    _, long = draw(tasks, [0] * 50, [900] * 50)
    assert np.array_equal(short, long)
