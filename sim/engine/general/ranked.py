"""The ranked list: live requests that were served once, in the order in which they are served.

Its first NUM_FIRST entries run, as nobody else came before them at the last choice; whatever moves in the list keeps
that so, or makes the part shorter.
"""

from sim.engine.general.queue import push
from sim.engine.general.state import (
    AGES,
    IS_DIRTY,
    IS_SHUFFLED,
    KEY,
    NUM_FIRST,
    NUM_RANKED,
    OLDEST_POINT,
    QUANTUM,
    RESCUED,
    RUNNING,
    STARVED_POINT,
    SWAPPED,
    WAITING,
    WHERE,
)
from sim.engine.kernel import kernel
from sim.engine.state import CALL

FEW = 32  # entries that move one by one; with more of them the whole list is sorted


@kernel
def comes_before(i, j, more, count):
    """Rescued requests first, by id, or they would undo each other's work; then promoted ones, by key, then by id."""
    a = more.kept[i, QUANTUM]
    b = more.kept[j, QUANTUM]
    if a == RESCUED and b == RESCUED:
        return i < j
    if a != b and (a == 0 or b == 0 or max(a, b) == RESCUED):
        return a > b
    key = more.kept_s[i, KEY] - more.kept_s[i, AGES] * count[CALL]
    other_key = more.kept_s[j, KEY] - more.kept_s[j, AGES] * count[CALL]
    return key < other_key or (key == other_key and i < j)


@kernel
def place_for(i, low, more, count):
    """Entry, from `low` on, before which a request belongs."""
    high = count[NUM_RANKED]
    while low < high:
        middle = (low + high) >> 1
        if comes_before(more.ranked[middle], i, more, count):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def place_of(i, more, count):
    """Entry of a request, which must be in the list."""
    at = place_for(i, 0, more, count)
    if at < count[NUM_RANKED] and more.ranked[at] == i:
        return at
    at = 0  # its key has changed, and it was not moved yet
    while more.ranked[at] != i:
        at += 1
    return at


@kernel
def insert_at(at, i, more, count):
    """Put a request into the list before entry `at`."""
    ranked = more.ranked
    for k in range(count[NUM_RANKED], at, -1):
        ranked[k] = ranked[k - 1]
    ranked[at] = i
    count[NUM_RANKED] += 1
    note_first(at, i, more.kept, count)


@kernel
def note_first(at, i, kept, count):
    """A request has come to entry `at` from outside of the first, running part."""
    if at <= count[NUM_FIRST]:
        count[NUM_FIRST] = count[NUM_FIRST] + 1 if kept[i, WHERE] == RUNNING else at


@kernel
def remove_at(at, more, count):
    """Take entry `at` out of the list; who it was."""
    ranked = more.ranked
    i = ranked[at]
    for k in range(at, count[NUM_RANKED] - 1):
        ranked[k] = ranked[k + 1]
    count[NUM_RANKED] -= 1
    count[NUM_FIRST] -= at < count[NUM_FIRST]
    return i


@kernel
def move(moved, more, count):
    """Entries that are listed in `chosen`, from front to back, have got other keys: they take their new places."""
    if moved > FEW:
        count[IS_SHUFFLED] = 1
    if count[IS_SHUFFLED]:
        return
    chosen = more.chosen
    for k in range(moved - 1, -1, -1):
        chosen[k] = remove_at(chosen[k], more, count)
    for k in range(moved):
        insert_at(place_for(chosen[k], 0, more, count), chosen[k], more, count)


@kernel
def sort_ranked(more, count):
    """Insertion sort: the list is nearly in order."""
    ranked = more.ranked
    for k in range(1, count[NUM_RANKED]):
        i = ranked[k]
        at = k
        while at > 0 and comes_before(i, ranked[at - 1], more, count):
            ranked[at] = ranked[at - 1]
            at -= 1
        ranked[at] = i
        if at < k and k >= count[NUM_FIRST]:
            note_first(at, i, more.kept, count)
    count[IS_SHUFFLED] = 0


@kernel
def drop_ranked(i, more, count):
    """A request that ended leaves the list."""
    remove_at(place_of(i, more, count), more, count)
    count[IS_DIRTY] = 1


@kernel
def touch(i, more, count):
    """A request leaves the heap for its place in the list."""
    more.kept[i, WHERE] = SWAPPED
    insert_at(place_for(i, 0, more, count), i, more, count)


@kernel
def untouch(at, heap, more, count):
    """Entry `at`, which never ran, goes back to the heap."""
    i = remove_at(at, more, count)
    more.kept[i, WHERE] = WAITING
    push(i, heap, more, count)
    count[STARVED_POINT] = min(count[STARVED_POINT], i)
    count[OLDEST_POINT] = min(count[OLDEST_POINT], i)
