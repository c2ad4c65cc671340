"""Time in steps: how long rows took to be read shows only in hundredths of a second.

That is so of one's own rows and of those that others read meanwhile: whoever waits for an engine that
is busy with them comes out at a step as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

STEP_SECONDS = 0.01


@contextmanager
def time_in_steps() -> Iterator[None]:
    """Leave the block, however it ends, after a whole number of steps."""
    started = time.monotonic()
    try:
        yield
    finally:
        time.sleep((started - time.monotonic()) % STEP_SECONDS)
