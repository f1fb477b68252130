"""The ranked list against a sorted list, and the peak of members kept in order against its definition."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from sim.engine.general.peak import peak_of_kept, sort_by_to_come
from sim.engine.general.ranked import insert_at, move, place_for, place_of, remove_at, sort_ranked
from sim.engine.general.state import (
    FUTURE_BASE,
    FUTURE_END,
    IS_SHUFFLED,
    KEY,
    NUM_COUNT,
    NUM_FIRST,
    NUM_FUTURES,
    NUM_KEPT,
    NUM_KEPT_S,
    NUM_RANKED,
    PAUSED,
    QUANTUM,
    RUNNING,
    WHERE,
)
from sim.engine.state import CALL
from tests.naive.length_aware import peak_of

SIZE = 60


class Ranking(NamedTuple):
    """What the list needs of the loop's state."""

    kept: np.ndarray
    kept_s: np.ndarray
    ranked: np.ndarray
    chosen: np.ndarray


@njit
def enter(i, ranking, count):
    """A request takes its place."""
    insert_at(place_for(i, 0, ranking, count), i, ranking, count)


@njit
def leave(i, ranking, count):
    """A request gives up its place."""
    return remove_at(place_of(i, ranking, count), ranking, count)


@njit
def move_or_sort(moved, ranking, count):
    """Entries listed in `chosen` have other keys."""
    move(moved, ranking, count)
    if count[IS_SHUFFLED]:
        sort_ranked(ranking, count)


@njit
def peak(others, scratch, futures, count):
    """Peak of kept members and of others, in any order."""
    sort_by_to_come(scratch, others)
    return peak_of_kept(others, scratch, futures, count)


def in_order(ranking: Ranking, present: list[int]) -> list[int]:
    return sorted(present, key=lambda i: (ranking.kept[i, QUANTUM] == 0, ranking.kept_s[i, KEY], i))


@pytest.mark.parametrize("seed", range(20))
def test_list_stays_sorted_and_its_first_entries_run(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ranking = Ranking(
        kept=np.zeros((SIZE, NUM_KEPT), np.int64),
        kept_s=np.zeros((SIZE, NUM_KEPT_S)),
        ranked=np.zeros(SIZE, np.int64),
        chosen=np.zeros(SIZE, np.int64),
    )
    count = np.zeros(NUM_COUNT, np.int64)
    ranking.kept_s[:, KEY] = rng.integers(0, 12, SIZE)
    ranking.kept[:, QUANTUM] = rng.random(SIZE) < 0.1
    ranking.kept[:, WHERE] = np.where(rng.random(SIZE) < 0.7, RUNNING, PAUSED)
    present: list[int] = []
    for i in rng.permutation(SIZE):
        enter(int(i), ranking, count)
        present.append(int(i))
        if rng.random() < 0.2:
            gone = present.pop(rng.integers(len(present)))
            assert leave(gone, ranking, count) == gone
        changed = np.flatnonzero(rng.random(len(present)) < rng.choice([0.05, 0.9]))
        ranking.kept_s[ranking.ranked[changed], KEY] += rng.integers(1, 9, len(changed))
        ranking.chosen[: len(changed)] = changed
        move_or_sort(len(changed), ranking, count)
        assert list(ranking.ranked[: count[NUM_RANKED]]) == in_order(ranking, present)
        assert all(ranking.kept[ranking.ranked[: count[NUM_FIRST]], WHERE] == RUNNING)


@pytest.mark.parametrize("seed", range(20))
def test_peak_of_members_kept_in_order_is_that_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kept, others = rng.integers(0, 12), rng.integers(1, 6)
    ends = np.sort(rng.integers(1, 40, kept))[::-1]
    futures = np.zeros((max(kept, 1), 3), np.int64)
    futures[:kept, FUTURE_END] = ends
    futures[:kept, FUTURE_BASE] = rng.integers(1, 50, kept)
    scratch = rng.integers(1, 40, (others, 2)).astype(float)
    count = np.zeros(NUM_COUNT, np.int64)
    count[NUM_FUTURES] = kept
    for call in (0, 7, 25):  # each holds one more an iteration, and has one less to come, at least one
        count[CALL] = call
        pairs = [(int(held), int(to_come)) for held, to_come in scratch]
        pairs += [(int(base) + call, max(int(end) - call, 1)) for end, base, _ in futures[:kept]]
        assert peak(others, scratch, futures, count) == peak_of(pairs)
