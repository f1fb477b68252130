"""SGLang's prefix tree: nodes of whole pages, found by their first page, locked by requests, touched by time.

A node's text is a stretch of some request's. Source: README of the SGLang goldens, findings 17 to 20.
"""

from sim.engine.kernel import kernel
from sim.engine.sglang.evict import note_leaf
from sim.engine.sglang.state import (
    CHILDREN,
    EVICTABLE,
    FREE_NODE,
    KEY,
    LENGTH,
    LOCKS,
    NEXT,
    NOTHING,
    NUM_FREE_NODES,
    OWNER,
    PARENT,
    ROOT,
    START,
    TOUCHED,
    TREE_CLOCK,
    TYPICAL_LOCKS,
)
from sim.engine.sglang.text import equal_until, text_key
from sim.engine.sglang.tree_links import chain_of, link, unlink
from sim.engine.state import KV_STRAGGLER, KV_TYPICAL


@kernel
def find_child(node, i, at, limit, texts, tree):
    """The child that a request's text goes on in, and how far they agree in whole pages; -1 without one."""
    nodes = tree.nodes
    page_size = texts.page_size
    key = text_key(i, at, at + page_size, texts.texts, texts.segments)
    child = tree.heads[chain_of(node, key, tree.heads)]
    while child >= 0:
        if nodes[child, PARENT] == node and nodes[child, KEY] == key:
            end = min(limit, at + nodes[child, LENGTH])
            reach = equal_until(i, nodes[child, OWNER], at, end, texts.texts, texts.segments)
            reach -= (reach - at) % page_size
            if reach > at:
                return child, reach
        child = nodes[child, NEXT]
    return child, at


@kernel
def match(i, tokens, texts, tree, count):
    """Longest cached beginning of a request's first tokens, in whole pages: its length and last node.

    Touches the path; a node in which it ends is split there.
    """
    nodes = tree.nodes
    count[TREE_CLOCK] += 1
    limit = tokens - tokens % texts.page_size
    node = ROOT
    at = NOTHING
    while at < limit:
        child, reach = find_child(node, i, at, limit, texts, tree)
        if child < 0:
            break
        is_whole = reach == nodes[child, START] + nodes[child, LENGTH]
        node = child if is_whole else split(child, reach - at, texts, tree, count)
        nodes[node, TOUCHED] = count[TREE_CLOCK]
        at = reach
        if not is_whole:
            break
    return at, node


@kernel
def insert(i, tokens, texts, tree, count):
    """Cache the whole pages of a request's first tokens; what of it was there already, and the last node."""
    nodes = tree.nodes
    matched, node = match(i, tokens, texts, tree, count)
    end = tokens - tokens % texts.page_size
    if matched == end:
        return matched, node
    leaf = new_node(nodes, count)
    nodes[leaf, PARENT] = node
    nodes[leaf, LENGTH] = end - matched
    nodes[leaf, OWNER] = i
    nodes[leaf, START] = matched
    nodes[leaf, LOCKS] = 0
    nodes[leaf, TYPICAL_LOCKS] = 0
    nodes[leaf, CHILDREN] = 0
    nodes[leaf, TOUCHED] = count[TREE_CLOCK]
    nodes[leaf, KEY] = text_key(i, matched, matched + texts.page_size, texts.texts, texts.segments)
    link(leaf, nodes, tree.heads)
    nodes[node, CHILDREN] += 1
    count[EVICTABLE] += end - matched
    return matched, leaf


@kernel
def peek(i, tokens, texts, tree):
    """Length of the longest cached beginning, and how much of it nothing locks; touches nothing."""
    limit = tokens - tokens % texts.page_size
    node = ROOT
    at = NOTHING
    idle = NOTHING
    while at < limit:
        child, reach = find_child(node, i, at, limit, texts, tree)
        if child < 0:
            break
        if tree.nodes[child, LOCKS] == 0:
            idle += reach - at
        node = child
        at = reach
    return at, idle


@kernel
def split(node, length, texts, tree, count):
    """Cut a node in two; the head, a new node. The tail keeps the old one."""
    nodes = tree.nodes
    unlink(node, nodes, tree.heads)
    head = new_node(nodes, count)
    for column in (PARENT, OWNER, START, LOCKS, TYPICAL_LOCKS, KEY):
        nodes[head, column] = nodes[node, column]
    nodes[head, LENGTH] = length
    nodes[head, CHILDREN] = 1
    nodes[node, PARENT] = head
    nodes[node, START] += length
    nodes[node, LENGTH] -= length
    nodes[node, TOUCHED] = count[TREE_CLOCK]
    count[TREE_CLOCK] += 1  # what follows, the tail's new sibling above all, is touched later
    start = nodes[node, START]
    nodes[node, KEY] = text_key(nodes[node, OWNER], start, start + texts.page_size, texts.texts, texts.segments)
    link(head, nodes, tree.heads)
    link(node, nodes, tree.heads)
    return head


@kernel
def new_node(nodes, count):
    """A row of the tree; the loop sees to it that there is one."""
    node = count[FREE_NODE]
    count[FREE_NODE] = nodes[node, NEXT]
    count[NUM_FREE_NODES] -= 1
    return node


@kernel
def lock(node, typical, nodes, count):
    """Nothing from here to the root may be evicted; a node counts for stragglers if only they lock it."""
    while node != ROOT:
        length = nodes[node, LENGTH]
        if nodes[node, LOCKS] == 0:
            count[EVICTABLE] -= length
            count[KV_TYPICAL if typical else KV_STRAGGLER] += length
        elif typical and nodes[node, TYPICAL_LOCKS] == 0:
            count[KV_STRAGGLER] -= length
            count[KV_TYPICAL] += length
        nodes[node, LOCKS] += 1
        nodes[node, TYPICAL_LOCKS] += typical
        node = nodes[node, PARENT]


@kernel
def unlock(node, typical, nodes, heap, count):
    """Take back one lock."""
    while node != ROOT:
        length = nodes[node, LENGTH]
        nodes[node, LOCKS] -= 1
        nodes[node, TYPICAL_LOCKS] -= typical
        if nodes[node, LOCKS] == 0:
            count[EVICTABLE] += length
            count[KV_TYPICAL if typical else KV_STRAGGLER] -= length
            if nodes[node, CHILDREN] == 0:
                note_leaf(node, nodes, heap, count)
        elif typical and nodes[node, TYPICAL_LOCKS] == 0:
            count[KV_TYPICAL] -= length
            count[KV_STRAGGLER] += length
        node = nodes[node, PARENT]
