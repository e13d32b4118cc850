"""Sentences of random words."""

from __future__ import annotations

import numpy as np

WORDS = ["cat", "dog", "house", "tree", "river", "stone", "cloud", "road", "train", "bridge"]


def sentences(n: int, seed: int = 0, length: int = 6) -> list[str]:
    """Return n texts of this number of words."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, length)) for _ in range(n)]
