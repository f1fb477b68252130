"""KV blocks of the naive vLLM: one free queue, reference counts, keys that are whole texts.

Source: golden README, sections 3.B, 3.C and 4.
"""

from collections.abc import Iterator

from sim.engine.inputs import Rules
from tests.naive.state import Member

Key = int  # number of a text that ends with a full block


class Blocks:
    """The pool. Blocks are 1, 2, 3, ...; block 0 is vLLM's null block and never handed out."""

    def __init__(self, rules: Rules) -> None:
        self.size = rules.block_size
        self.caching = bool(rules.prefix_caching)
        self.all_to_back = bool(rules.free_to_back)
        self.free = list(range(1, rules.usable_blocks + 1))  # front is taken first
        self.references = [0] * (rules.usable_blocks + 1)
        self.key_of: dict[int, Key] = {}
        self.owners: dict[Key, list[int]] = {}  # oldest registration first
        self._names: dict[tuple[Key, tuple[int, ...]], Key] = {}  # (key of the text before, tokens) -> key

    def needed(self, tokens: int) -> int:
        """Blocks that so many tokens fill or begin."""
        return -(-tokens // self.size)

    def lookup(self, member: Member) -> list[int]:
        """Longest run of keyed blocks from the start of the member's text; never its last token."""
        hits: list[int] = []
        if not self.caching:
            return hits
        for key in self._keys(member, (member.known - 1) // self.size):
            if key not in self.owners:
                break
            hits.append(self.owners[key][0])
        return hits

    def num_idle(self, blocks: list[int]) -> int:
        """How many of these nobody holds."""
        return sum(self.references[block] == 0 for block in blocks)

    def share(self, member: Member, hits: list[int]) -> None:
        """Give the member blocks found by `lookup`."""
        for block in hits:
            if self.references[block] == 0:
                self.free.remove(block)
            self.references[block] += 1
        member.blocks += hits

    def grow(self, member: Member, tokens: int) -> bool:
        """Let the member hold `tokens` tokens; takes all missing blocks or none."""
        missing = self.needed(tokens) - len(member.blocks)
        if missing > len(self.free):
            return False
        for _ in range(missing):
            block = self.free.pop(0)
            self._forget(block)
            self.references[block] = 1
            member.blocks.append(block)
        self.register(member, min(tokens, member.known))
        return True

    def register(self, member: Member, tokens: int) -> None:
        """Set the keys of all blocks that the first `tokens` tokens fill."""
        num_full = tokens // self.size
        if not self.caching or num_full == 0 or member.blocks[num_full - 1] in self.key_of:
            return  # keys are set from the start of the text on, so the blocks before it have theirs
        for block, key in zip(member.blocks, self._keys(member, num_full), strict=False):
            if block not in self.key_of:
                self.key_of[block] = key
                self.owners.setdefault(key, []).append(block)

    def release(self, member: Member) -> None:
        """Drop the member's references, tail to head. Keyless blocks go to the front, keyed ones to the back."""
        front: list[int] = []
        back: list[int] = []
        for block in reversed(member.blocks):
            self.references[block] -= 1
            if self.references[block] == 0:
                to_back = self.all_to_back or block in self.key_of
                (back if to_back else front).append(block)
        self.free = front + self.free + back
        member.blocks = []

    def _keys(self, member: Member, num_blocks: int) -> Iterator[Key]:
        key = 0
        for j in range(num_blocks):
            text = (key, member.tokens(j * self.size, (j + 1) * self.size))
            key = self._names.setdefault(text, len(self._names) + 1)
            yield key

    def _forget(self, block: int) -> None:
        key = self.key_of.pop(block, None)
        if key is None:
            return
        self.owners[key].remove(block)
        if not self.owners[key]:
            del self.owners[key]
