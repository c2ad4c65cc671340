"""What was hidden from a process can be found again: Spark asks for pandas, which commands hide."""

from __future__ import annotations

import subprocess
import sys

HIDDEN_THEN_SHOWN = """
from sanql.kernel import hide_modules, show_modules
hide_modules("colorsys")
try:
    import colorsys
except ModuleNotFoundError:
    show_modules()
    import colorsys
    print("shown")
"""


def test_a_hidden_module_is_found_once_it_is_shown() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN_THEN_SHOWN], capture_output=True, text=True, check=True
    )
    assert done.stdout == "shown\n"
