"""The second file of a ServeGen chunk: probabilities of prompt and output lengths, by window."""

import json

import numpy as np
from numpy.typing import NDArray

from sim.errors import DataError, shown
from sim.part import MAX_TOKENS
from sim.workload.readers.servegen_rates import Rates
from sim.workload.readers.text import TextFile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PROBABILITIES = "{tokens: probability, ...} with probabilities that sum to 1 is needed"


def drawn_lengths(file: TextFile, key: str, rates: Rates, rank: Floats) -> Ints:
    """Lengths by rank, from the distribution in force when each request comes.

    Parameters
    ----------
    file : TextFile
        The lengths.
    key : str
        `input_tokens` or `output_tokens`.
    rates : Rates
        The windows of the requests.
    rank : (rates.total,) float64
        Between 0 and 1.

    Raises
    ------
    DataError
        No distribution for a window, or one that cannot be right.
    """
    windows = _windows(file)
    starts = np.array(sorted(windows))
    place = np.searchsorted(starts, rates.start_s, side="right") - 1
    if place.min() < 0:
        first = rates.start_s[0]
        raise DataError(f"{file.name} begins with window {starts[0]}; one by {first:g} is needed, as in {rates.file}")
    of_request = np.repeat(starts[place], rates.num_requests)
    lengths = np.empty(len(rank), dtype=np.int64)
    for start in np.unique(of_request).tolist():
        tokens, cumulative = _distribution(file, start, windows[start], key)
        rows = of_request == start
        found = np.searchsorted(cumulative, rank[rows] * cumulative[-1], side="right")
        lengths[rows] = tokens[np.minimum(found, len(tokens) - 1)]
    return lengths


def _windows(file: TextFile) -> dict[int, object]:
    """What the file has for each window, by its start in seconds."""
    try:
        windows = json.loads(file.text)
        return {int(start): window for start, window in windows.items()}
    except json.JSONDecodeError as error:
        raise DataError(f"{file.name} line {error.lineno}: {error.msg.lower()}; JSON is needed") from None
    except (AttributeError, ValueError, RecursionError):
        raise DataError(f"{file.name} has no windows by their start; whole seconds are needed as keys") from None


def _distribution(file: TextFile, start: int, window: object, key: str) -> tuple[Ints, Floats]:
    """Token counts and their cumulated probabilities."""
    text = window.get(key) if isinstance(window, dict) else None
    pairs = _pairs(text) if isinstance(text, str) else None
    if pairs is None or not _is_distribution(*pairs):
        raise DataError(f"{file.name} window {start}: {key} is {shown(text)}; {PROBABILITIES}")
    tokens, probability = pairs
    least = 1 if key == "input_tokens" else 0
    wrong = tokens[(tokens < least) | (tokens > MAX_TOKENS)]
    if len(wrong):
        raise DataError(
            f"{file.name} window {start}: {key} has {wrong[0]:.0f} tokens; from {least} to {MAX_TOKENS} are allowed"
        )
    return tokens.astype(np.int64), np.cumsum(probability)


def _pairs(text: str) -> tuple[Floats, Floats] | None:
    """Keys and values of a Python dict of numbers in text; None where it is none."""
    inside = text.strip().removeprefix("{").removesuffix("}")
    items = inside.split(",")
    if inside.count(":") != len(items) or any(item.count(":") != 1 for item in items):
        return None
    try:
        numbers = np.array(inside.replace(":", ",").split(","), dtype=np.float64)
    except ValueError:
        return None
    return numbers[::2], numbers[1::2]


def _is_distribution(tokens: Floats, probability: Floats) -> bool:
    whole = np.all(tokens == np.floor(tokens))
    return bool(whole and np.all(probability >= 0) and abs(probability.sum() - 1) < 0.01)
