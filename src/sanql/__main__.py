"""`python -m sanql` is the command `sanql`."""

import signal
from types import FrameType

from sanql.cli.main import main
from sanql.interrupts import Terminated
from sanql.kernel import hide_modules


def run() -> None:
    """Run the command; it shows no data frames, so it need not wait for pandas."""
    hide_modules("pandas")
    signal.signal(signal.SIGTERM, _end)
    try:
        main(prog_name="sanql")
    finally:  # what was to be said is said: Ctrl-C while the interpreter ends changes no exit code
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(number: int, _: FrameType | None) -> None:
    """Leave as after Ctrl-C, so that what is reserved is not left open."""
    raise Terminated(128 + number)


if __name__ == "__main__":
    run()
