"""Random numbers that belong to a request and a purpose, whatever else is changed in a scenario."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Purpose(IntEnum):
    """What a random number decides. The numbers are part of every result: append, never renumber."""

    GAP = 0
    PROMPT_LEN = 1
    OUTPUT_LEN = 2
    TASK_TYPE = 3
    PREFIX = 4
    THINK_TIME = 5
    PREDICTION = 6
    OTHER_ANSWER = 7
    DRIFT = 8
    LOOK = 9


@dataclass(frozen=True)
class RandomNumbers:
    """All random numbers of one replication of one seed.

    Request `i` finds its number for a purpose at index `i`. It depends on seed, replication, purpose and `i`
    only, so a change of rate, lengths, mix or number of requests compares the same customers (common random
    numbers).
    """

    seed: int
    replication: int = 0

    def uniforms(self, purpose: Purpose, n: int) -> Floats:
        """The first `n` numbers of a purpose; a longer draw begins with the same ones.

        Returns
        -------
        (n,) float64
            Uniform, strictly between 0 and 1, so that no inverse CDF meets an infinite quantile.
        """
        words = self._words(purpose, n)
        # 52 bits and a half fit a float64 exactly; 53 bits and a half could round up to 1.
        numbers = (words >> np.uint64(12)).astype(np.float64)
        numbers += 0.5
        numbers *= 2.0**-52
        return numbers

    def word(self, purpose: Purpose) -> int:
        """A whole number from 0 to 2^63 - 1: the key of a purpose whose numbers the engine makes itself."""
        return int(self._words(purpose, 1)[0] >> np.uint64(1))

    def _words(self, purpose: Purpose, n: int) -> NDArray[np.uint64]:
        key = np.array([self.seed, self.replication << 32 | purpose], dtype=np.uint64)
        # Raw words, because NumPy promises their values for ever and those of Generator.random() only for now.
        words: NDArray[np.uint64] = np.random.Philox(key=key).random_raw(n)
        return words
