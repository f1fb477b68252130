"""`longtail replay`: compare the simulator with tables recorded from real schedulers."""

import argparse
from pathlib import Path

from sim.commands.run import check_writable
from sim.golden import GoldenError, replay, write_table
from sim.options import UsageError
from sim.progress import compile_kernels, progress_bar, say

IDENTICAL, DIFFERENT = 0, 1  # exit codes


def main(arguments: argparse.Namespace) -> int:
    """One line a file; a file that cannot be replayed counts as different and does not stop the others."""
    if arguments.out and len(arguments.goldens) > 1:
        raise UsageError(f"--out takes one table, and {len(arguments.goldens)} goldens were given")
    check_writable(arguments.out)  # not after the work
    compile_kernels()
    identical = 0
    with progress_bar("replaying") as show:
        for done, path in enumerate(arguments.goldens, start=1):
            identical += replay_one(path, arguments.out)
            show(done / len(arguments.goldens))
    return IDENTICAL if identical == len(arguments.goldens) else DIFFERENT


def replay_one(path: Path, out: Path | None) -> bool:
    """Print the verdict on one file and write the simulator's own table if asked for; whether all is identical."""
    try:
        found = replay(path)
    except GoldenError as error:
        say(str(error))
        return False
    if out:
        write_table(out, found.table)
    verdict = f"identical ({found.steps} steps)" if found.identical else f"different at {found.difference}"
    say(f"{found.name}: {verdict}")
    return found.identical
