"""What a command says on standard error while it works."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

from sim.engine import is_compiled
from sim.scenario import Scenario
from sim.systems.warm_up import FIRST, load, loop_of

BAR = "{desc}: {percentage:3.0f} % |{bar:30}| {elapsed} gone, {remaining} to go"
SILENT_S = 1.0  # what ends sooner needs no bar


def note(sentence: str) -> None:
    """One line on standard error, so that standard output holds results only."""
    print(sentence, file=sys.stderr, flush=True)


def say(line: str) -> None:
    """One line of result on standard output, above the bar if there is one."""
    tqdm.write(line)


def compile_kernels(scenario: Scenario | None = None) -> None:
    """Compile what a scenario runs on if this version has not used it here yet, and say so before the wait."""
    loop = FIRST if scenario is None else loop_of(scenario)
    if not is_compiled(loop):
        note("compiling the simulator's kernels, about 20 s, once per version")
        load(loop)


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[float], None]]:
    """A bar on a terminal for whatever takes over a second.

    Yields
    ------
    Callable[[float], None]
        To be called with the share done, 0 to 1; never goes back.
    """
    with tqdm(total=1.0, desc=label, bar_format=BAR, delay=SILENT_S, disable=None, leave=False, file=sys.stderr) as bar:

        def show(share: float) -> None:
            bar.update(max(0.0, share - bar.n))

        yield show
