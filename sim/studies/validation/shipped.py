"""The last validation of a release, as it ships with the package."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

SHIPPED = Path(__file__).parents[1] / "validation.json"


@lru_cache
def shipped() -> dict[str, Any]:
    """What `longtail validate` found before the release; see `validate` for its parts."""
    report: dict[str, Any] = json.loads(SHIPPED.read_text(encoding="utf-8"))
    return report
