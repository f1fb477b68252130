"""Replays of every recorded step table in a folder."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from sim.golden import GoldenError, replay
from sim.studies.validation.figures import Row

PATTERNS = ("**/*.json.gz", "**/*.json")
INDEX = "INDEX.json"


def goldens(folder: Path, on_progress: Callable[[float], None]) -> Row:
    """How many files replay identically, by the folder they lie in, and what differs or cannot be replayed."""
    paths = sorted(path for pattern in PATTERNS for path in folder.glob(pattern) if path.name != INDEX)
    by_folder: dict[str, Counter[str]] = {}
    different, refused = [], []
    for done, path in enumerate(paths, start=1):
        name = path.relative_to(folder).parent.as_posix()
        count = by_folder.setdefault(name, Counter())
        try:
            outcome = replay(path)
        except GoldenError as error:
            count["refused"] += 1
            refused.append(f"{name}: {error}")
        else:
            count["identical" if outcome.identical else "different"] += 1
            count["steps"] += outcome.steps
            if not outcome.identical:
                different.append(f"{name}/{path.name}: {outcome.difference}")
        on_progress(done / len(paths))
    names = ("identical", "different", "refused", "steps")
    folders = [{"folder": name, **{each: count[each] for each in names}} for name, count in by_folder.items()]
    return {"files": len(paths), "folders": folders, "different": different, "refused": refused}
