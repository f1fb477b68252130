"""What a command says while it works."""

import pytest

from sim import progress


def test_first_use_says_why_it_takes_long(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "is_compiled", lambda: False)
    progress.compile_kernels()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("compiling the simulator's kernels")
