"""The one door to randomness: nothing else in SanQL may draw a random bit.

A guarantee is only as good as the coins behind it, so there is a single source, the operating
system's, with no seed, no buffer and no generator state of our own. Nothing is kept between calls:
a forked or restored process cannot repeat bytes that another one has used.
"""

from __future__ import annotations

import builtins
import os
from typing import Protocol


class Entropy(Protocol):
    """A source of independent uniform bytes."""

    def bytes(self, count: int) -> builtins.bytes:
        """Return `count` fresh bytes."""
        ...


class OsEntropy:
    """The operating system's cryptographic generator."""

    def bytes(self, count: int) -> builtins.bytes:
        """Return `count` bytes that no other call has seen."""
        return os.urandom(count)
