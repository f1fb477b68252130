"""Systems in which every iteration chooses among all live requests, running or not.

Requests that were served once are in a ranked list; the others wait in the heap. Who is served is the list's first
part, and it is chosen anew only after something has changed. Members that decode and go on are taken together: only
those in mid-prompt, those that come and those that go are looked at one by one. Source: schedulers.md 3.9 and 4.
"""

from sim.engine.general.choices import Prefill, Refresh
from sim.engine.general.decoding import catch_up, grow_decoding
from sim.engine.general.evict import evict
from sim.engine.general.queue import top_of_heap
from sim.engine.general.ranked import insert_at, place_for, place_of, remove_at, sort_ranked, untouch
from sim.engine.general.refresh import boost, note_starved, renew_keys
from sim.engine.general.state import (
    CHOSEN_BLOCKS,
    HOST_FREE,
    IS_DIRTY,
    IS_SHUFFLED,
    LAST_RUNNING,
    NUM_CHOSEN,
    NUM_FIRST,
    NUM_LATE_RUNNING,
    NUM_RANKED,
    NUM_REDO,
    NUM_TAKEN,
    PAUSED,
    PLACE,
    PLAN,
    QUANTUM,
    RUNNING,
    SEATS,
    SLOT,
    STEP,
    SWAPPED,
    WHERE,
)
from sim.engine.general.switch import apply_choice
from sim.engine.general.wanted import blocks_behind, blocks_of_choice, blocks_wanted, slots_behind, tokens_wanted
from sim.engine.kernel import kernel
from sim.engine.state import (
    CALL_PHASE,
    FIRST_SCHEDULED_S,
    FREE,
    MEMBERS,
    NUM_PARTIAL,
    NUM_RUNNING,
    PARTIAL,
    REQUEST,
)


