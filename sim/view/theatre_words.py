"""What happens in a step, and what became of a request, in words computed from the step table."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sim.studies.theatre import Chunk, Life, State
from sim.studies.theatre_play import Play
from sim.systems import PREEMPTIVE_ORDERS, Choices
from sim.view.number_words import counted, short_time

Ints = NDArray[np.int64]
T = TypeVar("T")

LISTED = 3  # requests that a sentence names; of more it tells the number


class Line(NamedTuple):
    """What happens from a step on, until the next line."""

    first: int
    text: str


class Happening(NamedTuple):
    """One step, sorted by what it is about."""

    preempted: list[tuple[int, int]]  # request, computed tokens lost
    joined: list[tuple[int, Chunk]]
    returned: list[tuple[int, Chunk]]
    going_on: list[tuple[int, Chunk]]  # prompts in further chunks
    num_decoding: int
    num_passed_over: int
    num_held: int
    num_paused: int
    finished: list[int]
    cut: list[int]  # by their batch's limit, to run again


def lines(play: Play) -> list[Line]:
    """A sentence for every step; steps in which the same happens share one."""
    found: list[Line] = []
    for step, happening in enumerate(happenings(play)):
        text = in_words(happening, play)
        if not found or found[-1].text != text:
            found.append(Line(step, text))
    return found


def happenings(play: Play) -> list[Happening]:
    """Every step of the table, sorted by what it is about."""
    table = play.table
    steps = [Happening([], [], [], [], 0, 0, 0, 0, [], []) for _ in range(len(table.start_s))]
    counted = (State.DECODE, State.PASSED_OVER, State.HELD, State.PAUSED)
    marks = {state: np.zeros(len(steps) + 1, np.int64) for state in counted}
    for i, life in enumerate(play.found):
        for segment in life.segments:
            if (mark := marks.get(segment.state)) is not None:
                mark[segment.first] += 1
                mark[segment.last + 1] -= 1
        _sort_chunks(i, life, steps)
    for step, (i, lost) in _entries(table.preempted.tolist(), table.preempted_start):
        steps[step].preempted.append((i, lost))
    for step, i in _entries(table.finished.tolist(), table.finished_start):
        (steps[step].finished if play.found[i].finished == step else steps[step].cut).append(i)
    counts = zip(*(np.cumsum(each) for each in marks.values()), strict=True)
    return [
        step._replace(num_decoding=int(d), num_passed_over=int(o), num_held=int(h), num_paused=int(p))
        for step, (d, o, h, p) in zip(steps, counts, strict=False)
    ]


def _sort_chunks(i: int, life: Life, steps: list[Happening]) -> None:
    """One request's chunks, each to its step."""
    back = {segment.last + 1 for segment in life.segments if segment.state in (State.PREEMPTED, State.WAITING)}
    for at, chunk in enumerate(life.chunks):
        if at == 0:
            steps[chunk.step].joined.append((i, chunk))
        elif chunk.step in back:
            steps[chunk.step].returned.append((i, chunk))
        else:
            steps[chunk.step].going_on.append((i, chunk))


def _entries(values: Sequence[T], start: Ints) -> Iterable[tuple[int, T]]:
    """Entries of a list of the table, each with its step."""
    return zip(np.repeat(np.arange(len(start) - 1), np.diff(start)).tolist(), values, strict=True)


def in_words(happening: Happening, play: Play) -> str:
    """One step in a sentence, what matters most first."""
    parts = [
        _preempted(happening.preempted, play.result.scenario.scheduler.choices),
        _returned(happening.returned),
        _joined(happening.joined, play),
        _going_on(happening.going_on, play),
        f"{happening.num_decoding} decode" if happening.num_decoding else "",
        f"{happening.num_passed_over} in memory without a token" if happening.num_passed_over else "",
        f"{happening.num_held} finished but held" if happening.num_held else "",
        _paused(happening.num_paused),
        f"{_requests(happening.cut)} cut at the batch's limit, to run again later" if happening.cut else "",
        _finished(happening.finished, play),
    ]
    return "; ".join(part for part in parts if part) or "nothing is scheduled"


def _preempted(preempted: list[tuple[int, int]], choices: Choices) -> str:
    """Who gives way. An order that chooses anew in every iteration displaces without a shortage too."""
    if not preempted:
        return ""
    who = _requests([i for i, _ in preempted])
    what = f"{who} preempted" if choices.order in PREEMPTIVE_ORDERS else f"no free block, {who} preempted"
    lost = counted(sum(tokens for _, tokens in preempted), "token")
    return f"{what}, {lost} {'swapped out' if choices.eviction == 'swap' else 'to recompute'}"


def _returned(returned: list[tuple[int, Chunk]]) -> str:
    if not returned:
        return ""
    tokens = sum(chunk.tokens for _, chunk in returned)
    return f"{_requests([i for i, _ in returned])} back, {counted(tokens, 'token')} computed again"


