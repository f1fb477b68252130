"""Predictions of the SSJF proxy model: true output tokens beside the predicted class; no prompts, no arrivals.

The predicted class and the predictor's latency are not read. Source: github.com/James-QiuHaoran/
LLM-serving-with-proxy-models, model-serving/prediction.
"""

from sim.workload.readers.columns import TraceColumns, trace_of_table
from sim.workload.readers.table import header_of
from sim.workload.readers.text import TextFile
from sim.workload.trace import Trace

HEADER = ["", "output_token_length", "predicted_length", "latency", "model"]
LAYOUT = f"SSJF CSV ({','.join(HEADER)})"
COLUMNS = TraceColumns(output=1)


def recognises(file: TextFile) -> bool:
    """Whether the header is SSJF's, letter by letter."""
    return header_of(file)[1] == HEADER


def read(file: TextFile) -> Trace:
    """The output lengths in such a file; prompts and arrivals come from the scenario.

    Raises
    ------
    DataError
        A row that cannot be right.
    """
    return trace_of_table(file, LAYOUT, COLUMNS)
