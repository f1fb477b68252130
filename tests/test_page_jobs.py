"""Jobs beside the pages: what they find, how they stop, and when a page runs once more."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from ui.asked import Asked
from ui.job import Job
from ui.load_job import LoadJob
from ui.long_job import LongJob, Progress
from ui.pool import NICENESS, page_first, page_waits
from ui.watch import APART_S, SOON_S, Watched

from sim.errors import ScenarioError
from sim.presets import preset
from sim.scenario import with_values
from sim.studies.load_curve import load_points, without_load

PAGES = Path(__file__).resolve().parents[1] / "pages"


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(max_workers=1) as pool:
        yield pool


def waited(job: Job[int, int]) -> Job[int, int]:
    deadline = time.monotonic() + 60
    while not job.is_done:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return job


def test_everything_is_found_in_order(pool: ThreadPoolExecutor) -> None:
    job = waited(Job({n: (lambda n=n: n * n) for n in (3, 1, 2)}, pool, head_start_s=0))
    assert list(job.found.items()) == [(3, 9), (1, 1), (2, 4)]
    assert job.is_complete
    assert job.ended_s <= time.monotonic()


def test_what_a_page_reads_stays_as_it_was_while_more_is_found(pool: ThreadPoolExecutor) -> None:
    may_go_on = threading.Event()
    job = Job({0: lambda: 0, 1: lambda: int(may_go_on.wait(60))}, pool, head_start_s=0)
    deadline = time.monotonic() + 60
    while not job.found:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    reading = job.found
    places = iter(reading)
    assert next(places) == 0
    may_go_on.set()
    waited(job)
    assert list(places) == []  # a dictionary that grows would end the page with an error here
    assert (reading, job.found) == ({0: 0}, {0: 0, 1: 1})


def test_a_halted_job_ends_what_it_has_begun_and_begins_no_more(pool: ThreadPoolExecutor) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def slow() -> int:
        has_begun.set()
        assert may_end.wait(60)
        return 0

    job = Job({0: slow, 1: lambda: 1}, pool, head_start_s=0)
    assert has_begun.wait(60)
    assert not job.is_done
    job.halt()
    assert job.is_done
    ended = job.ended_s
    may_end.set()
    pool.shutdown()
    assert job.found == {0: 0}
    assert not job.is_complete
    assert job.ended_s == ended


@pytest.mark.parametrize("error", [ScenarioError("too small"), ZeroDivisionError("by zero")])
def test_what_goes_wrong_is_said_and_the_rest_is_found(pool: ThreadPoolExecutor, error: Exception) -> None:
    def fail() -> int:
        raise error

    job = waited(Job({0: fail, 1: lambda: 1}, pool, head_start_s=0))
    assert job.found == {1: 1}
    assert str(error) in job.problem
    assert not job.is_complete


def test_a_load_curve_finds_its_loads_and_then_every_point(pool: ThreadPoolExecutor) -> None:
    scenario = with_values(preset("chat"), {"workload.num_requests": 300})
    job = waited(LoadJob(without_load(scenario), None, pool))
    assert job.problem == ""
    assert job.points == load_points(scenario)
    assert [point.load for point in job.points] == list(job.loads)


def test_a_page_runs_again_when_all_is_done_and_else_not_too_soon(pool: ThreadPoolExecutor) -> None:
    may_end = threading.Event()
    done, going = waited(Job({0: lambda: 0}, pool, head_start_s=0)), Job({0: lambda: int(may_end.wait(60))}, pool)

    def page_run(at_s: float, *jobs: Job[int, int]) -> Watched:
        return Watched(Asked("chat", None, "", None, False, (), "", at_s), list(jobs))

    now_s = time.monotonic()
    assert not page_run(now_s + 1000, done, going).is_run_due()
    assert page_run(now_s + 1000, done).is_run_due()
    assert page_run(now_s - APART_S, done, going).is_run_due()
    may_end.set()
    assert page_run(now_s + 1000, done, waited(going)).is_run_due()


def test_a_page_waits_for_a_job_that_is_about_to_end_but_not_for_ever(pool: ThreadPoolExecutor) -> None:
    may_end = threading.Event()
    job = Job({0: lambda: 0, 1: lambda: int(may_end.wait(60))}, pool, head_start_s=0)
    assert job.left_s == float("inf") or job.found
    while not job.found:
        time.sleep(0.005)
    asked = Asked("chat", None, "", None, False, (), "", time.monotonic() - APART_S)
    begun_s = time.monotonic()
    while not Watched(asked, [job]).is_run_due():  # the second task takes longer than the first by now
        assert time.monotonic() < begun_s + 60
        time.sleep(0.005)
    assert time.monotonic() - begun_s > 0.8 * SOON_S
    may_end.set()
    assert waited(job).left_s == 0


def test_a_job_begins_nothing_while_a_page_is_being_made(pool: ThreadPoolExecutor) -> None:
    with page_first():
        held = Job({1: lambda: 1}, pool, head_start_s=0)
        time.sleep(0.1)
        assert held.found == {}
    assert waited(held).found == {1: 1}


def test_a_page_that_waits_for_a_job_does_not_hold_it_up(
    pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.pool.PATIENCE_S", 60.0)
    with page_first():
        job = Job({1: lambda: 1}, pool, head_start_s=0)
        with page_waits():
            assert job.wait(60.0)
        assert job.found == {1: 1}
        held = Job({2: lambda: 2}, pool, head_start_s=0)
        assert not held.wait(0.05)
        assert held.found == {}
    assert held.wait(60.0)


def test_waiting_ends_with_patience_with_a_refusal_and_with_a_stop(pool: ThreadPoolExecutor) -> None:
    may_end = threading.Event()

    def refuse() -> int:
        raise ScenarioError("too small")

    refused = Job({0: refuse}, pool, head_start_s=0)
    assert not refused.wait(60.0)
    assert refused.problem == "too small"
    going = Job({0: lambda: int(may_end.wait(60))}, pool, head_start_s=0)
    assert not going.wait(0.01)
    threading.Timer(0.05, going.halt).start()
    assert not going.wait(60.0)
    assert going.is_done
    may_end.set()


def test_a_job_does_not_wait_for_pages_for_ever(pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.pool.PATIENCE_S", 0.05)
    with page_first():
        assert waited(Job({1: lambda: 1}, pool, head_start_s=0)).found == {1: 1}


def test_a_page_that_breaks_off_holds_up_nobody(pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.pool.PATIENCE_S", 60.0)
    with pytest.raises(KeyError), page_first():
        raise KeyError
    assert waited(Job({1: lambda: 1}, pool, head_start_s=0)).found == {1: 1}


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a priority of their own on Linux only")
@pytest.mark.parametrize("niceness", [0, 10, 19])
def test_work_beside_the_pages_has_a_lower_priority_than_they(niceness: int) -> None:
    """Also under `nice`, where nobody but root may go back to a higher one."""
    priorities = """
