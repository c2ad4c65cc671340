"""Reading a declared verdict: its column's values, the laws they may have, and the function of them."""

from __future__ import annotations

from fractions import Fraction

from sanql.errors import Refused
from sanql.mechanisms.noiseless import RECORDS_MAX, others_min
from sanql.policy.exact.cells import Acceptance, Cells
from sanql.policy.exact.classes import read_known_columns, share
from sanql.policy.exact.verdicts import (
    VALUES_MOST,
    ExactVerdict,
    Family,
    LowerMedian,
    MapEstimate,
    MostFrequent,
    ShareAtLeast,
    VerdictFunction,
)
from sanql.policy.model import Column, ListedDomain, Table, Value
from sanql.policy.section import Mistake, Section, quote, suggest
from sanql.policy.values import integer_between, one_of, parse_column_name, parse_number

FUNCTIONS = ("map", "mode", "median", "share")
_TYPES = ("text", "integer", "boolean")


def read_verdict(
    section: Section,
    adversary: Section,
    name: str,
    table: Table | None,
    cells: Cells | None,
    known: int | None,
    accept: Acceptance | None,
) -> ExactVerdict | None:
    """Return a declared verdict; what could not be certified leaves a fault."""
    if "threshold" in section.content:
        section.fault("threshold", "only histograms have a threshold", "remove threshold")
    column = _find_column(section, name, table, cells)
    values = None if column is None else _values(section, column)
    family = None if values is None else _read_family(adversary, values)
    function = None if column is None else _read_function(section, column)
    missing = None if values is None else _read_missing(section, values)
    known_columns = read_known_columns(adversary, table, column)
    records = section.read(
        "records_min",
        integer_between(2, RECORDS_MAX),
        "write the least number of records in any cell",
    )
    if records is not None and known is not None and known > records - 2:
        adversary.fault(
            "known_records",
            f"{known} known records leave nobody unknown besides the protected one in a cell of"
            f" {records}",
            f"declare at most {records - 2}, or more records; otherwise add noise",
        )
        return None
    if (
        table is None
        or cells is None
        or column is None
        or values is None
        or family is None
        or function is None
        or missing is None
        or known is None
        or known_columns is None
        or accept is None
        or (records is None and "records_min" in section.content)
    ):
        return None
    verdict = ExactVerdict(
        name=name,
        table=table.name,
        cells=cells,
        accept=accept,
        known_records=known,
        column=column.name,
        adversary=family,
        known_columns=known_columns,
        values=values,
        missing=missing,
        function=function,
        records_min=records,
    )
    return verdict if _check_records(section, verdict) else None


def _find_column(
    section: Section, name: str, table: Table | None, cells: Cells | None
) -> Column | None:
    named = section.read("column", parse_column_name, "name the column") or name
    if table is None:
        return None
    column = table.columns.get(named)
    if column is None:
        key = "column" if "column" in section.content else ()
        section.fault(
            key,
            f"{quote(table.name)} declares no column {quote(named)}",
            suggest(named, table.columns),
        )
    elif cells is not None and named in cells.names:
        section.fault("partition", f"{quote(named)} is the column itself", "use public columns")
        return None
    return column


def _values(section: Section, column: Column) -> tuple[Value, ...] | None:
    """Return all values that a record can have, in order: no before yes, others as they are listed."""
    place = "column" if "column" in section.content else ()
    if column.type not in _TYPES:
        section.fault(
            place,
            f"{quote(column.name)} is a {column.type}; verdicts are about {', '.join(_TYPES)} columns",
            "choose a column with few values",
        )
        return None
    if column.type == "boolean":
        return (False, True)
    if not isinstance(column.domain, ListedDomain):
        section.fault(
            place,
            f"{quote(column.name)} has no listed domain, and the laws are over all its values",
            f"list its values: {column.name}.domain",
        )
        return None
    if not 2 <= len(column.domain.values) <= VALUES_MOST:
        section.fault(
            place,
            f"{quote(column.name)} has {len(column.domain.values)} values",
            f"choose a column of 2 to {VALUES_MOST} values",
        )
        return None
    return column.domain.values


