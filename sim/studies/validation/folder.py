"""Where a folder keeps the files that validation knows, and the names in them that the catalogue knows."""

import re
from collections.abc import Iterable
from pathlib import Path

SUBFOLDERS = ("", "data")


def found(data: Path, name: str) -> Path | None:
    """A file or folder directly in `data` or under its `data/`; None where there is none."""
    places = [data / subfolder / name for subfolder in SUBFOLDERS]
    return next((place for place in places if place.exists()), None)


def catalogue_name(text: str, names: Iterable[str]) -> str | None:
    """The name that a text spells in its own way, or begins with: `RTXPRO6000`, `Qwen3-30B-A3B-Instruct-2507`.

    The longest wins, as `Qwen3-30B-A3B` over `Qwen3-30B`; None where no name fits.
    """
    plain = _plain(text)
    fitting = [name for name in names if plain.startswith(_plain(name))]
    return max(fitting, key=len, default=None)


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", text.lower())
