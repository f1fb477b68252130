"""The naive SGLang's KV memory: free tokens, the prefix tree, and what requests hold beside it.

A request's KV is its path in the tree and a tail of its own. Pages are handed out whole. Source: README of the
SGLang goldens, findings 14 and 16 to 20.
"""

from tests.naive.sglang_state import Member
from tests.naive.sglang_tree import Node, Tree


class OutOfMemoryError(Exception):
    """SGLang ends here: a prefill that had been decided on cannot be allocated."""


class Memory:
    """The pool of one server."""

    def __init__(self, pool_tokens: int, page_size: int, radix_cache: bool) -> None:
        self.page_size = page_size
        self.radix_cache = radix_cache
        self.free = pool_tokens // page_size * page_size
        self.tree = Tree(page_size)

    def pages(self, tokens: int) -> int:
        """The tokens of all pages that so many tokens begin."""
        return -(-tokens // self.page_size) * self.page_size

    def free_or_evictable(self) -> int:
        return self.free + self.tree.evictable

    def evict_for(self, tokens: int) -> bool:
        """Evict until so many tokens are free; whether they are."""
        self.free += self.tree.evict(tokens - self.free)
        return self.free >= tokens

    def match(self, member: Member, tokens: int) -> tuple[int, Node]:
        """How much of a request's first tokens is cached, and where it ends in the tree."""
        return self.tree.match(member.text[:tokens]) if self.radix_cache else (0, self.tree.root)

    def touch(self, member: Member) -> None:
        """Make what is cached of a waiting request recently used."""
        self.match(member, member.known)

    def extend(self, batch: list[Member]) -> None:
        """Allocate a prefill batch."""
        news = sum(member.extend_end - member.prefix for member in batch)
        overestimate = 0 if self.page_size == 1 else len(batch) * self.page_size
        self.evict_for(news + overestimate)
        for member in batch:
            self._take(self.pages(member.extend_end) - self.pages(member.prefix))
            member.committed = member.extend_end

    def decode_fits(self, batch: list[Member]) -> bool:
        """Whether every request of the batch can get one more token; evicts what that takes."""
        full_pages = sum(member.committed % self.page_size == 0 for member in batch)
        return self.evict_for(full_pages * self.page_size)

    def decode(self, batch: list[Member]) -> None:
        """Allocate one token each."""
        self.evict_for(len(batch) * self.page_size)
        for member in batch:
            self._take(self.pages(member.committed + 1) - self.pages(member.committed))
            member.committed += 1

    def cache(self, member: Member, tokens: int) -> None:
        """Give the tree a request's first tokens; the lock moves to their end. KV the tree had already is freed."""
        text = member.text[: min(tokens, member.filled)]
        if not self.radix_cache or not text:
            return
        matched, last = self.tree.insert(text)
        prompt = member.text[: member.prompt][: len(text)]
        if len(prompt) // self.page_size < len(text) // self.page_size:
            self.tree.insert(prompt)  # so that the answer can be evicted without the prompt
        self.free += matched - member.protected
        member.protected = len(text) // self.page_size * self.page_size
        self.move_lock(member, last)

    def release(self, member: Member, caching: bool) -> None:
        """Take back all KV of a request that finished or was retracted."""
        if caching:
            member.filled = member.known
            self.cache(member, min(member.committed, member.known))
        self.free += self.pages(member.committed) - member.protected
        self.move_lock(member, self.tree.root)
        member.prefix = member.extend_end = member.committed = member.protected = 0

    def move_lock(self, member: Member, node: Node) -> None:
        """Lock the path to a node instead of the request's path so far."""
        if member.lock is not None:
            self.tree.unlock(member.lock)
        self.tree.lock(node)
        member.lock = node

    def _take(self, tokens: int) -> None:
        if tokens > self.free:
            raise OutOfMemoryError
        self.free -= tokens
