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
    main(prog_name="sanql")


def _end(number: int, _: FrameType | None) -> None:
    """Leave as after Ctrl-C, so that what is reserved is not left open."""
    raise Terminated(128 + number)


if __name__ == "__main__":
    run()
