"""Where the project's shared data lie, beside the checkout; tests that need them are skipped without."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"

needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="the shared data folder is not beside this checkout")
