"""Hashes of blocks of a prompt's text, as texts that prompts share."""

from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sim.engine.inputs import SHARED_TEXT
from sim.errors import DataError
from sim.workload.prefixes import Segments
from sim.workload.readers.jsonl import Records

Ints = NDArray[np.int64]

LARGEST_HASH = 2**63 - 1


def shared_blocks(records: Records, key: str, prompt_len: Ints, block_tokens: int) -> Segments:
    """Segments of the prompts of a trace.

    A block that no other request has is left to its request's own text where nothing shared follows: to the
    prefix cache that is the same, and most blocks of most traces are of this kind.

    Parameters
    ----------
    records : Records
        The trace.
    key : str
        Where each request has its list of hashes: equal numbers are equal texts.
    prompt_len : (n,) int64
        Tokens.
    block_tokens : int
        Text that one hash stands for; the last block of a prompt may be shorter.

    Raises
    ------
    DataError
        No list of whole numbers, or more of them than the prompt has blocks.
    """
    hashes = records.values(key)
    for i, (each, tokens) in enumerate(zip(hashes, prompt_len.tolist(), strict=True)):
        _check(records, i, key, each, -(-tokens // block_tokens), block_tokens)
    count = np.array([len(each) for each in hashes], dtype=np.int64)
    flat = np.fromiter(chain.from_iterable(hashes), dtype=np.int64, count=int(count.sum()))
    _, content, times = np.unique(flat, return_inverse=True, return_counts=True)
    number = np.arange(len(flat)) - np.repeat(np.cumsum(count) - count, count)  # of a block in its prompt
    kept = number < np.repeat(_last_shared(times[content] > 1, number, count), count)
    length = np.minimum(block_tokens, np.repeat(prompt_len, count) - number * block_tokens)
    row = np.repeat(np.arange(len(count)), count)
    start = np.concatenate(([0], np.cumsum(np.bincount(row[kept], minlength=len(count)))))
    return Segments(start, SHARED_TEXT + content[kept], length[kept])


def _last_shared(is_shared: NDArray[np.bool_], number: Ints, count: Ints) -> Ints:
    """For each request, how many of its blocks come before the end of the last shared one."""
    row = np.repeat(np.arange(len(count)), count)
    ends = np.zeros(len(count), dtype=np.int64)
    np.maximum.at(ends, row[is_shared], number[is_shared] + 1)
    return ends


def _check(records: Records, i: int, key: str, hashes: object, most: int, block_tokens: int) -> None:
    where = f"{records.file} {records.place} {records.places[i]}: {key}"
    if not isinstance(hashes, list):
        raise DataError(f"{where} is {hashes!r:.60}; a list of whole numbers is needed")
    if hashes and not (set(map(type, hashes)) == {int} and min(hashes) >= 0 and max(hashes) <= LARGEST_HASH):
        wrong = next(each for each in hashes if type(each) is not int or not 0 <= each <= LARGEST_HASH)
        raise DataError(f"{where} has {wrong!r:.60}; whole numbers from 0 to {LARGEST_HASH} are needed")
    if len(hashes) > most:
        raise DataError(f"{where} has {len(hashes)} blocks of {block_tokens} tokens; the prompt has room for {most}")
