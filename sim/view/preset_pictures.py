"""The pictures of the shipped presets. `python -m sim.view.preset_pictures` runs the presets and draws them anew."""

import json
from functools import lru_cache
from pathlib import Path

from sim.presets import preset, preset_names
from sim.simulate import simulate
from sim.view.picture import Picture, picture

FILE = Path(__file__).with_suffix(".json")


@lru_cache
def preset_pictures() -> dict[str, Picture]:
    """The shipped picture of each preset, by its name."""
    shipped = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: Picture(**values) for name, values in shipped.items()}


def drawn(name: str) -> Picture:
    """The picture of a preset, from a run of it."""
    return picture(simulate(preset(name)))


def main() -> None:
    """Draw all of them and write the file that ships."""
    found = {name: drawn(name)._asdict() for name in preset_names("explore")}
    rows = [f'  "{name}": {json.dumps(values, separators=(",", ":"))}' for name, values in found.items()]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
