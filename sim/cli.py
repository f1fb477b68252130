"""The `longtail` command: runs a subcommand, and says in one sentence what was refused."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from sim.options import UsageError, parser

REFUSED = 2
STOPPED = 130  # what shells report after Ctrl-C


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process if left out.

    Returns
    -------
    int
        0 when all went well; 1 when a recorded table differs or cannot be replayed; 2 when something was refused,
        and then one sentence on standard error says what.
    """
    try:
        arguments = parser().parse_args(argv)
    except (UsageError, FileNotFoundError) as error:  # the latter: an installation without presets
        return refuse(str(error))
    return guarded(import_module(f"sim.commands.{arguments.command}").main, arguments)


def guarded(command: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    """Run a command; what the user can mend becomes one sentence, anything else stays a traceback."""
    from sim.errors import DataError, ScenarioError

    try:
        return command(arguments)
    except (UsageError, ScenarioError, DataError) as error:
        return refuse(str(error))
    except BrokenPipeError:  # whoever read our output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return STOPPED
    except OSError as error:
        return refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        return STOPPED


def refuse(sentence: str) -> int:
    """Say why on standard error, in one line."""
    print(f"longtail: {' '.join(sentence.split())}", file=sys.stderr)
    return REFUSED
