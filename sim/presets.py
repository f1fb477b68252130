"""The shipped scenarios, one JSON file each."""

from functools import lru_cache
from pathlib import Path

from sim.errors import ScenarioError, closest, shown
from sim.home import preset_files
from sim.scenario import Scenario, load_scenario

DEFAULT_PRESET = "chat"


@lru_cache
def _files() -> dict[str, Path]:
    files = preset_files()
    return {name: files[name] for name in sorted(files, key=lambda name: (name != DEFAULT_PRESET, name))}


def preset_names(tag: str | None = None) -> tuple[str, ...]:
    """Names of all presets, the default first; with `tag` those that carry it (`explore`, `bench`)."""
    return tuple(name for name in _files() if tag is None or tag in preset(name).about.tags)


@lru_cache
def preset(name: str) -> Scenario:
    """The shipped scenario of that name.

    Raises
    ------
    ScenarioError
        No such preset; the sentence lists the closest names.
    """
    if name not in _files():
        raise ScenarioError(f"preset is {shown(name)}; the closest shipped ones are {closest(name, _files())}")
    return load_scenario(_files()[name])
