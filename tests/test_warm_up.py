"""Every loop is in the cache once it has been compiled, whichever process did it."""

import os
import subprocess
import sys

import pytest

from sim.engine import is_compiled
from sim.systems import SYSTEMS
from sim.systems.warm_up import LOOPS


@pytest.mark.parametrize("loop", LOOPS)
def test_compiled_loop_is_found_in_the_cache(loop: str) -> None:
    assert is_compiled(loop)  # by tests/conftest.py


def test_loop_nobody_wrote_is_not_in_the_cache() -> None:
    assert not is_compiled("nothing")


def test_every_engine_has_a_loop_to_warm_up() -> None:
    names = [values["scheduler.system"] for values in LOOPS.values() if "scheduler.system" in values]
    assert {SYSTEMS[name].engine for name in names} == {each.engine for each in SYSTEMS.values()}


@pytest.mark.slow
def test_cache_is_filled_from_other_processes(tmp_path: os.PathLike[str]) -> None:
    code = f"from sim.systems.warm_up import compile_beside, is_compiled; compile_beside({list(LOOPS)});" + (
        f"print([is_compiled(loop) for loop in {list(LOOPS)}])"
    )
    env = os.environ | {"NUMBA_CACHE_DIR": os.fspath(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([True] * len(LOOPS))
