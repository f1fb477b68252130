"""The compile cache follows every source of the engine."""

from pathlib import Path

import pytest

from sim.engine import jit


@pytest.mark.parametrize("edited", ["loop.py", "sglang/loop.py"])
def test_hash_changes_with_every_source_of_the_engine(
    edited: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sglang").mkdir()
    for name in ("jit.py", "loop.py", "sglang/loop.py"):
        (tmp_path / name).write_text("first")
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "jit.py"))
    before = jit.sources_hash()
    (tmp_path / edited).write_text("second")
    assert jit.sources_hash() != before
