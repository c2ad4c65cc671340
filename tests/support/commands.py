"""The command `sanql`, run in this process or in one of its own."""

from __future__ import annotations

import subprocess
import sys

from click.testing import CliRunner, Result

from sanql.cli.main import main


def run(*arguments: object, stdin: str = "") -> Result:
    """Run the command here; only its own ways out are results, any other exception is raised.

    A process of its own would first import everything, which takes longer than what most commands do.
    """
    done = CliRunner().invoke(main, [*map(str, arguments)], input=stdin, prog_name="sanql")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def run_process(*arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command as people do, where the process is what is tested."""
    return subprocess.run(
        [sys.executable, "-m", "sanql", *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        input=stdin,
    )
