"""What two requests have in common: their texts as runs of equal content, never written out token by token."""

import numpy as np

from sim.engine.kernel import kernel
from sim.engine.prefix_cache import mix
from sim.engine.sglang.inputs import END_OF_TEXT
from sim.engine.sglang.state import CONTENT, END_SEGMENT, EOS_AT, FIRST_SEGMENT, NOTHING, REACH


@kernel
def segment_at(i, position, texts, segments):
    """First segment of a request that reaches past a position; past the last one where its own text has begun."""
    low = texts[i, FIRST_SEGMENT]
    high = texts[i, END_SEGMENT]
    while low < high:
        middle = (low + high) >> 1
        if segments[middle, REACH] > position:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def run_at(i, segment, position, texts, segments):
    """Content id of a run of equal tokens, and where it ends."""
    if segment < texts[i, END_SEGMENT]:
        return segments[segment, CONTENT], segments[segment, REACH]
    if position == texts[i, EOS_AT]:
        return np.int64(END_OF_TEXT), np.int64(position + 1)
    return np.int64(i), np.int64(texts[i, EOS_AT])


@kernel
def equal_until(i, j, at, limit, texts, segments):
    """Where two texts, equal before `at`, part; at most `limit`."""
    if i == j:
        return limit
    s = segment_at(i, at, texts, segments)
    t = segment_at(j, at, texts, segments)
    while at < limit:
        content, reach = run_at(i, s, at, texts, segments)
        other, other_reach = run_at(j, t, at, texts, segments)
        if content != other:
            return at
        at = min(reach, other_reach, limit)
        while s < texts[i, END_SEGMENT] and segments[s, REACH] <= at:
            s += 1
        while t < texts[j, END_SEGMENT] and segments[t, REACH] <= at:
            t += 1
    return at


@kernel
def text_key(i, at, end, texts, segments):
    """Hash of a stretch of text; equal tokens give equal hashes however they are cut into segments."""
    s = segment_at(i, at, texts, segments)
    key = NOTHING
    run = np.int64(-1)
    length = NOTHING
    while at < end:
        content, reach = run_at(i, s, at, texts, segments)
        if content != run:
            if length > 0:
                key = mix(key, run, length)
            run = content
            length = NOTHING
        stop = min(reach, end)
        length += stop - at
        at = stop
        while s < texts[i, END_SEGMENT] and segments[s, REACH] <= at:
            s += 1
    return mix(key, run, length)
