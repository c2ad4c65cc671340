"""`sanql ledger backup` and `sanql ledger restore`: the ledger and its people, copied and put back."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sanql.cli.failing import reported
from sanql.cli.opening import POLICY
from sanql.cli.saying import say

if TYPE_CHECKING:
    from sanql.account import Loss
    from sanql.policy import Budget


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@POLICY
def backup(file: Path, policy: Path) -> None:
    """Copy the ledger with its answers and people into FILE, also while questions are asked."""
    with reported("table"):
        from sanql.account import back_up, reader_at
        from sanql.policy import load
        from sanql.sources import check_ledger_exists

        loaded = load(policy)
        check_ledger_exists(loaded)
        taken = datetime.now(UTC).isoformat(timespec="seconds")
        with reader_at(loaded.ledger_place) as reader:
            copied = back_up(reader, file, taken)
        say(f"{len(copied.records)} records of {loaded.ledger_place} are in {file}")


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@POLICY
@click.option(
    "--because", default="", help="Why records are missing, in your words; it is recorded."
)
@click.option(
    "--spent-since",
    help="The most epsilon that missing records have charged; left out, all that budgets allow.",
)
@click.option("--delta-since", default="0", show_default=True, help="The same of delta.")
def restore(
    file: Path | None, policy: Path, because: str, spent_since: str | None, delta_since: str
) -> None:
    """Put the ledger back from the backup FILE, where the policy says.

    Where the backup lacks records that are known, say why; that is recorded, and what was charged since
    counts as spent. Without FILE, the ledger that is there goes on: it was put back by other means.
    """
    with reported("table"):
        from sanql.account import account_terms, read_backup
        from sanql.audit.ledger import verify_account
        from sanql.policy import load
        from sanql.sources import restore_account

        loaded = load(policy)
        spent = None if spent_since is None else _budget(spent_since, delta_since)
        copied = None if file is None else read_backup(file)
        done = restore_account(loaded, account_terms(loaded), copied, reason=because, spent=spent)
        for place in done.aside:
            say(f"set aside {place}")
        verify_account(loaded)
        say(f"the account goes on in {loaded.ledger_place} with {done.records} records")
        if done.loss is not None:
            say(loss_in_words(done.loss))
        if copied is not None:
            say(
                f"people and typed questions are those of {copied.taken}: whoever was revoked, and"
                " whatever was erased since, is back; see `sanql user list`"
            )


def loss_in_words(loss: Loss) -> str:
    """Return what is missing and what counts as spent for it, as the record says."""
    from sanql.numbers import show_upper

    spent = "everything that the budgets had allowed until then"
    if loss.spent is not None:
        stated = f"epsilon {show_upper(loss.spent.epsilon)}, delta {show_upper(loss.spent.delta)}"
        spent = f"{stated}, as the owner states,"
    copied = f", a copy of {loss.taken}" if loss.taken else ""
    return (
        f"{loss.missing} records or more after record {loss.kept.sequence}{copied} are missing since"
        f" {loss.time[:19]} (by {loss.by}: {loss.reason}); {spent} counts as spent in every account"
    )


def _budget(epsilon: str, delta: str) -> Budget:
    from sanql.numbers import parse_delta, parse_epsilon
    from sanql.policy import Budget

    nothing = epsilon.strip() == "0"
    return Budget(Fraction(0) if nothing else parse_epsilon(epsilon), parse_delta(delta))
