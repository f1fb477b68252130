"""Feeds: what the browser is told, and when."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.requests import Request
from ui import feed


class Growing:
    """A feed of as many things as a test puts in."""

    gather_s = 0.01

    def __init__(self, things: list[int], *, is_done: bool = False, seen: int = 0) -> None:
        self.things, self.is_done, self.seen = things, is_done, seen

    @property
    def version(self) -> int:
        return len(self.things)

    def answer(self) -> dict[str, Any]:
        return {"new": self.things[self.seen :]}


class Desk:
    def feed_of(self, name: str, seen: int) -> Growing | None:
        return Growing([7, 8], is_done=True, seen=seen) if name == "rate" else None


def ask(address: str, query: str = "") -> tuple[int, Any]:
    scope = {"type": "http", "path_params": {"token": address.rpartition("/")[2]}, "query_string": query.encode()}
    with ThreadPoolExecutor(1) as thread:  # the main thread has a loop of its own once a browser test has run
        response = thread.submit(asyncio.run, feed.serve(Request(scope))).result()
    return response.status_code, json.loads(response.body or "null")


def test_the_browser_is_told_when_there_is_more_than_it_has_seen():
    growing = Growing([1, 2, 3])
    assert ask(feed.publish(growing), "after=2") == (200, {"version": 3, "is_done": False, "new": [1, 2, 3]})


def test_what_comes_soon_travels_together():
    growing = Growing([1])
    growing.gather_s = 0.5
    timer = threading.Timer(0.1, growing.things.append, [2])
    timer.start()
    assert ask(feed.publish(growing)) == (200, {"version": 2, "is_done": False, "new": [1, 2]})


def test_a_feed_that_is_done_answers_at_once():
    growing = Growing([1], is_done=True)
    assert ask(feed.publish(growing), "after=1") == (200, {"version": 1, "is_done": True})


def test_a_feed_with_nothing_new_says_so_after_a_while(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(feed, "PATIENCE_S", 0.05)
    growing = Growing([1])
    assert ask(feed.publish(growing), "after=1") == (200, {"version": 1, "is_done": False})


def test_a_feed_that_nobody_keeps_is_gone_without_an_error_in_the_console():
    address = feed.publish(Growing([]))
    assert ask(address) == (204, None)
    assert ask("/feed/guessed") == (204, None)


def test_a_desk_gives_the_feed_that_is_asked_for():
    desk = Desk()
    address = feed.publish(desk)
    assert ask(address, "of=rate&after=1") == (200, {"version": 2, "is_done": True, "new": [8]})
    assert ask(address, "of=model") == (204, None)


def test_a_version_that_is_no_number_counts_as_nothing_seen():
    growing = Growing([1], is_done=True)
    assert ask(feed.publish(growing), "after=x")[1]["new"] == [1]
