"""What changes the order of live requests while they are served: keys told anew, quanta, promotions.

Source: schedulers.md 3.9 and 4.
"""

import math

from sim.engine.general.choices import Refresh
from sim.engine.general.queue import change_key
from sim.engine.general.ranked import move, sort_ranked, touch
from sim.engine.general.refine import refresh
from sim.engine.general.reserve import held_tokens
from sim.engine.general.state import (
    AGES,
    ARRIVED_AT,
    IS_DIRTY,
    IS_SETTLED,
    IS_SHUFFLED,
    KEY,
    LEVEL,
    LOST_TOKENS,
    NEXT_TURN,
    NUM_FIRST,
    NUM_RANKED,
    OLDEST_POINT,
    QUANTUM,
    QUANTUM_S,
    READY_POINT,
    REFRESHED,
    RESCUED,
    RUNNING,
    SINCE_S,
    SLOT,
    STARVED,
    STARVED_POINT,
    STEP,
    SUM_GUARDED,
    USED_S,
    WAITING,
    WHERE,
)
from sim.engine.general.told import GUESS, KEY_HINT
from sim.engine.kernel import kernel
from sim.engine.state import ARRIVED, CALL, CLOCK, DECODING, EMITTED, FIRST_SCHEDULED_S, NUM_RUNNING, OUTPUT_LEN

TURNS = 1e12  # keys of a queue of level l lie between l and l + 1 times so much
LAST_LEVEL = 4096  # whose keys are still whole numbers
FIRST_OF_ALL = -1e18


@kernel
def generated_of(i, members, records, inputs, more, count):
    """Output tokens that the request has so far."""
    s = more.kept[i, SLOT]
    if more.kept[i, WHERE] == RUNNING and members.live[s, DECODING]:
        return held_tokens(s, members.live, count) + 1 - inputs.asked[i, 0]
    return records.out_n[i, EMITTED] - records.out_n[i, LOST_TOKENS]


@kernel
def renew_keys(rules, inputs, hints, refinement, members, records, more, count, real):
    """Keys of the ranked requests as they stand now, and the list in their order."""
    if rules.refresh == Refresh.LEVELS:
        use_quanta(rules, more, count, real)
    elif rules.refresh == Refresh.DECLARED:
        hear_declared(rules, inputs, hints, members, records, more, count)
    elif rules.refresh == Refresh.REFINED:
        look_again(rules, inputs, hints, refinement, members, records, more, count)
    elif rules.predict_delay_s > 0.0:  # of some nothing was told yet
        for k in range(count[NUM_RANKED]):
            i = more.ranked[k]
            is_decoding = more.kept[i, WHERE] == RUNNING and members.live[more.kept[i, SLOT], DECODING] == 1
            generated = generated_of(i, members, records, inputs, more, count)
            tell_remaining(i, generated, is_decoding, rules, hints, more, count)
        count[IS_SHUFFLED] = 1


@kernel
def tell_remaining(i, generated, is_decoding, rules, hints, more, count):
    """REMAINING: the key of a request that has so many tokens; one that decodes comes nearer to its end by itself."""
    if rules.refresh == Refresh.REMAINING and i < count[READY_POINT]:
        more.kept_s[i, KEY] = float(hints.numbers[i, GUESS] - generated + (count[CALL] if is_decoding else 0))
        more.kept_s[i, AGES] = 1.0 if is_decoding else 0.0


@kernel
def tell_stopped(i, rules, hints, out_n, more, count):
    """REMAINING: the key of a request that does not decode any more."""
    tell_remaining(i, out_n[i, EMITTED] - out_n[i, LOST_TOKENS], False, rules, hints, more, count)


@kernel
def hear_declared(rules, inputs, hints, members, records, more, count):
    """DECLARED: requests have told their lengths. Who has not yet stands in front, behind promoted ones at most."""
    moved = 0
    for k in range(count[NUM_RANKED]):
        i = more.ranked[k]
        if more.kept_s[i, KEY] >= -0.5 * TURNS:
            if more.kept[i, QUANTUM] == 0:
                break
        elif generated_of(i, members, records, inputs, more, count) >= rules.declare_tokens:
            more.kept_s[i, KEY] = hints.keys[i, KEY_HINT]
            more.chosen[moved] = k
            moved += 1
    move(moved, more, count)


@kernel
def look_again(rules, inputs, hints, refinement, members, records, more, count):
    """REFINED: take the looks that are due, and settle requests that are far enough."""
    moved = 0
    for k in range(count[NUM_RANKED]):
        i = more.ranked[k]
        if i < count[READY_POINT] and more.kept[i, IS_SETTLED] == 0 and records.out_s[i, FIRST_SCHEDULED_S] >= 0.0:
            former = more.kept_s[i, KEY]
            generated = generated_of(i, members, records, inputs, more, count)
            estimate(i, generated, rules, inputs, hints, refinement, more)
            if more.kept_s[i, KEY] != former:
                more.chosen[moved] = k
                moved += 1
    move(moved, more, count)


