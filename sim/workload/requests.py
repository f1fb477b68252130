"""From a scenario, or a trace, to the rows the engine is given."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sim.engine.inputs import Requests
from sim.errors import ScenarioError
from sim.part import MAX_TOKENS
from sim.scenario import Scenario
from sim.workload.arrivals import arrival_times_s, num_users
from sim.workload.clock import rounded_to_ns
from sim.workload.lengths import correlated, tokens_at
from sim.workload.mix import deal_types
from sim.workload.prefixes import Segments, draw_prefixes
from sim.workload.randomness import Purpose, RandomNumbers
from sim.workload.trace import Trace
from sim.workload_spec import TaskType, Workload

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
T = TypeVar("T", bound=np.generic)


class RequestInfo(NamedTuple):
    """What the engine need not know about the requests; rows as in `Requests`."""

    true_len: Ints  # (n,) tokens the model would produce if nothing cut it short
    type_id: Ints  # (n,) index into type_names
    type_names: tuple[str, ...]
    is_rejected: Bools  # (n,) the prompt leaves no room for an answer; the engine refuses it
    is_truncated: Bools  # (n,) cut by the cap or by max_model_len; never a rejected one
    prefix_group: Ints  # (n,) which of its type's shared prefixes, from 0; -1 none
    retry_of: Ints | None = None  # (n,) request whose cut answer it follows; -1 none; None: clients never ask again


class Demand(NamedTuple):
    """What users want, before the server's limits; one row a request."""

    arrival_s: Floats  # (n,)
    users: int  # of a closed loop; 0 open
    prompt_len: Ints  # (n,)
    true_len: Ints  # (n,)
    type_id: Ints  # (n,) index into type_names and tasks
    type_names: tuple[str, ...]
    tasks: tuple[TaskType, ...]  # whose cap, priority and shared prefix hold
    segments: Segments | None  # None: shared prefixes are still to be drawn


def make_requests(
    scenario: Scenario, trace: Trace | None = None, *, max_model_len: int, replication: int = 0
) -> tuple[Requests, RequestInfo]:
    """Everything the engine needs to know about the requests of one run.

    Parameters
    ----------
    scenario : Scenario
        Its workload, seed and tail quantile are read.
    trace : Trace, optional
        Replaces the scenario's lengths and types, and its arrivals unless it has none; prompts that it does not
        know are drawn like those of the scenario's type of the same name, or else of its first. Every row becomes a
        request. Cap, priority and shared prefix come from the scenario's type of the same name, or else from
        its first type.
    max_model_len : int
        Tokens of prompt and output together that the server allows.
    replication : int
        Which repetition; each has random numbers of its own.

    Returns
    -------
    requests : Requests
        Arrivals in seconds, the first at its own gap. A prompt that leaves no room for an answer stays in, with
        an output of 1 token, for the engine to reject.
    info : RequestInfo

    Raises
    ------
    ScenarioError
        If the arrivals are those of a trace and none is given.
    """
    numbers = RandomNumbers(scenario.seed, replication)
    workload = scenario.workload
    demand = _drawn(workload, numbers) if trace is None else _replayed(workload, trace, numbers)
    segments, prefix_group = _shared_texts(demand, numbers)
    is_rejected = demand.prompt_len >= max_model_len
    room = np.where(is_rejected, 1, max_model_len - demand.prompt_len)
    cap = np.minimum(_by_type([task.cap or MAX_TOKENS for task in demand.tasks], demand.type_id), room)
    output_len = np.minimum(demand.true_len, cap)
    requests = Requests(
        arrival_s=demand.arrival_s,
        prompt_len=demand.prompt_len,
        output_len=output_len,
        cap=cap,
        priority=_by_type([task.priority for task in demand.tasks], demand.type_id),
        is_straggler=stragglers(output_len, is_rejected, scenario.tail_quantile),
        segment_start=segments.start,
        segment_content=segments.content,
        segment_len=segments.length,
        users=demand.users,
    )
    info = RequestInfo(
        true_len=demand.true_len,
        type_id=demand.type_id,
        type_names=demand.type_names,
        is_rejected=is_rejected,
        is_truncated=(demand.true_len > output_len) & ~is_rejected,
        prefix_group=prefix_group,
    )
    return requests, info


def stragglers(output_len: Ints, is_rejected: Bools, tail_quantile: float) -> Ints:
    """1 where an output is strictly longer than the tail quantile of all answers, (n,) int64."""
    return (output_len > np.quantile(answers(output_len, is_rejected), tail_quantile)).astype(np.int64)


