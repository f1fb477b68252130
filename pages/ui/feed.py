"""What a job has found, straight to the browser: the page does not run again for it.

A run of the page costs the browser more than any chart. So a component gets the address of a feed along with its
first picture and asks there for the rest.
"""

import asyncio
import json
import secrets
import time
from typing import Any, Protocol, runtime_checkable
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

PATH = "/feed/{token}"  # served by app.py
FORGOTTEN = 204  # the next run of the page has a feed of its own: no error, and none in the browser's console
LOOK_EVERY_S = 0.02
GATHER_S = 0.15  # what comes within this time travels together, where somebody moves a knob
PATIENCE_S = 20.0  # then the answer is that there is nothing new: proxies cut connections that stay silent


class Feed(Protocol):
    """Something that grows until it is done."""

    @property
    def version(self) -> int:
        """Larger whenever there is more; 0 before anything is there."""

    @property
    def is_done(self) -> bool:
        """Whether nothing more will come."""

    @property
    def gather_s(self) -> float:
        """How long to wait for more that may travel with it: each answer is drawn anew."""

    def answer(self) -> dict[str, Any]:
        """All that is there, for the browser; called in a thread of its own."""


@runtime_checkable
class Desk(Protocol):
    """Something that starts a feed for those who ask for it."""

    def feed_of(self, name: str, seen: int) -> Feed | None:
        """The feed of that name, with answers for a browser that has seen that version."""


_feeds: WeakValueDictionary[str, Feed | Desk] = WeakValueDictionary()


def publish(feed: Feed | Desk) -> str:
    """Address of a feed, which only those who were told can guess; it answers as long as somebody keeps the feed."""
    token = secrets.token_urlsafe(16)
    _feeds[token] = feed
    return PATH.format(token=token)


async def serve(request: Request) -> Response:
    """Answer as soon as there is more than the browser has seen."""
    after = request.query_params.get("after", "")
    seen = int(after) if after.isdecimal() else 0
    found = _feeds.get(request.path_params["token"])
    feed = found.feed_of(request.query_params.get("of", ""), seen) if isinstance(found, Desk) else found
    if feed is None:
        return Response(status_code=FORGOTTEN)
    began = time.monotonic()
    while not _is_worth_an_answer(feed, seen, time.monotonic() - began):
        await asyncio.sleep(LOOK_EVERY_S)
    is_done, version = feed.is_done, feed.version  # before the answer is made: what comes meanwhile is told next time
    body = {"version": version, "is_done": is_done}
    if version != seen:
        body |= await run_in_threadpool(feed.answer)
    return Response(json.dumps(body), media_type="application/json", headers={"Cache-Control": "no-store"})


def _is_worth_an_answer(feed: Feed, seen: int, waited_s: float) -> bool:
    return feed.is_done or waited_s > PATIENCE_S or (feed.version != seen and waited_s > feed.gather_s)
