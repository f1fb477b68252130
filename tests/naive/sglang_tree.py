"""The naive SGLang's prefix tree: nodes with texts, locks and the time of the last touch.

Source: README of the SGLang goldens, findings 17 to 21.
"""

from dataclasses import dataclass, field
from itertools import count

Text = list[int]


@dataclass(eq=False)
class Node:
    """A stretch of text, whole pages long, with KV."""

    key: Text
    parent: "Node | None"
    touched: int
    locks: int = 0
    children: "dict[tuple[int, ...], Node]" = field(default_factory=dict)  # by first page


class Tree:
    """All cached texts; common beginnings are stored once."""

    def __init__(self, page_size: int) -> None:
        self.page_size = page_size
        self.clock = count()
        self.root = Node([], None, next(self.clock))
        self.evictable = 0  # tokens that nothing locks

    def match(self, text: Text) -> tuple[int, Node]:
        """Longest cached beginning of a text, in whole pages: its length and last node. Touches the path."""
        matched, path = self._walk(text)
        for node in path:
            node.touched = next(self.clock)
        return matched, path[-1]

    def insert(self, text: Text) -> tuple[int, Node]:
        """Cache the whole pages of a text; what of it was there already, and the last node. Touches the path."""
        text = text[: len(text) // self.page_size * self.page_size]
        matched, last = self.match(text)
        if matched < len(text):
            leaf = Node(text[matched:], last, next(self.clock))
            last.children[self._page(leaf.key)] = leaf
            self.evictable += len(leaf.key)
            last = leaf
        return matched, last

    def lock(self, node: Node) -> None:
        """Nothing from here to the root may be evicted."""
        for each in self._path_to_root(node):
            self.evictable -= len(each.key) if each.locks == 0 else 0
            each.locks += 1

    def unlock(self, node: Node) -> None:
        """Take back one lock."""
        for each in self._path_to_root(node):
            each.locks -= 1
            self.evictable += len(each.key) if each.locks == 0 else 0

    def evict(self, tokens: int) -> int:
        """Drop whole leaves, least recently touched first, until so many tokens are free; how many are."""
        freed = 0
        while freed < tokens:
            leaves = [node for node in self._nodes() if not node.children and node.locks == 0]
            if not leaves:
                break
            leaf = min(leaves, key=lambda node: node.touched)
            assert leaf.parent is not None
            del leaf.parent.children[self._page(leaf.key)]
            freed += len(leaf.key)
        self.evictable -= freed
        return freed

    def _walk(self, text: Text) -> tuple[int, list[Node]]:
        """The path of the longest match, root included; a node in which it ends is split there."""
        matched, path = 0, [self.root]
        while True:
            child = path[-1].children.get(self._page(text[matched : matched + self.page_size]))
            if child is None:
                return matched, path
            common = self._common_pages(child.key, text[matched : matched + len(child.key)])
            if common < len(child.key):
                child = self._split(child, common)
            matched += common
            path.append(child)

    def _common_pages(self, key: Text, text: Text) -> int:
        """Length of the longest common beginning in whole pages."""
        if key == text:
            return len(key)
        differ = next((i for i, (a, b) in enumerate(zip(key, text, strict=False)) if a != b), min(len(key), len(text)))
        return differ // self.page_size * self.page_size

    def _split(self, node: Node, length: int) -> Node:
        """Cut a node in two; the head."""
        assert node.parent is not None
        head = Node(node.key[:length], node.parent, next(self.clock), node.locks)
        node.parent.children[self._page(head.key)] = head
        node.key, node.parent = node.key[length:], head
        head.children[self._page(node.key)] = node
        node.touched = next(self.clock)
        return head

    def _page(self, text: Text) -> tuple[int, ...]:
        return tuple(text[: self.page_size])

    def _path_to_root(self, node: Node) -> list[Node]:
        path = []
        while node.parent is not None:
            path.append(node)
            node = node.parent
        return path

    def _nodes(self) -> list[Node]:
        found, to_visit = [], list(self.root.children.values())
        while to_visit:
            node = to_visit.pop()
            found.append(node)
            to_visit += node.children.values()
        return found