def answers(values: NDArray[T], is_rejected: Bools) -> NDArray[T]:
    """Lengths, or something else, of those that are answered at all; of everybody where nobody is."""
    return values if is_rejected.all() else values[~is_rejected]


def with_outputs(
    requests: Requests, info: RequestInfo, output_len: Ints, tail_quantile: float, *, is_known: bool = False
) -> tuple[Requests, RequestInfo]:
    """The same requests with other outputs, which are then their true lengths.

    Parameters
    ----------
    requests, info
        Left as they are.
    output_len : (n,) int64
        Tokens, at most `requests.cap`.
    tail_quantile : float
        Longer ones are stragglers.
    is_known : bool
        The scheduler expects exactly these lengths instead of the cap.
    """
    changed = requests._replace(
        output_len=output_len,
        cap=output_len if is_known else requests.cap,
        is_straggler=stragglers(output_len, info.is_rejected, tail_quantile),
    )
    true_len = np.where(info.is_rejected, info.true_len, output_len)
    return changed, info._replace(true_len=true_len, is_truncated=np.zeros_like(info.is_truncated))


def _shared_texts(demand: Demand, numbers: RandomNumbers) -> tuple[Segments, Ints]:
    """Segments, and the prefix of each request's type; a trace's own shared texts have no such number."""
    if demand.segments is not None:
        return demand.segments, np.full(len(demand.prompt_len), -1)
    return draw_prefixes(demand.tasks, demand.type_id, demand.prompt_len, numbers)


def _by_type(values: list[int], type_id: Ints) -> Ints:
    return np.array(values, dtype=np.int64)[type_id]


def _drawn(workload: Workload, numbers: RandomNumbers) -> Demand:
    """Requests from the scenario's distributions."""
    n, types = workload.num_requests, workload.types
    type_id = deal_types([task.share for task in types], workload.mix, numbers, n)
    prompt_rank = numbers.uniforms(Purpose.PROMPT_LEN, n)
    output_rank = numbers.uniforms(Purpose.OUTPUT_LEN, n)
    true_len = np.empty(n, dtype=np.int64)
    for i, task in enumerate(types):
        rows = _rows_of_type(i, types, type_id)
        rank = correlated(prompt_rank[rows], output_rank[rows], task.correlation)
        true_len[rows] = tokens_at(task.output, "output", rank)
    return Demand(
        arrival_s=arrival_times_s(workload.arrivals, numbers, n),
        users=num_users(workload.arrivals),
        prompt_len=_drawn_prompts(types, type_id, prompt_rank),
        true_len=true_len,
        type_id=type_id,
        type_names=tuple(task.name for task in types),
        tasks=types,
        segments=None,
    )


def _replayed(workload: Workload, trace: Trace, numbers: RandomNumbers) -> Demand:
    """The rows of a trace."""
    arrivals = workload.arrivals
    if trace.arrival_s is None:
        if arrivals.kind == "trace":
            raise ScenarioError(
                f"workload.arrivals.kind is 'trace'; {trace.name} has lengths only, so another kind is needed"
            )
        arrival_s, users = arrival_times_s(arrivals, numbers, len(trace)), num_users(arrivals)
    else:
        speed = arrivals.speed if arrivals.kind == "trace" else 1.0
        arrival_s, users = rounded_to_ns(trace.arrival_s / speed), 0
    first = workload.types[0]
    tasks = {task.name: task for task in workload.types}
    type_names = trace.type_names or (first.name,)
    of_name = tuple(tasks.get(name, first) for name in type_names)
    prompt_len = trace.prompt_len
    if prompt_len is None:
        prompt_len = _drawn_prompts(of_name, trace.type_id, numbers.uniforms(Purpose.PROMPT_LEN, len(trace)))
    return Demand(
        arrival_s=arrival_s,
        users=users,
        prompt_len=prompt_len,
        true_len=trace.output_len,
        type_id=trace.type_id,
        type_names=type_names,
        tasks=of_name,
        segments=trace.segments,
    )


def _drawn_prompts(tasks: Sequence[TaskType], type_id: Ints, rank: Floats) -> Ints:
    """Prompt lengths from the distribution of each request's type."""
    prompt_len = np.empty(len(type_id), dtype=np.int64)
    for i, task in enumerate(tasks):
        rows = _rows_of_type(i, tasks, type_id)
        prompt_len[rows] = tokens_at(task.prompt, "prompt", rank[rows])
    return prompt_len


def _rows_of_type(i: int, tasks: Sequence[TaskType], type_id: Ints) -> Ints | slice:
    return slice(None) if len(tasks) == 1 else np.flatnonzero(type_id == i)
