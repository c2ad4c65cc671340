"""`sanql profile`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sanql.cli.failing import reported
from sanql.cli.opening import POLICY, anywhere, open_here, open_there, place_of
from sanql.cli.saying import say, say_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sanql.profile import Profile
    from sanql.results import ReceivedProfile
    from sanql.san import San


@click.command()
@POLICY
@anywhere
@click.argument("tables", nargs=-1)
@click.option("--epsilon", "-e", help="What measuring may cost; without it, what is on record.")
@click.option("--columns", help="Columns that questions are grouped by, or numbers: city,category.")
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
def profile(
    policy: Path,
    tables: tuple[str, ...],
    epsilon: str | None,
    columns: str | None,
    form: str,
    **where: Any,
) -> None:
    """Measure, once and privately, how many rows and groups the units of tables have.

    It is charged to the dataset's account. From then on all analysts may read it, and answers,
    explanations and suggestions use it for free.
    """
    chosen = [name.strip() for name in (columns or "").split(",") if name.strip()]
    place = place_of(where)
    with reported(form), _open(policy) if place is None else open_there(place) as san:
        known: Sequence[Profile | ReceivedProfile]
        if epsilon is not None:
            say(f"price: epsilon {epsilon} of the dataset's account, unless on record", err=True)
            known = san.profile(*tables, epsilon=epsilon, columns=chosen)
        else:
            wanted = {name.lower() for name in tables}
            known = [each for each in san.profiles() if not wanted or each.table.lower() in wanted]
        if form == "json":
            say_json([each.to_dict() for each in known])
        else:
            say("\n\n".join(map(str, known)) or "no profile is on record")


def _open(policy: Path) -> San:
    """Return San for the owner, who asks in the dataset's name whoever the analysts are."""
    from sanql.policy import load

    return open_here(policy, next(iter(load(policy).analysts), None))
