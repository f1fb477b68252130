"""Which leaf of the prefix tree goes first: a heap of the leaves that nothing locks, by the time of the last touch.

An entry may be out of date, never too late: when it comes up, a leaf touched since goes back with its new time, and
what is no free leaf any more is left out. Source: README of the SGLang goldens, finding 20.
"""

from sim.engine.kernel import kernel
from sim.engine.sglang.state import (
    CHILDREN,
    EVICTABLE,
    FREE_NODE,
    HEAP_SIZE,
    IN_HEAP,
    LENGTH,
    LOCKS,
    NEXT,
    NUM_FREE_NODES,
    PARENT,
    POOL_FREE,
    ROOT,
    TOUCHED,
)
from sim.engine.sglang.tree_links import unlink
from sim.engine.waiting import heap_pop, heap_push


@kernel
def note_leaf(node, nodes, heap, count):
    """The node has become a leaf that nothing locks."""
    if not nodes[node, IN_HEAP]:
        heap_push(heap, count[HEAP_SIZE], float(nodes[node, TOUCHED]), node)
        count[HEAP_SIZE] += 1
        nodes[node, IN_HEAP] = 1


@kernel
def evict_for(tokens, nodes, heads, heap, count):
    """Drop whole leaves, least recently touched first, until so many tokens are free; whether they are."""
    while count[POOL_FREE] < tokens and count[HEAP_SIZE] > 0:
        touched = heap[0, 0]
        node = heap_pop(heap, count[HEAP_SIZE])
        count[HEAP_SIZE] -= 1
        nodes[node, IN_HEAP] = 0
        if nodes[node, LENGTH] == 0 or nodes[node, LOCKS] > 0 or nodes[node, CHILDREN] > 0:
            continue
        if nodes[node, TOUCHED] > touched:
            note_leaf(node, nodes, heap, count)
            continue
        drop_leaf(node, nodes, heads, heap, count)
    return count[POOL_FREE] >= tokens


@kernel
def drop_leaf(node, nodes, heads, heap, count):
    """Give the leaf's pages back; its parent may be the next to go."""
    unlink(node, nodes, heads)
    parent = nodes[node, PARENT]
    count[EVICTABLE] -= nodes[node, LENGTH]
    count[POOL_FREE] += nodes[node, LENGTH]
    nodes[node, LENGTH] = 0
    nodes[node, NEXT] = count[FREE_NODE]
    count[FREE_NODE] = node
    count[NUM_FREE_NODES] += 1
    nodes[parent, CHILDREN] -= 1
    if parent != ROOT and nodes[parent, CHILDREN] == 0 and nodes[parent, LOCKS] == 0:
        note_leaf(parent, nodes, heap, count)