@kernel
def choose(rules, inputs, hints, refinement, members, records, gap_stack, heap, more, count, real):
    """Decide who is served in this iteration, and serve them."""
    if rules.guard_steps > 0:
        note_starved(rules, more, count)
    if rules.boost_steps > 0 and count[STEP] % rules.boost_steps == 0:
        boost(rules, more, count, real)
    if rules.refresh >= Refresh.LEVELS:
        count[IS_DIRTY] = 1
    needed = members.phases[count[CALL_PHASE], MEMBERS]
    if not count[IS_DIRTY] and count[NUM_PARTIAL] == 0 and needed <= count[FREE]:
        grow_decoding(rules.block_size, members.phases, count)
        if count[NUM_REDO] > 0:
            catch_up(members, records, count)
        return
    if rules.refresh != Refresh.NEVER:
        renew_keys(rules, inputs, hints, refinement, members, records, more, count, real)
    if count[IS_SHUFFLED]:
        sort_ranked(more, count)
    place_partial(rules.refresh, members, more, count)
    count[IS_DIRTY] = walk(rules, inputs, hints, members, records, heap, more, count)
    make_room(rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
    apply_choice(rules, inputs, hints, members, records, gap_stack, more, count, real)


@kernel
def place_partial(refresh, members, more, count):
    """Where members in mid-prompt stand in the ranked list, in order."""
    live = members.live
    slots = members.slots
    if refresh == Refresh.REMAINING:  # meanwhile others have come nearer to their ends
        for k in range(count[NUM_PARTIAL]):
            remove_at(place_of(live[slots[k, PARTIAL], REQUEST], more, count), more, count)
        for k in range(count[NUM_PARTIAL]):
            i = live[slots[k, PARTIAL], REQUEST]
            insert_at(place_for(i, 0, more, count), i, more, count)
    for k in range(count[NUM_PARTIAL]):
        place = place_of(live[slots[k, PARTIAL], REQUEST], more, count)
        at = k
        while at > 0 and slots[at - 1, PLACE] > place:
            slots[at, PLACE] = slots[at - 1, PLACE]
            at -= 1
        slots[at, PLACE] = place


@kernel
def walk(rules, inputs, hints, members, records, heap, more, count):
    """Take requests in order while budget and seats allow; stop at the first that does not fit.

    1 if the budget ended it: prompts that are complete will leave more of it. Once more blocks are wanted than there
    would be without all others, who comes next would only be cut off again.
    """
    taken, came, passed, chosen, is_short, blocks = 0, 0, 0, 0, 0, 0
    first = count[NUM_FIRST]
    most = count[FREE] + blocks_behind(first, rules.block_size, members.live, more, count)
    most -= members.phases[count[CALL_PHASE], MEMBERS] - (count[NUM_RUNNING] - first)
    is_first_all = first == count[NUM_RUNNING]
    left = rules.max_num_batched_tokens
    is_cut = rules.prefill >= Prefill.CHUNKED
    takes_new = rules.host_keep == 0 or count[HOST_FREE] >= rules.host_keep
    new = top_of_heap(heap, more, count) if takes_new else -1
    new_at = place_for(new, 0, more, count) if new >= 0 else -1
    while taken < count[SEATS] and (left > 0 or not is_cut):
        next_partial = members.slots[passed, PLACE] + came if passed < count[NUM_PARTIAL] else first + came
        ahead = min(next_partial, first + came, new_at if new >= 0 else first + came) - taken
        if ahead > 0:  # members that decode already, a token each
            ahead = min(ahead, count[SEATS] - taken, left if is_cut else ahead)
            left -= ahead if is_cut else 0
            taken += ahead
            continue
        is_new = new >= 0 and new_at == taken
        i = new if is_new else more.ranked[taken] if taken < count[NUM_RANKED] else -1
        if i < 0:
            break
        tokens = tokens_wanted(i, inputs, members, records, more)
        if is_cut:
            tokens = min(tokens, left)
            left -= tokens
        elif tokens > 1 or is_new:  # where prompts are computed whole, the budget is one of prompt tokens
            if tokens > left and taken > 0:
                is_short = 1
                break
            left -= tokens
        more.kept[i, PLAN] = tokens
        more.chosen[chosen] = i
        chosen += 1
        blocks += blocks_wanted(i, rules, inputs, hints, records, members, more, count)
        if is_new:
            more.kept[i, WHERE] = SWAPPED
            insert_at(taken, i, more, count)
            came += 1
            new = top_of_heap(heap, more, count)
            new_at = place_for(new, taken + 1, more, count) if new >= 0 else -1
        elif taken == next_partial:
            passed += 1
        taken += 1
        if blocks > most and taken >= first + came:
            break
    count[NUM_TAKEN] = taken
    count[NUM_CHOSEN] = chosen
    count[CHOSEN_BLOCKS] = blocks
    count[NUM_LATE_RUNNING] = count[NUM_RUNNING] - min(taken - came, first)
    count[LAST_RUNNING] = first + came if is_first_all else count[NUM_RANKED]
    return is_short or (is_cut and left == 0)


@kernel
def make_room(rules, inputs, hints, members, records, gap_stack, heap, more, count, real):
    """Blocks are short: requests from the end of the order lose theirs; then the choice is cut from its end."""
    needed = blocks_of_choice(rules, inputs, hints, records, members, more, count)
    spare = rules.spare_blocks
    behind = slots_behind(members.live, more, count) if needed + spare > count[FREE] else 0
    k = count[NUM_RANKED] - 1
    while k >= 0 and needed + (spare if k >= count[NUM_TAKEN] else 0) > count[FREE]:
        if behind == 0 and k >= count[NUM_TAKEN]:
            k = count[NUM_TAKEN] - 1
            continue
        i = more.ranked[k]
        behind -= k >= count[NUM_TAKEN] and (more.kept[i, WHERE] == RUNNING or more.kept[i, WHERE] == PAUSED)
        if k < count[NUM_TAKEN]:
            if needed <= count[FREE]:
                break
            needed -= blocks_wanted(i, rules, inputs, hints, records, members, more, count)
            count[NUM_TAKEN] -= 1
            count[NUM_CHOSEN] -= count[NUM_CHOSEN] > 0 and more.chosen[count[NUM_CHOSEN] - 1] == i
            count[IS_DIRTY] = 1
            has_run = records.out_s[i, FIRST_SCHEDULED_S] >= 0.0  # else not a number
            if not has_run and more.kept[i, QUANTUM] == 0:
                untouch(k, heap, more, count)
            if needed <= count[FREE]:
                break
        if more.kept[i, WHERE] == RUNNING or more.kept[i, WHERE] == PAUSED:
            s = more.kept[i, SLOT]
            evict(s, rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
        k -= 1
