"""The small files of our own, one of each layout, and what to break in them."""

from typing import NamedTuple

from tests.broken import Variants, broken_lines, broken_rows
from tests.data_files import DATA

FOLDER = DATA / "traces"


class Layout(NamedTuple):
    """A file and its numbers."""

    file: str
    reader: str  # how its name begins
    keys: tuple[str, ...] = ()  # of numbers in JSON lines
    columns: dict[str, int] = {}  # of numbers in a table

    @property
    def text(self) -> str:
        return (FOLDER / self.file).read_text()

    def broken(self) -> Variants:
        return broken_lines(self.text, self.keys) if self.keys else broken_rows(self.text, self.columns)


LAYOUTS = (
    Layout("mooncake.jsonl", "Mooncake", keys=("timestamp", "input_length", "output_length")),
    Layout("bailian.jsonl", "Bailian", keys=("timestamp", "input_length", "output_length")),
    Layout("apex.jsonl", "APEX", keys=("ContextTokens", "GeneratedTokens", "StartTimeOffset")),
    Layout("llmservingsim.jsonl", "LLMServingSim", keys=("input_toks", "output_toks", "arrival_time_ns")),
    Layout("llmservingsim_measured.jsonl", "LLMServingSim", keys=("input_toks", "output_toks", "arrival_time")),
    Layout("burstgpt.csv", "BurstGPT", columns={"Timestamp": 0, "Request tokens": 2, "Response tokens": 3}),
    Layout("lengths.csv", "lengths", columns={"num_prefill_tokens": 0, "num_decode_tokens": 1}),
    Layout("ssjf.csv", "SSJF", columns={"output_token_length": 1}),
)
