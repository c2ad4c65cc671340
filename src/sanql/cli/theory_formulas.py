"""`sanql theory stable`: what the theorems on functions need, computed from the function."""

from __future__ import annotations

from pathlib import Path

import click

from sanql.cli.theory_laws import epsilon_of, tell
from sanql.cli.theory_options import FORMAT, reports_errors
from sanql.theory.exact import written

_FUNCTION = click.argument("function", type=click.Path(path_type=Path))


@click.command()
@_FUNCTION
@click.option("--known", default=0, show_default=True, help="Other records that are known.")
@FORMAT
@reports_errors
def stable(function: Path, known: int, form: str) -> None:
    """How likely a record changes a function: the numbers of Theorems 11 and 12, exactly.

    FUNCTION is a file as of theory check, one output of mass 1 for each database, with worlds or laws.
    """
    from sanql.theory.channel_file import read_channel
    from sanql.theory.instability import instability

    given = read_channel(function)
    default = given.default if given.default_given else None
    found = instability(given.channel, given.worlds, default=default, known=known)
    lines = {
        "a record changes the output with probability at most": written(found.chance),
        "where": f"record {found.record}, world {found.world}, given "
        f"{', '.join(map(str, found.given))}, against {found.replaced}",
        "every output has probability at least": written(found.least_output),
        "(0, delta)-DDP with delta (Theorem 11)": written(found.chance),
        "(epsilon, 0)-DDP with epsilon (Theorem 12)": epsilon_of(found.gamma),
    }
    tell({"instability": lines}, form)