import os, threading
from ui.pool import shared_pool
def priority():
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
with shared_pool("test", max_workers=1) as threads:
    print(priority(), threads.submit(priority).result())
"""
    command = ["nice", "-n", str(niceness), sys.executable, "-c", priorities]
    pages, beside = map(int, subprocess.run(command, cwd=PAGES, capture_output=True, check=True).stdout.split())
    assert beside == min(pages + NICENESS, 19)


def test_a_long_job_tells_how_far_all_of_it_is_and_breaks_off_when_it_is_stopped(pool: ThreadPoolExecutor) -> None:
    has_told, may_go_on = threading.Event(), threading.Event()

    def half_way(progress: Progress) -> int:
        progress(0.5)
        has_told.set()
        assert may_go_on.wait(60)
        progress(0.75)
        return 1

    job = LongJob({0: lambda progress: 0, 1: half_way, 2: lambda progress: 2}, pool)
    assert has_told.wait(60)
    assert job.done == pytest.approx((1 + 0.5 + 0) / 3)
    job.halt()
    may_go_on.set()
    pool.shutdown()
    assert job.found == {0: 0}
    assert job.problem == ""
    assert not job.is_complete


def asked_for() -> None:
    """A page that starts a job for the rate, the title and the rows of a trace in its session."""
    import streamlit as st
    from ui.job import Job, kept, start

    from sim.presets import preset
    from sim.scenario import with_values
    from sim.workload import read_trace

    @kept()
    def job(scenario: object, trace: object) -> Job[int, int]:
        return start({0: lambda: 0})

    rate, title, rows = st.session_state.asked
    scenario = with_values(preset("chat"), {"workload.arrivals.rate_rps": rate, "about.title": title})
    trace = read_trace(b"prompt_tokens,output_tokens\n" + b"8,8\n" * rows, "rows.csv") if rows else None
    st.session_state.found = job(scenario, trace)


def test_a_job_is_found_again_by_what_makes_a_difference_and_stopped_by_the_next() -> None:
    app = AppTest.from_function(asked_for)
    found = []
    for asked in ((1.0, "a", 0), (1.0, "b", 0), (2.0, "b", 0), (2.0, "b", 3), (2.0, "b", 3), (2.0, "b", 4)):
        app.session_state.asked = asked
        app.run()
        assert not app.exception
        found.append(app.session_state.found)
    assert found[0] is found[1]  # another title is no other run
    assert found[3] is found[4]
    different = [found[i] for i in (0, 2, 3, 5)]
    assert len({id(job) for job in different}) == 4
    assert [job.stop.is_set() for job in different] == [True, True, True, False]
