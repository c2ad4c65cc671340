"""How a question walks through the house: files entered, switches between packages, calls.

    python -m bench.flow            # prints the table that bench/FLOW.md keeps

One process asks the demo hospital, so that nothing but San's own Python is counted, and not what the
libraries and the workers do. A switch is a call from a function of one package (a folder of `sanql` or a
module beside them) into another; calls are those of functions, generators, comprehensions. Each question
is asked twice before, at other prices, so that nothing is counted that happens once.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType

QUESTIONS = (
    "SELECT COUNT(*) FROM people",
    "SELECT sex, AVG(age) AS age FROM people GROUP BY sex",
    "SELECT COUNT(*) FROM people WHERE age > 40",
    "SELECT kind, SUM(cost) FROM visits GROUP BY kind",
)


def main() -> None:
    """Print the walk of each question."""
    import sanql
    from sanql.demo import make_hospital

    package = Path(sanql.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        make_hospital(Path(folder) / "demo")
        with sanql.open(Path(folder) / "demo" / "policy.toml", analyst="ana") as san:
            print("| question | files | switches between packages | calls |\n|---|---|---|---|")
            for sql in QUESTIONS:
                for price in ("0.01", "0.012"):
                    san.query(sql, epsilon=price)
                walk = Walk(package)
                walk.follow(lambda sql=sql: san.query(sql, epsilon="0.011"))
                print(f"| `{sql}` | {len(walk.files)} | {walk.switches} | {walk.calls:,} |")


class Walk:
    """What is entered while something runs."""

    def __init__(self, package: Path) -> None:
        self._package = f"{package}{os.sep}"
        self.files: set[str] = set()
        self.switches = 0
        self.calls = 0

    def follow(self, run: Callable[[], object]) -> None:
        """Count every call of the package's functions."""
        sys.setprofile(self._count)
        try:
            run()
        finally:
            sys.setprofile(None)

    def _count(self, frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(self._package):
            return
        self.calls += 1
        self.files.add(file)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(self._package):
            caller = caller.f_back
        if caller is not None and self._room(caller.f_code.co_filename) != self._room(file):
            self.switches += 1

    def _room(self, file: str) -> str:
        return Path(file.removeprefix(self._package)).parts[0]


if __name__ == "__main__":
    main()
