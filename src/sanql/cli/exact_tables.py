"""The book of exact releases for a terminal and as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sanql.cli.saying import say
from sanql.numbers import show_upper

if TYPE_CHECKING:
    from sanql.account import ExactEntry
    from sanql.exact import Terms


def print_releases(entries: Sequence[ExactEntry]) -> None:
    """Print exact releases under the accounts, which they are no part of."""
    if entries:
        say("exact releases, each with a guarantee of its own and no part of any budget:")
    for entry in entries:
        say(f"  {_line(entry)}")


def _line(entry: ExactEntry) -> str:
    claim = entry.claim
    what = claim.footprint.column or "records"
    cells = f" by {', '.join(claim.partition)}" if claim.partition else ""
    return (
        f"{what!r} of {claim.footprint.table!r}{cells} ({cells_in_words(claim.cells)}): epsilon "
        f"{show_upper(claim.epsilon, 4)}, delta {show_upper(claim.delta, 3)} (DDP), record "
        f"{entry.sequence}, {state_of(entry)}"
    )


def cells_in_words(count: int) -> str:
    """Return how many cells there are."""
    return "1 cell" if count == 1 else f"{count:,} cells"


def state_of(entry: ExactEntry) -> str:
    """Return what became of a release, in one word."""
    if entry.answer is not None:
        return "answered"
    if entry.refusal is not None:
        return "refused"
    return "open" if entry.open else "failed"


def terms_line(terms: Terms) -> str:
    """Return what a declared release would take and guarantee, before a row is read."""
    key, certified = _least(terms), terms.certified
    what = "records in every cell" if key == "records_min" else "records in a cell that is shown"
    origin = "declared" if getattr(terms.exact, key) is not None else "found to pass"
    return (
        f"[exact.{terms.exact.name}]: at least {terms.least:,} {what} ({origin}); "
        f"({certified.epsilon:.6g}, {certified.delta_upper:.3g})-DDP against: {certified.adversary}"
    )


def terms_to_dict(terms: Terms) -> dict[str, Any]:
    """Return the terms of a declared release as plain data."""
    return {_least(terms): terms.least, **terms.certified.to_dict()}


def _least(terms: Terms) -> str:
    from sanql.policy.exact import ExactHistogram

    return "threshold" if isinstance(terms.exact, ExactHistogram) else "records_min"


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


def verified_lines(releases: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what the auditor found in the book, as plain data, a line a release."""
    return [
        f"exact {release['name']}: {cells_in_words(release['cells'])}, {release['state']}, epsilon "
        f"{show_upper(Fraction(str(release['epsilon'])), 4)}, delta "
        f"{show_upper(Fraction(str(release['delta'])), 3)} (DDP)"
        for release in releases
    ]
