"""A recorded run as plain lists for the player in the browser: segments, blocks, queue, words, places to jump to."""

from typing import Any, NamedTuple

import numpy as np

from sim.studies.theatre import State
from sim.studies.theatre_play import Play
from sim.view import theme
from sim.view.theatre_words import lines, story

QUEUE_SHOWN = 40  # requests at the front of the queue
OWNER_COLORS = (theme.BLUE, theme.ORANGE, theme.GREEN, theme.PURPLE, theme.SKY, theme.VERMILION)


class StateStyle(NamedTuple):
    """Name and look of what a request does."""

    label: str
    color: str
    is_hatched: bool


STATE_STYLE = {
    State.WAITING: StateStyle("waiting", theme.GREY, True),
    State.PREFILL: StateStyle("prefill chunk", theme.GREEN, False),
    State.DECODE: StateStyle("decode", theme.BLUE, False),
    State.RECOMPUTE: StateStyle("prefill again", theme.ORANGE, False),
    State.PASSED_OVER: StateStyle("in memory, no token", theme.SKY, True),
    State.PREEMPTED: StateStyle("preempted", theme.VERMILION, True),
    State.HELD: StateStyle("finished, held", theme.PURPLE, True),
    State.PAUSED: StateStyle("waiting, KV kept", theme.BLUE, True),
}


def payload(play: Play) -> dict[str, Any]:
    """Everything the player needs, ready for JSON.

    Returns
    -------
    dict
        `steps`: columns by step (start and end in ms, running, waiting, free blocks). `requests`: a row each with
        lane, prompt, output, whether a straggler, story, and segments as flat lists of five (first and last step,
        state, tokens held after the first, growth by step). `lines` and `queues`: pairs of first step and what holds
        from there on; `queueOrder` says how the queues are sorted. `jumps`: steps of preemptions, and the worst stall.
    """
    table, result = play.table, play.result
    return {
        "steps": {
            "start": _ms(table.start_s),
            "end": _ms(table.end_s),
            "running": table.running.tolist(),
            "waiting": table.waiting.tolist(),
            "free": table.free_scheduled.tolist(),
        },
        "requests": [_request(play, i) for i in range(len(play.found))],
        "lines": [list(line) for line in lines(play)],
        "queues": [[step, ids[:QUEUE_SHOWN]] for step, ids in play.queues],
        "queueOrder": "first to be served first" if play.is_in_service_order else "in order of arrival",
        "jumps": {
            "preemptions": np.flatnonzero(np.diff(table.preempted_start)).tolist(),
            "stall": None if play.stall is None else [play.stall.last, play.stall.request, play.stall.first],
        },
        "blocks": result.resolved.usable_blocks,
        "blockSize": result.resolved.block_size,
        "lanes": max(play.lanes, default=-1) + 1,
        "states": [list(STATE_STYLE[state]) for state in State],
        "owners": list(OWNER_COLORS),
    }


def _request(play: Play, i: int) -> list[Any]:
    inputs = play.result.inputs
    flat = [int(value) for segment in play.found[i].segments for value in segment]
    sizes = [int(inputs.prompt_len[i]), int(inputs.output_len[i]), int(inputs.is_straggler[i])]
    return [play.lanes[i], *sizes, story(play, i), flat]


def _ms(times_s: Any) -> list[float]:
    return np.round(np.asarray(times_s) * 1e3, 3).tolist()  # type: ignore[no-any-return]
