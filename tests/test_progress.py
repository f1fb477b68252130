"""What a command says while it works."""

import io
import sys
import time

import pytest

from sim import progress


def test_first_use_says_why_it_takes_long(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "is_compiled", lambda loop: loop != "engine")
    progress.compile_kernels()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("compiling the simulator's kernels")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def bar_of_a_task(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO) -> str:
    """What standard error shows while a task gets half done, with no silent time before the bar."""
    monkeypatch.setattr(progress, "SILENT_S", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.progress_bar("simulating") as show:
        time.sleep(0.15)  # a bar is drawn anew at most ten times a second
        show(0.5)
        show(0.2)  # a late report from before
        return stream.getvalue()


def test_terminal_shows_how_much_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "simulating:  50 %" in bar_of_a_task(monkeypatch, Terminal())


def test_file_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bar_of_a_task(monkeypatch, io.StringIO()) == ""


def test_short_task_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.progress_bar("simulating") as show:
        show(0.5)
    assert "%" not in stream.getvalue()
