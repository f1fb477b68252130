"""What this loop keeps beside the general loop's state: the batches in flight, and what of each request is in them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sim.engine.general.choices import GeneralRules
from sim.engine.general.state import More
from sim.engine.general.told import Told
from sim.engine.inputs import Floats, Ints, StepTime
from sim.engine.state import Inputs, Members, RequestRecords

# Columns of `batches`, one row for each place in the queue.
(
    B_ROW,  # of the step table; -1: none
    B_SIZE,  # entries
    B_TOKENS,
    B_DECODING,  # members past their prompt, one token each, redone and dropped ones too
    B_DECODING_KV,
    B_REDO,  # of which decode what they had delivered before
    B_REDO_KV,
    B_DROPPED,  # ... whose request has ended since
    B_CHUNK_TOKENS,
    B_CHUNK_REDO,
    B_CHUNK_CONTEXT,
) = range(11)
NUM_BATCH_COLUMNS = 11

# Columns of `work`: of prefill chunks, useful and done again.
USEFUL_CONTEXT, USEFUL_WORK, REDO_CONTEXT, REDO_WORK, SWAP_S, PREDICTOR_S = range(6)

# Columns of `entries`, one row a member of a batch, in the order served.
E_REQUEST, E_SLOT, E_TOKENS, E_BEFORE, E_SAMPLES, E_DECODES = range(6)

# Columns of `spans`: when a batch enters a stage and leaves it.
ENTERS_S, LEAVES_S = range(2)

# Columns of `on_way`, one row a request.
(
    FLYING,  # tokens in batches whose outputs are not applied
    AHEAD,  # asynchronous: output tokens that those batches sample
    ELIGIBLE,  # asynchronous: first call that may schedule the request again
    HAS_SAMPLED,  # 1: past its prompt since it was admitted
    SERVED,  # tokens of the call being made
    ENTRY,  # its entry in that call
) = range(6)


class StageTimes(NamedTuple):
    """Time of a batch on each stage, as `StepTime` for the whole model; one row a stage."""

    linear_s: Floats  # (stages, m) by tokens in the batch
    beyond_s: Floats  # (stages,) for each token past the end of the table
    kv_s: Floats  # (stages,)
    attention_s: Floats  # (stages,)


class Flight(NamedTuple):
    """The queue of batches, oldest first from `PUSHED - IN_FLIGHT` on, modulo its length."""

    batches: Ints  # (depth, NUM_BATCH_COLUMNS)
    work: Floats  # (depth, 6)
    entries: Ints  # (depth, slots, 6)
    spans: Floats  # (depth, stages, 2)
    rows: Floats  # (depth, stages, time rows) seconds by row of the time ledger
    free_s: Floats  # (stages,) when each stage has finished what it was given
    on_way: Ints  # (n, 6)


class Engine(NamedTuple):
    """All that changes during a run, and what is read with it, for functions that touch most of it."""

    inputs: Inputs
    hints: Told
    members: Members
    records: RequestRecords
    gap_stack: Floats
    heap: Floats
    more: More
    flight: Flight
    counts: Ints
    real: Floats
    gap_hist: Floats
    thinking: Floats
    bins: Floats


def stage_times_of(stages: Sequence[StepTime]) -> StageTimes:
    """Stages side by side, as the kernels read them."""
    return StageTimes(
        np.array([stage.linear_s for stage in stages], np.float64),
        *(np.array([getattr(stage, name) for stage in stages], np.float64) for name in StageTimes._fields[1:]),
    )


def first_flight(rules: GeneralRules, num_requests: int, slots: int, num_time_rows: int) -> Flight:
    """Nothing is in flight."""
    depth, stages = rules.most_in_flight, rules.stages
    return Flight(
        batches=np.zeros((depth, NUM_BATCH_COLUMNS), np.int64),
        work=np.zeros((depth, 6)),
        entries=np.zeros((depth, slots, 6), np.int64),
        spans=np.zeros((depth, stages, 2)),
        rows=np.zeros((depth, stages, num_time_rows)),
        free_s=np.zeros(stages),
        on_way=np.zeros((num_requests, 6), np.int64),
    )
