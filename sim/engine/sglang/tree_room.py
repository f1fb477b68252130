"""Rows of the prefix tree: how many it can need, and more of them when the next iteration might."""

import numpy as np
from numba.extending import register_jitable

from sim.engine.sglang.inputs import SglangRules
from sim.engine.sglang.state import FREE_NODE, MOST_MATCHED, NEXT, NUM_FREE_NODES, NUM_NODE, SglangState


@register_jitable
def lacks_nodes(rules, seats, nodes, count):
    """Whether the next iteration might need more nodes than the tree has rows for; a page each is enough for ever."""
    if not rules.radix_cache or len(nodes) == most_nodes(rules):
        return False
    return count[NUM_FREE_NODES] < most_new_nodes(seats)


def with_more_nodes(rules: SglangRules, state: SglangState) -> SglangState:
    """The same state with twice the room in its tree, up to a node for each page of the pool."""
    rows = len(state.nodes)
    more = min(2 * rows, most_nodes(rules))
    nodes = np.zeros((more, NUM_NODE), np.int64)
    heap = np.zeros((more, 2))
    nodes[:rows], heap[:rows] = state.nodes, state.heap
    larger = state._replace(nodes=nodes, heap=heap)
    link_free_nodes(larger, rows)
    return larger


def link_free_nodes(state: SglangState, first: int) -> None:
    """Rows of the tree from `first` on join the list of free ones."""
    rows = len(state.nodes)
    state.nodes[first:, NEXT] = np.arange(first + 1, rows + 1)
    if first < rows:
        state.nodes[rows - 1, NEXT] = state.counts[FREE_NODE]
        state.counts[FREE_NODE] = first
        state.counts[NUM_FREE_NODES] += rows - first


@register_jitable
def most_nodes(rules):
    """Rows that the tree can ever need: the root, and a node for each page."""
    return rules.pool_tokens // rules.page_size + 2


@register_jitable
def most_new_nodes(seats):
    """Nodes that one iteration makes at most: a split for each match, and a leaf and two splits for each insertion."""
    return MOST_MATCHED + 8 * seats
