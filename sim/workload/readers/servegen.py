"""ServeGen client chunks: arrival rates and length distributions of one client, from which requests are drawn.

Two files: `*-trace.csv` without header (start of a window in s, requests/s, CV of the gaps, family, its two
parameters) and `*-dataset.json` (start of a window in s -> probabilities of token counts). The first day with
traffic is drawn. Each window gets the number of requests that its rate says, with gaps of the family's shape that fill
the window; prompt and output lengths are drawn independently, as the files give no relation between them.

Source: github.com/alibaba/ServeGen, data.
"""

import hashlib
import re

import numpy as np

from sim.errors import DataError
from sim.workload.clock import NS_PER_S
from sim.workload.randomness import Purpose, RandomNumbers
from sim.workload.readers.servegen_lengths import drawn_lengths
from sim.workload.readers.servegen_rates import drawn_instants_s, rates_of
from sim.workload.readers.text import TextFile
from sim.workload.trace import Trace, trace_of

LAYOUT = "ServeGen chunk (*-trace.csv beside *-dataset.json)"
RATES_END, LENGTHS_END = "-trace.csv", "-dataset.json"
RATES_BEGIN = re.compile(r"[\d.]+(,[^,]*){2},[A-Za-z]*(,[^,]*){2}")
LENGTHS_BEGIN = re.compile(r'\s*\{\s*"\d+"\s*:\s*\{\s*"(input_tokens|output_tokens|reason_ratio)"')
SEED = 0  # always the same: a pair of files is one trace


def recognises(file: TextFile) -> bool:
    """Whether it begins like either file of a pair."""
    return _has_rates(file) or LENGTHS_BEGIN.match(file.text[:1000]) is not None


def read(file: TextFile) -> Trace:
    """Requests drawn from a pair of files, given either of them.

    Raises
    ------
    DataError
        The other file is missing, or something in one of them cannot be right.
    """
    rates_file, lengths_file = _pair(file)
    rates, notes = rates_of(rates_file)
    numbers = RandomNumbers(SEED)
    prompt_rank, output_rank = (
        numbers.uniforms(each, rates.total) for each in (Purpose.PROMPT_LEN, Purpose.OUTPUT_LEN)
    )
    return trace_of(
        rates_file.name,
        hashlib.sha256(f"{rates_file.sha256}{lengths_file.sha256}".encode()).hexdigest(),
        LAYOUT,
        instant_ns=np.rint(drawn_instants_s(rates, numbers) * NS_PER_S).astype(np.int64),
        prompt_len=drawn_lengths(lengths_file, "input_tokens", rates, prompt_rank),
        output_len=drawn_lengths(lengths_file, "output_tokens", rates, output_rank),
        notes=notes,
    )


def _has_rates(file: TextFile) -> bool:
    return RATES_BEGIN.fullmatch(file.begins()) is not None


def _pair(file: TextFile) -> tuple[TextFile, TextFile]:
    """The file with the rates, and the one with the lengths."""
    has_rates = _has_rates(file)
    own_end, other_end = (RATES_END, LENGTHS_END) if has_rates else (LENGTHS_END, RATES_END)
    name = file.name.removesuffix(".gz")
    other_name = name.removesuffix(own_end) + other_end
    other = file.partner(other_name) if name.endswith(own_end) else None
    if other is None:
        has = "rates" if has_rates else "lengths"
        raise DataError(f"{file.name} has the {has} of a ServeGen chunk only; {other_name} is needed beside it")
    return (file, other) if has_rates else (other, file)
