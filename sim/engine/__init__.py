"""The step simulator: compiled loops over requests, step time and rules of a scheduler.

Four loops. `loop` is vLLM V1's with its prefix cache, and static batching's; `head`, `admit`, `grow` and `preempt` are
its parts. `general` takes every combination of the five choices, `pipeline` the same over several stages, `sglang` is
SGLang's. The other modules here serve several of them: state, accounts, arrivals, members, gaps, records.
"""

from sim.engine.accounts import MEMORY_ROWS, TIME_ROWS, Bin, Status
from sim.engine.inputs import SHARED_TEXT, Batching, Order, Requests, Reserve, Rules, StepTime
from sim.engine.jit import is_compiled
from sim.engine.loop import Stop
from sim.engine.run import AsyncColumns, Outcome, Run, StepTable, run

__all__ = [
    "MEMORY_ROWS",
    "SHARED_TEXT",
    "TIME_ROWS",
    "AsyncColumns",
    "Batching",
    "Bin",
    "Order",
    "Outcome",
    "Requests",
    "Reserve",
    "Rules",
    "Run",
    "Status",
    "StepTable",
    "StepTime",
    "Stop",
    "is_compiled",
    "run",
]