@kernel
def estimate(i, generated, rules, inputs, hints, refinement, more):
    """Estimate what is left of one request."""
    seen = more.kept[i, REFRESHED]
    while seen + refinement.every <= generated:
        seen += refinement.every
        more.kept_s[i, KEY] = refresh(
            i,
            seen,
            inputs.asked[i, OUTPUT_LEN] - seen,
            refinement.key,
            refinement.every,
            refinement.width,
            refinement.scale,
            refinement.thresholds,
            refinement.likelihood,
            more.posterior,
        )
    more.kept[i, REFRESHED] = seen
    if rules.keep_share <= 1.0 and generated >= math.floor(rules.keep_share * hints.numbers[i, GUESS]):
        more.kept[i, IS_SETTLED] = 1
        more.kept_s[i, KEY] = FIRST_OF_ALL + i


@kernel
def use_quanta(rules, more, count, real):
    """LEVELS: requests that have run longer than their queue's quantum move to the next queue's end."""
    moved = 0
    size = count[NUM_FIRST] if count[NUM_FIRST] == count[NUM_RUNNING] else count[NUM_RANKED]
    for k in range(size):
        i = more.ranked[k]
        if k >= count[NUM_FIRST] and more.kept[i, WHERE] != RUNNING:
            continue
        used_s = more.kept_s[i, USED_S] + (real[CLOCK] - more.kept_s[i, SINCE_S])
        more.kept_s[i, USED_S] = used_s
        more.kept_s[i, SINCE_S] = real[CLOCK]
        if used_s > more.kept_s[i, QUANTUM_S]:
            more.kept[i, LEVEL] = min(more.kept[i, LEVEL] + 1, LAST_LEVEL)
            enter_level(i, rules, more, count)
            more.chosen[moved] = k
            moved += 1
    move(moved, more, count)


@kernel
def enter_level(i, rules, more, count):
    """The request joins the end of its queue with a full quantum."""
    more.kept_s[i, USED_S] = 0.0
    more.kept_s[i, QUANTUM_S] = rules.quantum_s * rules.quantum_growth ** more.kept[i, LEVEL]
    count[NEXT_TURN] += 1
    change_key(i, more.kept[i, LEVEL] * TURNS + count[NEXT_TURN], more)


@kernel
def boost(rules, more, count, real):
    """LEVELS: who has not run for long, or never, returns to the first queue."""
    for i in range(count[OLDEST_POINT], count[ARRIVED]):
        is_new = more.kept[i, WHERE] == WAITING and more.kept[i, LEVEL] > 0
        if is_new and real[CLOCK] - more.kept_s[i, SINCE_S] >= rules.boost_wait_s:
            touch(i, more, count)
    for k in range(count[NUM_RANKED]):
        i = more.ranked[k]
        is_stale = more.kept[i, WHERE] != RUNNING and real[CLOCK] - more.kept_s[i, SINCE_S] >= rules.boost_wait_s
        if is_stale and more.kept[i, LEVEL] > 0:
            more.kept[i, LEVEL] = 0
            enter_level(i, rules, more, count)
            count[SUM_GUARDED] += 1
            count[IS_SHUFFLED] = 1


@kernel
def note_starved(rules, more, count):
    """Starvation guard: count iterations without service, promote, and use up quanta. Source: schedulers.md 3.9."""
    for k in range(count[NUM_RANKED]):
        i = more.ranked[k]
        if more.kept[i, QUANTUM] == RESCUED:
            more.kept[i, STARVED] = 0
        elif more.kept[i, WHERE] == RUNNING:
            if more.kept[i, QUANTUM] > 0:
                more.kept[i, QUANTUM] -= 1
                if more.kept[i, QUANTUM] == 0:
                    count[IS_DIRTY] = 1
                    count[IS_SHUFFLED] = 1
            more.kept[i, STARVED] = 0
        else:
            more.kept[i, STARVED] += 1
            if more.kept[i, STARVED] >= rules.guard_steps:
                promote(i, rules, more, count)
    if count[IS_SHUFFLED]:
        sort_ranked(more, count)
    i = count[STARVED_POINT]
    while i < count[ARRIVED]:
        if more.kept[i, WHERE] == WAITING:
            if count[STEP] - more.kept[i, ARRIVED_AT] < rules.guard_steps:
                break
            promote(i, rules, more, count)
            touch(i, more, count)
        i += 1
    count[STARVED_POINT] = i


@kernel
def promote(i, rules, more, count):
    """The request goes first for some iterations."""
    more.kept[i, STARVED] = 0
    more.kept[i, QUANTUM] = rules.guard_quantum
    count[SUM_GUARDED] += 1
    count[IS_DIRTY] = 1
    count[IS_SHUFFLED] = 1
