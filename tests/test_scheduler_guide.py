"""The guide "How to add a scheduler" does what it says."""

import re
from pathlib import Path

import pytest

from sim.cli import main
from sim.keys import from_query
from sim.systems import SYSTEMS, system_names
from sim.systems.predictors import OWN

ROOT = Path(__file__).resolve().parents[1]
GUIDE = (ROOT / "sim" / "systems" / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^`([^`\n]+\.py)`[^\n]*:\n\n```python\n(.*?)```", re.DOTALL | re.MULTILINE)


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The blocks by file, with the scheduler and its predictor added for one test."""
    blocks = dict(BLOCK.findall(GUIDE))
    monkeypatch.setattr("sim.systems.predictors.OWN", OWN)
    monkeypatch.setitem(OWN, "short_and_safe", {})
    names: dict[str, object] = {}
    exec(blocks["sim/systems/length_aware.py"], names)
    monkeypatch.setitem(SYSTEMS, "short_and_safe", names["SHORT_AND_SAFE"])
    exec(blocks["sim/systems/predictors.py"], {})
    return blocks


def test_at_most_three_files_are_touched_besides_the_test() -> None:
    files = [name for name, _ in BLOCK.findall(GUIDE) if not name.startswith("tests/")]
    assert 1 <= len(set(files)) <= 3
    assert all((ROOT / name).is_file() for name in files)
    assert GUIDE.count("```python") == len(BLOCK.findall(GUIDE))


def test_its_own_proof_holds(added: dict[str, str]) -> None:
    exec(added["tests/test_short_and_safe.py"], {})


def test_the_proof_fails_for_another_order(added: dict[str, str]) -> None:
    by_arrival = added["tests/test_short_and_safe.py"].replace('"short_and_safe"}', '"quantile"}')
    with pytest.raises(AssertionError):
        exec(by_arrival, {})


def test_it_is_everywhere_at_once(added: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "short_and_safe" in system_names()
    assert from_query({"preset": "chat", "sched": "short_and_safe"}).scheduler.choices.order == "predicted"
    assert main(["systems", "short_and_safe"]) == 0
    assert "predictor   the scenario's; where it names none: kind distribution" in capsys.readouterr().out


def test_files_it_speaks_of_exist() -> None:
    named = re.findall(r"`(sim/[\w/]+\.py)`", GUIDE)
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []
