"""Texts of random words."""

from __future__ import annotations

import numpy as np

WORDS = ["cat", "dog", "house", "tree", "river", "stone", "cloud", "road", "train", "bridge"]
TOPICS = ("matrix rank factor solve", "tree leaf root branch", "wave tone pitch filter")


def sentences(n: int, seed: int = 0, length: int = 6) -> list[str]:
    """Return n texts of this number of words."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, length)) for _ in range(n)]


def on_topics(n: int) -> tuple[list[str], np.ndarray]:
    """Return texts of the topics in turn, which share a third of their words, and the topics."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % len(TOPICS)
    common = ["value", "given", "result", "returns"]
    texts = [" ".join([*rng.choice(TOPICS[code].split(), 8), *rng.choice(common, 4)]) for code in y]
    return texts, y