def _joined(joined: list[tuple[int, Chunk]], play: Play) -> str:
    if not joined:
        return ""
    cached = sum(chunk.before for _, chunk in joined)
    found = f", {cached:,} found in the prefix cache" if cached else ""
    verb = "joins" if len(joined) == 1 else "join"
    return f"{_requests([i for i, _ in joined])} {verb} with {_prompts(joined, play)}{found}"


def _going_on(going_on: list[tuple[int, Chunk]], play: Play) -> str:
    return f"{_requests([i for i, _ in going_on])}: {_prompts(going_on, play)}" if going_on else ""


def _prompts(chunks: list[tuple[int, Chunk]], play: Play) -> str:
    """Tokens of this step; of a single request also how far its prompt is."""
    tokens = sum(chunk.tokens for _, chunk in chunks)
    if len(chunks) == 1:
        i, chunk = chunks[0]
        whole = int(play.result.inputs.prompt_len[i])
        if chunk.tokens < whole:
            return f"{tokens:,} prompt tokens, {chunk.before + chunk.tokens:,} of {whole:,} done"
    return counted(tokens, "prompt token")


def _finished(finished: list[int], play: Play) -> str:
    if not finished:
        return ""
    if len(finished) == 1:
        tokens = int(play.result.inputs.output_len[finished[0]])
        return f"request {finished[0]} done after {counted(tokens, 'token')}"
    return f"{_requests(finished)} done"


def _paused(number: int) -> str:
    return f"{number} {'waits' if number == 1 else 'wait'} with KV in memory" if number else ""


def _requests(ids: list[int]) -> str:
    """By number while they are few."""
    if len(ids) == 1:
        return f"request {ids[0]}"
    if len(ids) > LISTED:
        return f"{len(ids)} requests"
    return f"requests {', '.join(map(str, ids[:-1]))} and {ids[-1]}"


def story(play: Play, i: int) -> str:
    """What became of a request."""
    result = play.result
    outcome, info = result.run.outcome, result.info
    name = f"Request {i}"
    if len(info.type_names) > 1:
        name += f" ({info.type_names[info.type_id[i]]})"
    lengths = (
        f"{int(result.inputs.prompt_len[i]):,} prompt and {counted(int(result.inputs.output_len[i]), 'output token')}"
    )
    if result.is_rejected[i]:
        return f"{name}: {lengths}; rejected, it could never fit."
    parts = [f"{name}: {lengths}", f"arrived at {short_time(outcome.arrival_s[i])}"]
    if not np.isnan(outcome.first_scheduled_s[i]):
        parts.append(f"waited {short_time(result.queue_delay_s[i])}")
    if not np.isnan(outcome.first_token_s[i]):
        parts.append(f"first token after {short_time(result.ttft_s[i])}")
    if outcome.num_preemptions[i]:
        times = "once" if outcome.num_preemptions[i] == 1 else f"{outcome.num_preemptions[i]} times"
        parts.append(f"preempted {times}, {counted(int(outcome.recomputed_tokens[i]), 'token')} computed again")
    elif outcome.recomputed_tokens[i]:
        again = counted(int(outcome.recomputed_tokens[i]), "token")
        parts.append(f"cut at its batch's limit and run again, {again} computed again")
    if outcome.max_itl_s[i] > 0:
        parts.append(f"longest gap {short_time(outcome.max_itl_s[i])}")
    if result.is_aborted[i]:
        parts.append("its client gave up")
    else:
        parts.append(f"done at {short_time(result.finish_s[i])}" if result.is_finished[i] else "not done")
    return "; ".join(parts) + "."


def verdict(play: Play) -> str:
    """The run in a sentence."""
    counters, outcome = play.result.run.counters, play.result.run.outcome
    run = f"{counted(len(play.found), 'request')} in {counted(play.num_steps, 'step')}"
    if not play.num_steps:
        return f"{run}: none fits into the KV memory."
    if counters["preemptions"]:
        again = int(outcome.recomputed_tokens.sum())
        what = f"{counted(counters['preemptions'], 'preemption')}, {counted(again, 'token')} computed again"
    else:
        what = "no preemption"
    if play.result.is_batch_delivery:
        padding = counters["slot_steps_padding"]
        return f"{run}: {what}; {padding:,} slot-steps of finished members in held batches."
    if play.stall is None:
        return f"{run}: {what}."
    return f"{run}: {what}; worst stall: request {play.stall.request} waits {short_time(play.stall.gap_s)} for a token."


def bounds(play: Play) -> str:
    """What part of the scenario is shown."""
    asked = play.result.scenario.workload
    shown = len(play.table.start_s)
    steps = f"its first {shown:,} of {play.num_steps:,} steps" if shown < play.num_steps else f"all {shown:,} steps"
    first = "The first request" if len(play.found) == 1 else f"The first {len(play.found):,} requests"
    at = "all waiting from the start" if asked.arrivals.kind == "all_at_once" else "arriving as asked"
    return f"{first} of the scenario, {at}; {steps}."
