"""Request-level batches: formed when the one before has ended, whole prompts together, nobody joins.

Source: schedulers.md 3.1, 3.7 (sequence scheduling: planned groups, cut and run again) and 3.8 (a batch a class).
"""

import math

from sim.engine.general.admit import admit, has_memory
from sim.engine.general.choices import Queue
from sim.engine.general.head import look_at, look_at_head, next_in_queue
from sim.engine.general.queue import first_waiting, join_queue, leave_queue
from sim.engine.general.state import FAILED, HOST_TOKENS, KEY, LOST_TOKENS, NUM_FAILED, QUANTUM, SEATS, TIMEOUT_POINT
from sim.engine.general.told import GROUP, GROUP_SIZE
from sim.engine.kernel import kernel
from sim.engine.state import (
    ARRIVAL_S,
    ARRIVED,
    CLOCK,
    EMITTED,
    FREE,
    HEAD,
    HEAD_KNOWN,
    ISSUED,
    NUM_RUNNING,
    NUM_WAITING,
    PAUSED_SINCE_S,
)

RERUN = 1  # value of QUANTUM for a request that runs again, beyond its planned cut
KEYS_A_GROUP = 131072.0  # planned keys: group number times this, plus the batch within


@kernel
def form_batch(rules, inputs, hints, members, records, heap, more, count, real):
    """An empty server takes as many as slots, memory and the batch's plan allow."""
    group = -1
    is_rerun = 0
    limit = count[SEATS]
    while count[NUM_WAITING] > 0 and count[NUM_RUNNING] < limit:
        look_at_head(rules, inputs, hints, records, heap, more, count, real)
        if group >= 0 and rules.queue == Queue.CLASS:
            look_at(first_waiting(group, more), rules, inputs, hints, records, more, count)
        i = count[HEAD]
        if i < 0:
            return
        if rules.is_grouped:
            if count[NUM_RUNNING] == 0:
                group = hints.numbers[i, GROUP]
                is_rerun = more.kept[i, QUANTUM]
                size = rules.rerun_size if is_rerun else hints.numbers[i, GROUP_SIZE]
                limit = min(limit, size)
            elif more.kept[i, QUANTUM] != is_rerun or (hints.numbers[i, GROUP] != group and not is_rerun):
                return
        tokens = count[HEAD_KNOWN] - more.kept[i, HOST_TOKENS]
        if not has_memory(tokens, rules, inputs, hints, records, members, more, count):
            return
        leave_queue(i, rules, hints, heap, more, count)
        admit(i, tokens, rules, inputs, hints, members, records, more, count, real)


@kernel
def may_start_s(rules, inputs, hints, records, heap, more, next_s, count, real):
    """With an empty server and somebody waiting: when a batch may be formed."""
    now = real[CLOCK]
    if rules.gather > 0:
        i = next_in_queue(count[FREE], rules, inputs, hints, records, heap, more, count, real)
        needed = (i // rules.gather + 1) * rules.gather if i >= 0 else 0
        return next_s if count[ARRIVED] < min(needed, count[ISSUED]) else now
    if rules.batch_wait_s == 0.0 or count[NUM_WAITING] >= rules.max_num_seqs or next_s == math.inf:
        return now
    oldest = next_in_queue(count[FREE], rules, inputs, hints, records, heap, more, count, real)
    return max(now, min(next_s, records.out_s[oldest, ARRIVAL_S] + rules.batch_wait_s))


@kernel
def run_failed_again(rules, inputs, hints, members, records, heap, more, count, real):
    """The batch has ended: members that it cut start anew, after the other batches of their group."""
    for k in range(count[NUM_FAILED]):
        i = members.slots[k, FAILED]
        records.out_n[i, LOST_TOKENS] = records.out_n[i, EMITTED]
        records.out_s[i, PAUSED_SINCE_S] = real[CLOCK]
        if rules.timeout_s > 0.0 and records.out_s[i, ARRIVAL_S] + rules.timeout_s <= real[CLOCK]:
            count[TIMEOUT_POINT] = min(count[TIMEOUT_POINT], i)  # its client has given up meanwhile
        more.kept[i, QUANTUM] = RERUN
        more.kept_s[i, KEY] = (math.floor(more.kept_s[i, KEY] / KEYS_A_GROUP) + 1.0) * KEYS_A_GROUP - 1.0
        join_queue(i, True, rules, inputs, hints, records, heap, more, count)
    count[NUM_FAILED] = 0
