"""The command and the lines of Python that make a run again: both are executed."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.commands.run import find_scenario
from sim.options import parser
from sim.presets import preset, preset_names
from sim.scenario import Scenario, save, with_values
from sim.simulate import simulate
from sim.view.reproduce import Origin, notebook_lines, of_preset, run_command
from tests.random_scenarios import scenarios

CHANGED = with_values(
    preset("chat"),
    {
        "workload.num_requests": 200,
        "workload.arrivals": {"kind": "gamma", "rate_rps": 4, "burstiness": 0.5},
        "scheduler.max_num_seqs": 16,
        "deployment.gpu": "L40S",
        "slo.ttft_ms": None,
    },
)
CHAT = of_preset("chat")
TRACED = with_values(CHANGED, {"workload.trace_file": {"name": "my trace.csv", "sha256": "0" * 64, "rows": 3}})


def scenario_of(command: str) -> Scenario:
    """What `longtail run` makes of a command line."""
    arguments = parser().parse_args(shlex.split(command)[1:])
    return with_values(find_scenario(arguments.scenario), dict(arguments.values))


def without_words(scenario: Scenario) -> Scenario:
    return with_values(scenario, {"about": {}, "workload.trace_file": None})


@given(scenarios(), st.sampled_from(preset_names()))
@settings(max_examples=60)
def test_the_command_holds_everything_that_departs_from_the_preset(scenario: Scenario, name: str) -> None:
    assert without_words(scenario_of(run_command(scenario, of_preset(name)))) == without_words(scenario)


def test_a_preset_needs_no_more_than_its_name() -> None:
    assert run_command(preset("chat"), CHAT) == "longtail run chat"
    assert "with_values" not in notebook_lines(preset("chat"), CHAT)


def test_the_command_names_the_trace_and_the_report() -> None:
    words = shlex.split(run_command(TRACED, CHAT, "out.html"))
    assert words[:5] == ["longtail", "run", "chat", "--trace", "my trace.csv"]
    assert words[-2:] == ["--report", "out.html"]
    assert "read_trace('my trace.csv')" in notebook_lines(TRACED, CHAT)


def test_lengths_of_a_trace_alone_are_told_from_its_arrivals() -> None:
    """Both the command and the lines would else replay the arrivals that the page has left aside."""
    plain = with_values(preset("chat"), {"workload.trace_file": {"name": "t.csv", "sha256": "0" * 64, "rows": 3}})
    assert run_command(plain, CHAT) == "longtail run chat --trace t.csv --set workload.arrivals.kind=poisson"
    assert "simulate(scenario, read_trace('t.csv').without_arrivals())" in notebook_lines(plain, CHAT)
    replay = with_values(plain, {"workload.arrivals": {"kind": "trace"}})
    assert run_command(replay, CHAT).startswith(
        'longtail run chat --trace t.csv --set \'workload.arrivals={"kind":"trace"'
    )
    assert notebook_lines(replay, CHAT).count("simulate(scenario, read_trace('t.csv'))") == 1


def test_the_lines_of_a_notebook_make_the_same_run() -> None:
    names: dict[str, object] = {}
    exec(notebook_lines(CHANGED, CHAT), names)
    assert names["scenario"] == CHANGED
    assert names["result"].summary()["metrics"] == simulate(CHANGED).summary()["metrics"]


@pytest.mark.parametrize("name", preset_names("explore"))
def test_the_lines_of_every_preset_make_its_scenario_from_any_other(name: str) -> None:
    names: dict[str, object] = {}
    lines = notebook_lines(preset(name), CHAT).split("\n")
    exec("\n".join(line for line in lines if "result" not in line), names)
    assert without_words(names["scenario"]) == without_words(preset(name))


def test_a_run_may_depart_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    save(CHANGED, file)
    origin = Origin(str(file), CHANGED)
    more = with_values(CHANGED, {"seed": 3})
    assert scenario_of(run_command(more, origin)) == more
    names: dict[str, object] = {}
    exec(notebook_lines(more, origin), names)
    assert names["scenario"] == more
