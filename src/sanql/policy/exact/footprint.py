"""What an exact release touches, and which two of them a theorem covers together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Footprint:
    """What a release touches: a column of a table (None: its cell counts), and what its class
    allows the adversary to know besides."""

    name: str
    table: str
    column: str | None
    known_columns: tuple[str, ...] = ()


def uncovered(first: Footprint, second: Footprint) -> tuple[str, str] | None:
    """Return why two releases are not covered together, with a remedy; None if they are.

    Coupled-worlds Theorem 6 composes two releases when each is private for somebody who has seen
    the other as well. For exact sums of two columns that is so when either class holds for somebody
    who knows the other column: what is released of it is then a function of what they know.
    """
    together = f"[exact.{first.name}] and [exact.{second.name}]"
    if first.table != second.table:
        return (
            f"{together} are about two tables, and nothing says that no person is in both",
            "keep one, or make the other table a dataset of its own if it is about other people",
        )
    if first.column is None or second.column is None:
        return (
            f"{together} cannot both hold: a histogram needs the sizes of the cells to be secret,"
            " and sums need them to be public; two histograms overlap",
            "keep one of them",
        )
    if first.column == second.column:
        return (
            f"{together} release the same column twice, and their cells would overlap",
            "keep one, with the finer partition: unions of its cells can be asked",
        )
    if second.column in first.known_columns and first.column in second.known_columns:
        return None
    return (
        f"{together} are about the same people, and neither class is said to hold for somebody who"
        " knows the other column",
        "if that is true, name each column in the other's known_columns; otherwise keep one",
    )
