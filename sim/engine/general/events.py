"""When an empty or a stuck server can go on: the next arrival, prediction, or end of a patience."""

import math

from sim.engine.arrivals import next_arrival_s
from sim.engine.general.arrivals import next_prediction_s
from sim.engine.general.batches import may_start_s
from sim.engine.general.choices import Batching
from sim.engine.general.head import oldest
from sim.engine.general.state import GONE, TIMEOUT_POINT, WHERE
from sim.engine.kernel import kernel
from sim.engine.state import ARRIVAL_S, ARRIVED, CLOCK, NUM_WAITING


@kernel
def next_start_s(users, rules, inputs, hints, records, thinking, heap, more, count, real):
    """With an empty server: when the next iteration may begin."""
    next_s = next_arrival_s(users, inputs.arrival_s, thinking, count)
    if count[NUM_WAITING] == 0:
        return next_s
    if rules.batching == Batching.ITERATION:
        return real[CLOCK]
    return may_start_s(rules, inputs, hints, records, heap, more, next_s, count, real)


@kernel
def next_give_up_s(rules, records, more, count, real):
    """With an empty server: when the patience of whoever waits longest ends, now if it has ended already."""
    if rules.timeout_s == 0.0 or count[NUM_WAITING] == 0:
        return math.inf
    return max(real[CLOCK], records.out_s[oldest(more, count), ARRIVAL_S] + rules.timeout_s)


@kernel
def next_event_s(users, rules, inputs, records, thinking, more, count):
    """When something comes that could let a waiting request run: an arrival, a prediction, a client that gives up."""
    event_s = next_arrival_s(users, inputs.arrival_s, thinking, count)
    if rules.predict_delay_s > 0.0:
        event_s = min(event_s, next_prediction_s(rules, records, count))
    i = count[TIMEOUT_POINT]
    while rules.timeout_s > 0.0 and i < count[ARRIVED]:
        if more.kept[i, WHERE] != GONE:
            return min(event_s, records.out_s[i, ARRIVAL_S] + rules.timeout_s)
        i += 1
    return event_s
