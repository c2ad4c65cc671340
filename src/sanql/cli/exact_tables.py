"""The book of exact releases for a terminal and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from sanql.account import ExactEntry, VerifiedExact
from sanql.account.numbers import show_upper


def print_releases(entries: Sequence[ExactEntry]) -> None:
    """Print exact releases under the accounts, which they are no part of."""
    if entries:
        click.echo("exact releases, each with a guarantee of its own and no part of any budget:")
    for entry in entries:
        click.echo(f"  {_line(entry)}")


def _line(entry: ExactEntry) -> str:
    claim = entry.claim
    what = claim.footprint.column or "records"
    cells = f" by {', '.join(claim.partition)}" if claim.partition else ""
    return (
        f"{what!r} of {claim.footprint.table!r}{cells} ({claim.cells} cells): epsilon "
        f"{show_upper(claim.epsilon, 4)}, delta {show_upper(claim.delta, 3)} (DDP), record "
        f"{entry.sequence}, {state_of(entry)}"
    )


def state_of(entry: ExactEntry) -> str:
    """Return what became of a release, in one word."""
    if entry.answer is not None:
        return "answered"
    if entry.refusal is not None:
        return "refused"
    return "open" if entry.open else "failed"


def releases_to_dicts(entries: Sequence[ExactEntry]) -> list[dict[str, Any]]:
    """Return exact releases as plain data, with their certificates."""
    return [
        {
            "name": entry.claim.name,
            "table": entry.claim.footprint.table,
            "column": entry.claim.footprint.column,
            "partition": list(entry.claim.partition),
            "cells": entry.claim.cells,
            "record": entry.sequence,
            "state": state_of(entry),
            "certificate": dict(entry.claim.certificate),
        }
        for entry in entries
    ]


def verified_to_dicts(found: Sequence[VerifiedExact]) -> list[dict[str, Any]]:
    """Return what the auditor found in the book as plain data."""
    return [
        {
            "name": release.name,
            "table": release.table,
            "column": release.column,
            "cells": release.cells,
            "epsilon": float(show_upper(release.epsilon)),
            "delta": float(show_upper(release.delta)),
            "record": release.record,
            "state": release.state,
        }
        for release in found
    ]


def verified_lines(found: Sequence[VerifiedExact]) -> list[str]:
    """Return what the auditor found in the book, a line a release."""
    return [
        f"exact {release.name}: {release.cells} cells, {release.state}, epsilon "
        f"{show_upper(release.epsilon, 4)}, delta {show_upper(release.delta, 3)} (DDP)"
        for release in found
    ]