def _read_family(adversary: Section, values: tuple[Value, ...]) -> Family | None:
    width = len(values)
    listed = ", ".join(map(str, values))

    def parse_laws(written: object) -> tuple[tuple[Fraction, ...], ...]:
        if not isinstance(written, list) or len(written) < 1:
            raise Mistake(f"expected a list of laws, not {quote(written)}")
        return tuple(_law(law, width, listed) for law in written)

    def parse_weights(written: object) -> tuple[Fraction, ...]:
        if not isinstance(written, list):
            raise Mistake(f"expected a list of weights, not {quote(written)}")
        weights = tuple(map(parse_number, written))
        if any(weight <= 0 for weight in weights):
            raise Mistake("a weight is not above 0")
        return weights

    remedy = f"write laws = [[…], […]], each with the probabilities of {listed}"
    laws = adversary.require("laws", parse_laws, remedy)
    names = adversary.read("names", _parse_names, "write a name for each law")
    weights = adversary.read("weights", parse_weights, "write a weight above 0 for each law")
    if laws is None or (names is None and "names" in adversary.content):
        return None
    if weights is None and "weights" in adversary.content:
        return None
    if not 2 <= len(laws) <= VALUES_MOST or len(set(laws)) < len(laws):
        adversary.fault("laws", f"{len(laws)} laws, or two that are the same", remedy)
        return None
    names = names or tuple(f"law {place}" for place in range(1, len(laws) + 1))
    weights = weights or (Fraction(1),) * len(laws)
    for key, given in (("names", names), ("weights", weights)):
        if len(given) != len(laws):
            adversary.fault(key, f"{len(given)} {key} for {len(laws)} laws", "give one a law")
            return None
    return Family(laws, names, weights)


def _law(written: object, width: int, listed: str) -> tuple[Fraction, ...]:
    if not isinstance(written, list) or len(written) != width:
        raise Mistake(f"{quote(written)} are not the probabilities of {listed}")
    law = tuple(map(parse_number, written))
    if min(law) <= 0 or sum(law) != 1:
        raise Mistake(
            f"{quote(written)} are not probabilities above 0 that add up to 1",
            "every value must be possible under every law",
        )
    return law


def _parse_names(written: object) -> tuple[str, ...]:
    if not isinstance(written, list) or not all(isinstance(name, str) and name for name in written):
        raise Mistake(f"expected a list of names, not {quote(written)}")
    if len(set(written)) < len(written):
        raise Mistake(f"{quote(written)} names two laws alike")
    return tuple(written)


def _read_function(section: Section, column: Column) -> VerdictFunction | None:
    name = section.require("function", one_of(FUNCTIONS), "say what is decided")
    least = section.read("share", share(Fraction(1)), "write a share above 0 and at most 1")
    if name is None or (least is None and "share" in section.content):
        return None
    if (name == "share") != (least is not None):
        section.fault(
            "share" if least is not None else "function",
            'share goes with function = "share", and only there',
            'write function = "share", share = 0.5',
        )
        return None
    if name == "share" and column.type != "boolean":
        section.fault("function", f"{quote(column.name)} is no boolean", "choose a yes/no column")
        return None
    if name == "median" and column.type != "integer":
        section.fault("function", f"{quote(column.name)} is no integer", 'write function = "mode"')
        return None
    match name:
        case "map":
            return MapEstimate()
        case "mode":
            return MostFrequent()
        case "median":
            return LowerMedian()
        case _:
            assert least is not None  # noqa: S101  (checked above)
            return ShareAtLeast(least)


def _read_missing(section: Section, values: tuple[Value, ...]) -> int | None:
    """Return the place of the value that a record without one counts as."""

    def parse(written: object) -> int:
        for place, value in enumerate(values):
            if written == value and isinstance(written, bool) == isinstance(value, bool):
                return place
        raise Mistake(f"{quote(written)} is not a value the column can have")

    remedy = "write the listed value that a record without one counts as"
    return section.require("missing", parse, remedy)


def _check_records(section: Section, verdict: ExactVerdict) -> bool:
    """Note a number of records that does not reach what is accepted, or a class that never does."""
    delta = verdict.accept.delta
    try:
        against = verdict.against((verdict.records_min or verdict.known_records + 2) - 1)
        if verdict.records_min is not None and Fraction(against.bound(0).delta_upper) <= delta:
            return True
        least = others_min(against, 0, delta) + 1
    except Refused as refused:
        key = "records_min" if verdict.records_min is not None else "adversary"
        section.fault(key, refused.message, refused.remedy)
        return False
    if verdict.records_min is None:
        return True
    section.fault(
        "records_min",
        f"cells of {verdict.records_min} records reach delta"
        f" {against.bound(0).delta_upper:.2g}, and {float(delta):g} is accepted",
        f"it takes at least {least} records in every cell; or accept more, or add noise",
    )
    return False
