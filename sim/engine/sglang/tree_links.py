"""The hash chains that lead from a node and the key of a page to the child that begins with it."""

from numba import njit

from sim.engine.jit import JIT
from sim.engine.sglang.state import KEY, NEXT, PARENT


@njit(**JIT)
def chain_of(parent, key, heads):
    """Hash chain of a child."""
    return (key ^ (key >> 31) ^ (parent * 40_503)) & (len(heads) - 1)


@njit(**JIT)
def link(node, nodes, heads):
    """The node can be found by its parent and key."""
    chain = chain_of(nodes[node, PARENT], nodes[node, KEY], heads)
    nodes[node, NEXT] = heads[chain]
    heads[chain] = node


@njit(**JIT)
def unlink(node, nodes, heads):
    """It can no more."""
    chain = chain_of(nodes[node, PARENT], nodes[node, KEY], heads)
    if heads[chain] == node:
        heads[chain] = nodes[node, NEXT]
        return
    before = heads[chain]
    while nodes[before, NEXT] != node:
        before = nodes[before, NEXT]
    nodes[before, NEXT] = nodes[node, NEXT]
