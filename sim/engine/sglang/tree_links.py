"""The hash chains that lead from a node and the key of a page to the child that begins with it."""

from sim.engine.kernel import kernel
from sim.engine.prefix_cache import LOW_BITS
from sim.engine.sglang.state import KEY, NEXT, PARENT


@kernel
def chain_of(parent, key, heads):
    """Hash chain of a child: the upper bits of a product, as keys of neighbouring requests differ in few bits."""
    return ((key & LOW_BITS) * 1_103_515_245 + parent * 1_664_525_007 >> 24) & (len(heads) - 1)


@kernel
def link(node, nodes, heads):
    """The node can be found by its parent and key."""
    chain = chain_of(nodes[node, PARENT], nodes[node, KEY], heads)
    nodes[node, NEXT] = heads[chain]
    heads[chain] = node


@kernel
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
