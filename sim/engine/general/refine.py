"""Predictions told anew while a request is served: a Bayes filter over classes of what is left to generate.

Each token moves one class down with probability 1 / width. Each look at the request names a class, rightly or not, and
the filter weighs its belief by how often every class is taken for that one. Nothing but the looks knows the truth.

Source: schedulers.md, section 4 (`trail`, `elis`).
"""

import numpy as np

from sim.engine.kernel import kernel, part

FADED = 1e-30  # belief below this counts as none; products of it would be slow and tell nothing

# SplitMix64: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014.
WEYL = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


@part
def random_53(key, i, number):
    """Random whole number below 2^53 that belongs to a request and the number of its look."""
    # Number `number` of request i's own stretch of the sequence that starts at `key`.
    z = np.uint64(key) + WEYL * ((np.uint64(i) << np.uint64(32)) + np.uint64(number))
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(11))


@part
def look(i, number, remaining, key, width, scale, thresholds):
    """Class that a look at the request names, while `remaining` tokens are still to come."""
    last = thresholds.shape[0] - 1
    true_class = min(int(max(remaining * scale - 0.5, 0.0) // width), last)
    word = random_53(key, i, number)
    seen = 0
    while seen < last and word >= thresholds[true_class, seen]:
        seen += 1
    return seen


@part
def age(i, tokens, width, posterior):
    """Move the belief about request `i` on by so many generated tokens."""
    last = posterior.shape[1] - 1
    move = 1.0 / width
    for _ in range(tokens):
        posterior[i, 0] += posterior[i, 1] * move
        for c in range(1, last):
            posterior[i, c] = posterior[i, c] * (1.0 - move) + posterior[i, c + 1] * move
        posterior[i, last] *= 1.0 - move


@part
def weigh(i, seen, likelihood, posterior):
    """Bayes' rule: what a look that named class `seen` says of request `i`."""
    total = 0.0
    for c in range(posterior.shape[1]):
        posterior[i, c] *= likelihood[c, seen]
        total += posterior[i, c]
    for c in range(posterior.shape[1]):
        if total < FADED:  # the look contradicts all that was believed: it is all that is left to go by
            posterior[i, c] = likelihood[c, seen]
        else:
            posterior[i, c] = posterior[i, c] / total if posterior[i, c] > FADED * total else 0.0


@part
def expected_remaining(i, width, posterior):
    """Mean of the believed tokens still to come; each class counts as its middle."""
    total = 0.0
    weighted = 0.0
    for c in range(posterior.shape[1]):
        total += posterior[i, c]
        weighted += posterior[i, c] * (c * width + 0.5 * (width + 1))
    return weighted / total


@kernel
def refresh(i, generated, remaining, key, every, width, scale, thresholds, likelihood, posterior):
    """Tokens that request `i` is thought to need still, after one more look at it.

    Parameters
    ----------
    i : int
        Request, a row of `posterior`.
    generated : int
        Output tokens so far, a multiple of `every`; names the look.
    remaining : int
        Tokens that will really come, at least 1. Only the look depends on it.
    key, every, width, scale, thresholds, likelihood
        Of the `Refinement`.
    posterior : (n, k) float64
        Belief about each request; row `i` is moved on by `every` tokens and weighed by the look.

    Returns
    -------
    float
        Tokens.
    """
    age(i, every, width, posterior)
    weigh(i, look(i, generated // every, remaining, key, width, scale, thresholds), likelihood, posterior)
    return expected_remaining(i, width, posterior)
