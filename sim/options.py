"""The options of the `longtail` command: what each subcommand takes, and how a wrong value is refused.

Nothing that simulates is imported here, so that help comes at once.
"""

import argparse
import textwrap
from pathlib import Path
from typing import Any, NoReturn

from sim import __version__
from sim.home import preset_files


class UsageError(ValueError):
    """A command line that makes no sense; `str(error)` is the one sentence that says why."""


class Help(argparse.HelpFormatter):
    """Help that does not break a preset's name at its hyphens."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence like all others."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=Help, **options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


def parser() -> Parser:
    """All commands and their options."""
    top = Parser(prog="longtail", description="What unknown output lengths do to an LLM server's speed and memory.")
    top.add_argument("--version", action="version", version=f"longtail {__version__}")
    add_dashboard_options(top)
    commands = top.add_subparsers(
        title="commands", description="without one, the dashboard opens", metavar="COMMAND", parser_class=Parser
    )
    add_run(commands)
    add_replay(commands)
    add_systems(commands)
    add_bench(commands)
    add_calibrate(commands)
    add_validate(commands)
    add_capacity(commands)
    return top


def add_dashboard_options(top: Parser) -> None:
    """`longtail` alone."""
    top.set_defaults(command="dashboard")
    top.add_argument("--port", type=port, help="port to serve on; the first free one from 8501 if left out")
    top.add_argument("--host", help="address to serve on; 0.0.0.0 lets other machines in (this one only if left out)")
    top.add_argument("--no-browser", action="store_true", help="serve without opening a browser window")


def add_run(commands: Any) -> None:
    """`longtail run`."""
    run = commands.add_parser("run", help="simulate one scenario", description="Simulate one scenario.")
    run.set_defaults(command="run")
    add_scenario(run)
    run.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="requests to replay, also as .gz: plain CSV (arrival_s,prompt_tokens,output_tokens), Azure, BurstGPT, "
        "Mooncake and others",
    )
    add_values(run, "change one field, such as workload.arrivals.rate_rps=3")
    run.add_argument("--json", metavar="OUT", help="write the summary as JSON; - prints it instead of the table")
    run.add_argument(
        "--report", type=Path, metavar="OUT.html", help="write a report with pictures that opens without a network"
    )
    run.add_argument("--requests", type=Path, metavar="OUT.csv", help="write one row a request")
    run.add_argument("--steps", type=Path, metavar="OUT.csv", help="write one row a scheduler step")


def add_replay(commands: Any) -> None:
    """`longtail replay`."""
    about = "Compare the simulator, step by step, with tables recorded from a real scheduler."
    replay = commands.add_parser("replay", help="compare with tables recorded from a real scheduler", description=about)
    replay.set_defaults(command="replay")
    replay.add_argument("goldens", nargs="+", type=Path, metavar="GOLDEN", help="a recorded table, .json or .json.gz")
    replay.add_argument("--out", type=Path, metavar="TABLE", help="write the simulator's own table; one GOLDEN only")


def add_systems(commands: Any) -> None:
    """`longtail systems`."""
    about = "List the schedulers: source, what each knows and reserves, who gives way, knobs and defaults."
    systems = commands.add_parser("systems", help="list the schedulers", description=about)
    systems.set_defaults(command="systems")
    systems.add_argument("name", nargs="*", metavar="NAME", help="show these in full; all in short if left out")
    systems.add_argument("--json", metavar="OUT", help="write them as JSON; - prints it instead of the list")


def add_bench(commands: Any) -> None:
    """`longtail bench`."""
    bench = commands.add_parser("bench", help="measure the simulator's speed", description="Measure the simulator.")
    bench.set_defaults(command="bench")
    bench.add_argument(
        "--system", nargs="+", default=[], metavar="NAME", help="schedulers; each preset's own if left out"
    )
    bench.add_argument("--requests", type=positive, metavar="N", help="requests a run; each preset's own if left out")
    bench.add_argument("--json", metavar="OUT", help="write the figures as JSON; - prints them instead of the table")


def add_calibrate(commands: Any) -> None:
    """`longtail calibrate`."""
    about = "Fit the step time of a deployment to its own benchmark."
    calibrate = commands.add_parser("calibrate", help="fit the step time to a benchmark", description=about)
    calibrate.set_defaults(command="calibrate")
    calibrate.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="results of a serving benchmark, or a CSV of concurrency, isl, osl, tpot",
    )
    calibrate.add_argument("--gpu", required=True, help="name in the catalogue")
    calibrate.add_argument("--model", required=True, help="name in the catalogue")
    calibrate.add_argument("--tp", type=positive, help="tensor parallel size; 1 if left out")
    calibrate.add_argument("--weight-dtype", help="bf16, fp8, fp8_block or fp4; the model's own if left out")
    calibrate.add_argument("--kv-cache-dtype", help="auto or fp8; auto if left out")
    add_values(calibrate, "change another field of the server, such as scheduler.max_num_batched_tokens=8192")
    calibrate.add_argument(
        "--out",
        metavar="COST.json",
        help='write the coefficients; `longtail run --set cost="$(cat COST.json)"` uses them',
    )


def add_validate(commands: Any) -> None:
    """`longtail validate`."""
    about = "Compare the simulator with measurements: whatever of a known set of files is found in a folder."
    validate = commands.add_parser("validate", help="compare the simulator with measurements", description=about)
    validate.set_defaults(command="validate")
    validate.add_argument(
        "--data", type=Path, default=Path("../shared"), metavar="DIR", help="folder; ../shared if left out"
    )
    validate.add_argument("--json", metavar="OUT", help="write everything as JSON; - prints it instead of the tables")


def add_capacity(commands: Any) -> None:
    """`longtail capacity`."""
    about = "The largest rate that one replica sustains within the limits, and what a load costs, here and elsewhere."
    capacity = commands.add_parser("capacity", help="how many GPUs a load needs, at what price", description=about)
    capacity.set_defaults(command="capacity")
    add_scenario(capacity)
    capacity.add_argument("--trace", type=Path, metavar="FILE", help="requests to replay at other speeds")
    capacity.add_argument("--rate", type=amount, metavar="R", help="requests/s to serve; the scenario's if left out")
    capacity.add_argument(
        "--headroom", type=share, default=0.2, metavar="H", help="share of each replica kept free; 0.2 if left out"
    )
    capacity.add_argument(
        "--attainment",
        type=share,
        default=0.9,
        metavar="A",
        help="share of requests within the limits; 0.9 if left out",
    )
    capacity.add_argument(
        "--cap", type=positive, default=512, metavar="N", help="what if answers end after N tokens; 512 if left out"
    )
    capacity.add_argument(
        "--tail", type=amount, default=2.0, metavar="F", help="what if the tail is F x longer; 2 if left out"
    )
    capacity.add_argument("--gpus", nargs="+", metavar="GPU", help="GPUs to compare with; all with a price if left out")
    capacity.add_argument(
        "--retraining",
        type=cost,
        default=0.0,
        metavar="USD",
        help="what it costs a month to keep a predictor up to date, where one is used; 0 if left out",
    )
    add_values(capacity, "change one field, such as slo.ttft_ms=500")
    capacity.add_argument("--json", metavar="OUT", help="write everything as JSON; - prints it instead of the tables")


def add_scenario(command: argparse.ArgumentParser) -> None:
    """What is asked about: a file or a preset."""
    command.add_argument("scenario", metavar="SCENARIO", help="a scenario file (JSON), or the name of a preset")
    command.epilog = f"presets: {', '.join(preset_files())}"


def add_values(command: argparse.ArgumentParser, what: str) -> None:
    """`--set`, for fields of a scenario."""
    command.add_argument(
        "--set",
        dest="values",
        action="append",
        default=[],
        type=assignment,
        metavar="A.B=VALUE",
        help=f"{what}; null takes a value away; may be repeated",
    )


def assignment(text: str) -> tuple[str, str]:
    """`a.b=value` as field and value."""
    field, equals, value = text.partition("=")
    if not (field and equals):
        raise argparse.ArgumentTypeError(f"'{text}' assigns nothing; field=value is needed")
    return field, value


def port(text: str) -> int:
    """A port that a server can be told to use."""
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"port is {text}; a number from 1 to 65535 is needed")
    return int(text)


def amount(text: str) -> float:
    """A number above 0."""
    value = number(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"the amount is {text}; more than 0 is needed")
    return value


def cost(text: str) -> float:
    """An amount of money, or none."""
    value = number(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"the cost is {text}; at least 0 is needed")
    return value


def share(text: str) -> float:
    """A share of a whole, below 1."""
    value = number(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"the share is {text}; at least 0 and less than 1 is needed")
    return value


def number(text: str) -> float:
    """A number, or NaN, which no limit lets through."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def positive(text: str) -> int:
    """A count of at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"the count is {text}; a whole number from 1 on is needed")
    return int(text)
