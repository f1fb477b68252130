"""`longtail replay`: one line a file, and the exit code."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sim.cli import main


def step_table(**changes: Any) -> dict[str, Any]:
    """Hand-worked: 16 prompt tokens fill one block and give the first token, the second needs another block."""
    config = {
        "num_gpu_blocks": 11, "block_size": 16, "max_num_seqs": 4, "max_num_batched_tokens": 64, "max_model_len": 128,
        "enable_chunked_prefill": True, "long_prefill_token_threshold": 0, "enable_prefix_caching": False,
        "policy": "fcfs", "watermark": 0.0, "reserve_full_isl": True,
    }  # fmt: skip
    step_columns = ["step", "t_us", "sched", "preempted", "running", "waiting", "free_sched", "finished", "free_end"]
    request_columns = [
        "first_step", "first_token_step", "finish_step", "finish_us", "preemptions", "first_cached", "emitted",
    ]  # fmt: skip
    return {
        "format": "longtail-vllm-golden/1",
        "name": "two tokens",
        "about": "",
        "tags": [],
        "engine": {"vllm": "0.33.0", "scheduler": "Scheduler", "async_scheduling": False},
        "config": config,
        "clock": {"mode": "step"},
        "workload": {
            "columns": ["arrival", "prompt_len", "output_len", "priority", "segments"],
            "rows": [[0, 16, 2, 0, None]],
        },
        "detail": "full",
        "steps": {
            "columns": step_columns,
            "rows": [[0, None, [[0, 16, 0, 1]], [], 1, 0, 9, [], 9], [1, None, [[0, 1, 16, 2]], [], 1, 0, 8, [0], 10]],
        },
        "requests": {"columns": request_columns, "rows": [[0, 0, 1, None, 0, 0, 2]]},
        "status": "complete",
        "max_steps": None,
        "summary": {"calls": 2, "tokens": 17, "preemptions": 0, "recomputed_tokens": 0, "cached_tokens_first": 0},
        **changes,
    }


def write_golden(path: Path, **changes: Any) -> str:
    path.write_bytes(gzip.compress(json.dumps(step_table(**changes)).encode()))
    return str(path)


def test_table_like_the_simulators_own_is_identical(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", write_golden(tmp_path / "a.json.gz")]) == 0
    assert capsys.readouterr().out == "two tokens: identical (2 steps)\n"


def test_altered_cell_is_reported_and_the_exit_code_is_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = step_table()["steps"]
    steps["rows"][1][6] = 7
    assert main(["replay", write_golden(tmp_path / "a.json.gz", steps=steps)]) == 1
    line = capsys.readouterr().out
    assert "free_sched: golden 7, own 8" in line
    assert line.count("\n") == 1


def test_unreadable_files_do_not_stop_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write_golden(tmp_path / "good.json.gz")
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(Path(good).read_bytes()[:-30])
    alien = write_golden(tmp_path / "alien.json.gz", format="other/1")
    assert main(["replay", str(cut), alien, str(tmp_path / "gone.json"), good]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["cut.json.gz", "alien.json.gz", "gone.json", "two tokens"]
    assert lines[-1].endswith("identical (2 steps)")


def test_own_table_is_written_in_the_format_of_the_golden(tmp_path: Path) -> None:
    out = tmp_path / "own.json.gz"
    assert main(["replay", write_golden(tmp_path / "a.json.gz"), "--out", str(out)]) == 0
    own = json.loads(gzip.decompress(out.read_bytes()))
    assert own["steps"] == step_table()["steps"]
    assert main(["replay", str(out)]) == 0
