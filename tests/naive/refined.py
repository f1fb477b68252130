"""A prediction told anew, in plain Python: random numbers by request and look, and a Bayes filter over classes.

Source: schedulers.md, section 4, `trail`; the sequence is SplitMix64.
"""

from sim.engine.inputs import Refinement

MASK = (1 << 64) - 1


def random_53(key: int, i: int, number: int) -> int:
    """Whole number below 2^53: number `number` of request i's stretch of the sequence that starts at `key`."""
    z = (key + 0x9E3779B97F4A7C15 * ((i << 32) + number)) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return (z ^ (z >> 31)) >> 11


def look_at(
    i: int, number: int, remaining: int, refinement: Refinement, belief: list[float]
) -> tuple[list[float], float]:
    """Belief about what is left after one more look, and its mean, each class counting as its middle."""
    width, last = refinement.width, len(belief) - 1
    move = 1.0 / width
    for _ in range(refinement.every):  # every token moves one class down with probability 1 / width
        aged = [belief[c] * (1.0 - move) + belief[c + 1] * move for c in range(last)]
        belief = [belief[0] + belief[1] * move, *aged[1:], belief[last] * (1.0 - move)]
    true_class = min(int(max(remaining * refinement.scale - 0.5, 0.0) // width), last)
    word, seen = random_53(refinement.key, i, number), 0
    while seen < last and word >= refinement.thresholds[true_class, seen]:
        seen += 1
    weighed = [share * float(refinement.likelihood[c, seen]) for c, share in enumerate(belief)]
    total = 0.0
    for share in weighed:
        total += share
    if total < 1e-30:  # the look contradicts all that was believed
        belief = [float(refinement.likelihood[c, seen]) for c in range(last + 1)]
    else:
        belief = [share / total if share > 1e-30 * total else 0.0 for share in weighed]
    mass, weight = 0.0, 0.0
    for c, share in enumerate(belief):
        mass += share
        weight += share * (c * width + 0.5 * (width + 1))
    return belief, weight / mass
