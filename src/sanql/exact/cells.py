"""The exact cells of a declared release: computed once, recorded, and reused by every exact answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sanql.account import Asked, ExactEntry, Ledger
from sanql.engines import unavailable
from sanql.exact.terms import CELL_SMALL, cells_too_small, certified_claim, claim_of, terms_of
from sanql.policy.exact import Exact, ExactHistogram, ExactVerdict

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class ExactCells:
    """Of every cell, in the order of the declaration: its records and the sum of their values.

    Of a verdict nothing but the verdict is kept: `totals` has its place among the outputs, and the
    numbers of records are left at 0.
    """

    records: tuple[int, ...]
    totals: tuple[int, ...]

    def to_bytes(self) -> bytes:
        """Return the cells in a form that reads back identically."""
        return json.dumps({"records": self.records, "totals": self.totals}).encode("ascii")

    @classmethod
    def from_bytes(cls, recorded: bytes) -> ExactCells:
        """Return cells recorded earlier."""
        content = json.loads(recorded)
        return cls(tuple(content["records"]), tuple(content["totals"]))


@dataclass(frozen=True)
class Released:
    """Cells that are on record, and whether they had been before this question."""

    entry: ExactEntry
    cells: ExactCells
    cached: bool


def recorded_cells(
    exact: Exact, version: int, formerly: str, analyst: str, ledger: Ledger
) -> Released | None:
    """Return the cells of a declared release that are on record; None where they may be computed.

    Whatever the book forbids, and what it knows to be too small, is refused here.
    """
    entry = ledger.exact.find(analyst, claim_of(exact, version, formerly))
    if entry is not None and entry.refusal is not None:
        raise cells_too_small(exact)
    recorded = None if entry is None else ledger.exact.answer_of(entry)
    if entry is None or recorded is None:
        return None
    return Released(entry, ExactCells.from_bytes(recorded), cached=True)


def release_cells(
    exact: Exact,
    version: int,
    formerly: str,
    analyst: str,
    ledger: Ledger,
    run: Callable[[], pyarrow.Table],
    asked: Asked,
) -> Released:
    """Return the cells of a declared release: from the ledger, or computed after it is reserved.

    `run` computes the cells; it is called only when the reservation is on disk, with what was `asked`.
    """
    entry = ledger.exact.reserve(analyst, certified_claim(exact, version, formerly), asked)
    if entry.refusal is not None:
        raise cells_too_small(exact)
    recorded = ledger.exact.answer_of(entry)
    if recorded is not None:
        return Released(entry, ExactCells.from_bytes(recorded), cached=True)
    cells = _computed(exact, entry, ledger, run)
    ledger.exact.spend(entry, cells.to_bytes())
    return Released(entry, cells, cached=False)


def _computed(
    exact: Exact, entry: ExactEntry, ledger: Ledger, run: Callable[[], pyarrow.Table]
) -> ExactCells:
    least = terms_of(exact).least
    try:
        cells, shown = _read(exact, run())
    except Exception:
        # whatever happened must not be told: it could depend on a row
        ledger.exact.void(entry, None, reason="engine")
        raise unavailable() from None
    if isinstance(exact, ExactHistogram):
        large = tuple(count if count >= least else 0 for count in cells.records)
        return ExactCells(large, cells.totals)
    if min(cells.records) < least:
        ledger.exact.void(entry, CELL_SMALL, reason="refused")
        raise cells_too_small(exact)
    return shown


def _read(exact: Exact, table: pyarrow.Table) -> tuple[ExactCells, ExactCells]:
    """Return the engine's cells in the declared order, and what may leave of them.

    A cell that the engine does not mention has no records.
    """
    places = {key: place for place, key in enumerate(exact.cells.keys())}
    if isinstance(exact, ExactVerdict):
        return _decided(exact, table, places)
    records, totals = [0] * len(places), [0] * len(places)
    keys = [f"k{index}" for index in range(len(exact.cells.columns))]
    for row in table.to_pylist():
        place = places[tuple(row[key] for key in keys)]
        records[place], totals[place] = int(row["records"]), int(row["total"] or 0)
    cells = ExactCells(tuple(records), tuple(totals))
    return cells, cells


def _decided(
    exact: ExactVerdict, table: pyarrow.Table, places: Mapping[tuple[Any, ...], int]
) -> tuple[ExactCells, ExactCells]:
    """Return how many records every cell has, and the verdict on it."""
    counts = [[0] * len(exact.values) for _ in places]
    keys = [f"k{index}" for index in range(len(exact.cells.columns))]
    for row in table.to_pylist():
        counts[places[tuple(row[key] for key in keys)]][int(row["x"])] += int(row["records"])
    sizes, nothing = tuple(map(sum, counts)), (0,) * len(counts)
    deciding = exact.against(exact.known_records + 1)
    decided = tuple(deciding.decide(cell) for cell in counts)
    return ExactCells(sizes, nothing), ExactCells(nothing, decided)
