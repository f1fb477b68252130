"""The compiled loop as a whole: one signature, stopping and going on, the same without a compiler."""

import heapq
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from sim import preset, preset_names, simulate, with_values
from sim.engine import loop, run
from sim.engine.waiting import heap_pop, heap_push
from tests.engine_inputs import requests_of_lengths, step_time_of, vllm_rules

ROOT = Path(__file__).resolve().parents[2]
run_module = sys.modules["sim.engine.run"]


def test_every_preset_runs_through_one_signature():
    for name in preset_names():
        simulate(with_values(preset(name), {"workload.num_requests": 50}))
    assert len(loop.advance.signatures) == 1
    assert len(loop.settle.signatures) == 1


@pytest.mark.parametrize("calls_at_once", [1, 7])
def test_a_run_in_pieces_is_the_run_in_one(monkeypatch, calls_at_once):
    rng = np.random.default_rng(5)
    requests = requests_of_lengths(rng.integers(1, 60, 80), rng.integers(1, 90, 80), np.sort(rng.uniform(0, 60, 80)))
    rules = vllm_rules(usable_blocks=30, max_num_seqs=16, max_num_batched_tokens=64, prefix_caching=1)
    whole = run(rules, requests, step_time_of(64))
    assert whole.counters["preemptions"] > 0
    monkeypatch.setattr(run_module, "CALLS_AT_ONCE", calls_at_once)
    pieces = run(rules, requests, step_time_of(64))
    for ours, theirs in zip(whole.outcome, pieces.outcome, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(whole.bins, pieces.bins)


def test_preemptions_that_undo_each_other_for_ever_end_the_run(monkeypatch):
    monkeypatch.setattr(run_module, "CALLS_AT_ONCE", 100)
    requests = requests_of_lengths([2, 7], [5, 1], [0.0, 0.0])
    rules = vllm_rules(
        usable_blocks=4,
        block_size=2,
        max_num_seqs=2,
        max_num_batched_tokens=16,
        order=1,
        reserve_full_isl=0,
        long_prefill_token_threshold=1,
    )
    assert run(rules, requests, step_time_of(16)).stop == loop.Stop.STUCK


@njit
def sorted_by_heap(keys, heap):
    """Push all, pop all: the ids in order."""
    for i in range(len(keys)):
        heap_push(heap, i, keys[i], i)
    order = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        order[i] = heap_pop(heap, len(keys) - i)
    return order


def test_heap_gives_the_order_of_heapq():
    keys = np.random.default_rng(1).integers(0, 20, 300).astype(np.float64)
    pairs = [(key, i) for i, key in enumerate(keys)]
    heapq.heapify(pairs)
    expected = [heapq.heappop(pairs)[1] for _ in keys]
    assert sorted_by_heap(keys, np.zeros((300, 2))).tolist() == expected


def test_goldens_replay_alike_without_a_compiler():
    tables = sorted(str(path) for path in (ROOT / "tests" / "golden").glob("*.json.gz"))
    tables += sorted(str(path) for path in (ROOT / "tests" / "golden" / "sglang").glob("*.json.gz"))
    code = "import sys; from sim.golden import replay; sys.exit(not all(replay(p).identical for p in sys.argv[1:]))"
    command = [sys.executable, "-W", "error", "-c", code, *tables]
    plain_python = subprocess.run(command, cwd=ROOT, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=False)
    assert plain_python.returncode == 0
