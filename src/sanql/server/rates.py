"""How often something may be done: so many at once, and so many a second after that."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_KEYS_MAX = 20_000


class RateLimit:
    """A bucket for each key that fills at a rate; those not used for longest are forgotten first.

    Whoever is forgotten has a full bucket again, so a limit that must not be got round by using many
    keys needs a key that one cannot choose, such as a person or an address.
    """

    def __init__(
        self, per_second: float, at_once: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._at_once = max(1.0, at_once)
        self._clock = clock
        self._mutex = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def left(self, key: str) -> float:
        """Return how often it may be done now."""
        with self._mutex:
            return self._filled(key)

    def take(self, key: str) -> float:
        """Do it once; return 0, or how many seconds to wait where it may not be done yet."""
        with self._mutex:
            filled = self._filled(key)
            if filled < 1:
                return (1 - filled) / self._per_second
            self._buckets[key] = filled - 1, self._clock()
            self._buckets.move_to_end(key)
            while len(self._buckets) > _KEYS_MAX:
                self._buckets.popitem(last=False)
            return 0.0

    def _filled(self, key: str) -> float:
        filled, since = self._buckets.get(key, (self._at_once, self._clock()))
        return min(self._at_once, filled + (self._clock() - since) * self._per_second)
