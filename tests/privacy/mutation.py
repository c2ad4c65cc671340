"""Breaking one rule in a copy of the source, and asking its test."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src"
SECONDS_MAX = 900


@dataclass(frozen=True)
class Mutant:
    """A rule, the text that keeps it, what stands there when it is broken, and who notices."""

    rule: str
    file: str
    kept: str
    broken: str
    test: str

    @property
    def path(self) -> Path:
        """The file below `src/sanql`."""
        return SOURCE / "sanql" / self.file

    def is_seen(self) -> bool:
        """Return whether its test fails over a copy of the source in which the rule is broken."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "src"
            shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
            file = copy / "sanql" / self.file
            file.write_text(file.read_text("utf-8").replace(self.kept, self.broken), "utf-8")
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
            ran = subprocess.run(
                [*command, f"tests/{self.test}"],
                check=False,
                cwd=TESTS.parent,
                env={**os.environ, "PYTHONPATH": str(copy)},
                capture_output=True,
                timeout=SECONDS_MAX,
            )
        return ran.returncode == 1
