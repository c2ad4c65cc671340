"""`sanql audit`: attack the system that is installed here, through its own doors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sanql.cli.failing import reported
from sanql.cli.opening import POLICY
from sanql.cli.saying import say, say_json
from sanql.secret_file import write_for_owner
from sanql.visible import json_text

if TYPE_CHECKING:
    from sanql.audit import SystemAudit


@click.command()
@POLICY
@click.option(
    "--people",
    type=click.IntRange(100, 100_000),
    default=5000,
    show_default=True,
    help="Canaries, each of whom is there or not by a fair coin.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(1e-12, 0.05),
    default=1e-6,
    show_default=True,
    help="How likely a sound system may be refuted.",
)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")
def audit(policy: Path, people: int, alpha: float, form: str) -> None:
    """Attack San as it is installed here, over HTTP and the wire, and compare with what it claims.

    A server is started over a town of made-up people under the policy's accounting: no row of the data
    is read, and nothing is charged to their account. What was found is kept beside the ledger, for the
    report. Exits with 1 where a claim is refuted.
    """
    with reported(form):
        from sanql.audit import audit_system, kept_audit_path, served_by_process
        from sanql.policy import load

        owned = load(policy)
        found = audit_system(
            served_by_process,
            accounting=owned.accounting,
            people=people,
            alpha=alpha,
            progress=lambda words: say(f"  {words}", err=True),
        )
        write_for_owner(kept_audit_path(owned), json_text(found.to_dict(), indent=2))
        say_json(found.to_dict()) if form == "json" else _say(found)
        sys.exit(int(bool(found.refuted)))


def _say(found: SystemAudit) -> None:
    """Print what was found, attack by attack."""
    for each in found.findings:
        verdict = "REFUTED" if each in found.refuted else "stands "
        least = "" if not each.epsilon_lower else f", epsilon at least {each.epsilon_lower:.3g}"
        say(f"{verdict} {each.attack} ({each.through}): {each.seen}{least}; p = {each.p_value:.2g}")
    refuted = len(found.refuted)
    say(
        f"{refuted} of {len(found.findings)} attacks refute the claim"
        if refuted
        else f"no attack refutes the claim; a sound system is refuted with a chance below {found.alpha:g}"
    )
    say(
        "An attack that refutes nothing proves nothing: docs/audit.md says which faults it finds, and how"
        " often"
    )
