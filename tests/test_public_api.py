"""What `import sim` offers, and what it costs."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import sim

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", sim.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(sim, name).__doc__
    assert name in dir(sim)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulator'"):
        sim.simulator  # noqa: B018


def test_simulate_stays_a_function_after_its_module_was_imported() -> None:
    import sim.simulate

    assert callable(sim.simulate)


def test_lines_that_the_package_shows_do_what_they_say() -> None:
    found = doctest.testmod(sim)
    assert found.attempted > 5
    assert found.failed == 0


def test_import_alone_loads_nothing_heavy() -> None:
    heavy = "numba", "pandas", "pydantic", "plotly", "streamlit"
    code = f"import sim, sys; print(*sorted(set({heavy}) & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "\n", "")


def test_simulating_loads_no_page_and_no_plot() -> None:
    code = (
        "import sim, sys; "
        "sim.simulate(sim.with_values(sim.Scenario(), {'workload.num_requests': 5})).summary(); "
        "print(*sorted({'plotly', 'streamlit', 'pandas'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "\n", "")
