"""Reading `[exact.NAME]`: every declaration that could not be certified is a fault with its place.

What can be checked without a certificate is checked here, so that loading a policy stays quick;
whether the declared `records_min` or `threshold` reaches what is accepted is checked as well, since
it is one certificate (some hundredths of a second) and only where the owner declared the number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from sanql.errors import Refused
from sanql.mechanisms.noiseless import RECORDS_MAX, SMALLEST, threshold_min
from sanql.policy.exact.cells import Acceptance, Cells
from sanql.policy.exact.classes import (
    read_class,
    read_grid,
    read_known_columns,
    read_missing,
    share,
)
from sanql.policy.exact.footprint import uncovered
from sanql.policy.exact.model import (
    BinomialSample,
    Exact,
    ExactHistogram,
    ExactValues,
    PoissonSample,
    SampleClass,
)
from sanql.policy.exact.partitions import read_partition
from sanql.policy.exact.reading_verdicts import read_verdict
from sanql.policy.exact.remedies import what_would_pass
from sanql.policy.keys import KEYS
from sanql.policy.model import Column, ColumnUnit, RowUnit, Table
from sanql.policy.section import Mistake, Section, quote, suggest
from sanql.policy.values import (
    integer_between,
    one_of,
    parse_column_name,
    parse_name,
    parse_number,
    show_number,
)
from sanql.results import Budget

CLASS_KEYS: Mapping[str, tuple[str, ...]] = {
    "uniform-component": ("class", "eta", "alpha", "width", "known_records", "known_columns"),
    "lattice": ("class", "mass", "first", "last", "known_records", "known_columns"),
    "binary": ("class", "beta", "known_records", "known_columns"),
    "family": ("class", "laws", "names", "weights", "known_records", "known_columns"),
    "poisson": ("class", "known_records"),
    "binomial": ("class", "rate", "known_records"),
}
SAMPLES = ("poisson", "binomial")
EPSILON_MOST = Fraction(10)
"""Above this a certificate says next to nothing, whatever the budget is."""


@dataclass(frozen=True)
class _Draft:
    """What every declaration has, as far as it could be read."""

    section: Section
    name: str
    table: Table | None
    cells: Cells | None
    adversary: Section | None
    kind: str | None
    known: int | None
    accept: Acceptance | None


def read_exact(
    root: Section, tables: Mapping[str, Table], budget: Budget | None
) -> dict[str, Exact]:
    """Return the exact releases a policy allows; each that cannot be certified leaves a fault."""
    section = root.section("exact", "write [exact.NAME] and its keys below it")
    if section is None:
        return {}
    declared = root.content.get("table")
    broken = isinstance(declared, dict) and len(tables) < len(declared)
    releases: dict[str, Exact] = {}
    remedy = "write [exact.COLUMN] and its keys below it"
    for name, written in section.named_sections(parse_column_name, remedy):
        exact = _read(written, name, tables, budget, broken=broken)
        if exact is not None:
            releases[name] = exact
    _check_together(section, releases)
    return releases


def _read(
    section: Section,
    name: str,
    tables: Mapping[str, Table],
    budget: Budget | None,
    *,
    broken: bool,
) -> Exact | None:
    section.allow(KEYS["exact"])
    remedy = 'write adversary = { class = "…", known_records = … }'
    adversary = section.section("adversary", remedy)
    if adversary is None and "adversary" not in section.content:
        section.fault("adversary", "adversary is missing", remedy)
    kind = known = None
    if adversary is not None:
        kind = adversary.require("class", one_of(tuple(CLASS_KEYS)), "name a class of adversaries")
        adversary.allow(CLASS_KEYS[kind] if kind else KEYS["adversary"])
        known = adversary.require(
            "known_records",
            integer_between(0, RECORDS_MAX),
            "write how many records of one cell the adversary may know outright",
        )
    histogram, verdict = kind in SAMPLES, kind == "family"
    table = _find_table(section, name, tables, needs_column=not histogram, broken=broken)
    cells = read_partition(section, table)
    accept = _read_acceptance(section, budget, verdict=verdict)
    if verdict and adversary is not None:
        return read_verdict(section, adversary, name, table, cells, known, accept)
    for key in ("function", "share"):
        if key in section.content and kind is not None:
            section.fault(key, f"{key} goes with a family of laws", 'write class = "family"')
    draft = _Draft(section, name, table, cells, adversary, kind, known, accept)
    return _read_histogram(draft) if histogram else _read_values(draft)


def _read_acceptance(
    section: Section, budget: Budget | None, *, verdict: bool
) -> Acceptance | None:
    remedy = "write accept = { epsilon = …, delta = … }"
    accept = section.section("accept", remedy)
    if accept is None:
        if "accept" not in section.content:
            section.fault("accept", "accept is missing", remedy)
        return None
    accept.allow(KEYS["accept"])
    cap = EPSILON_MOST if budget is None else min(EPSILON_MOST, budget.epsilon)

    def parse_epsilon(written: object) -> Fraction:
        epsilon = parse_number(written)
        if not 0 < epsilon <= cap:
            why = "the dataset's budget" if cap < EPSILON_MOST else "beyond that it means nothing"
            raise Mistake(f"{quote(written)} is not above 0 and at most {show_number(cap)}, {why}")
        return epsilon

    def parse_delta(written: object) -> Fraction:
        delta = parse_number(written)
        if not SMALLEST <= delta < 1:
            raise Mistake(f"{quote(written)} is not above 0 and below 1")
        return delta

    if verdict and "epsilon" in accept.content:
        accept.fault(
            "epsilon", "the guarantee of a verdict has epsilon 0, and a delta", "leave epsilon out"
        )
    read = accept.read if verdict else accept.require
    epsilon = read("epsilon", parse_epsilon, "accept an epsilon around or below 1")
    epsilon = Fraction(0) if verdict else epsilon
    delta = accept.require("delta", parse_delta, "accept a delta such as 1e-9")
    return None if epsilon is None or delta is None else Acceptance(epsilon, delta)


def _find_table(
    section: Section, name: str, tables: Mapping[str, Table], *, needs_column: bool, broken: bool
) -> Table | None:
    """Return the table named, or the only one that fits; a broken one has its own faults."""
    private = {key: table for key, table in tables.items() if not table.public}
    if "table" in section.content:
        written = section.read("table", parse_name, "name a table of this policy")
        if written is None:
            return None
        table = private.get(written)
        if table is None and broken:
            return None
        if table is None:
            why = "is public: ask it as it is" if written in tables else "is not declared"
            section.fault("table", f"the table {quote(written)} {why}", suggest(written, private))
            return None
    else:
        column = section.content.get("column", name)
        fitting = [t for t in private.values() if not needs_column or column in t.columns]
        if not fitting and broken:
            return None
        if len(fitting) != 1:
            what = f"with a column {quote(column)}" if needs_column else "to count"
            section.fault(
                "table",
                f"{'several tables are' if fitting else 'there is no table'} {what}",
                "say which: table = "
                + " or ".join(quote(t.name) for t in fitting or private.values()),
            )
            return None
        (table,) = fitting
    one_record = isinstance(table.unit, RowUnit) or (
        isinstance(table.unit, ColumnUnit) and table.rows_per_unit_max == 1
    )
    if not one_record:
        section.fault(
            "table",
            f"one unit may have several rows in {quote(table.name)}, and certificates are for one"
            " record a person",
            'declare unique = true or privacy_unit = "row" if that is true; otherwise add noise',
        )
        return None
    return table


def _read_histogram(draft: _Draft) -> ExactHistogram | None:
    section, cells, adversary = draft.section, draft.cells, draft.adversary
    for key in ("column", "records_min", "missing"):
        if key in section.content:
            section.fault(key, f"a histogram counts records and has no {key}", f"remove {key}")
    if cells is not None and not cells.columns:
        section.fault(
            "partition",
            "a histogram needs the columns whose values are its cells",
            'write partition = ["district"]',
        )
        cells = None
    sample: SampleClass | None = PoissonSample()
    if draft.kind == "binomial" and adversary is not None:
        rate = adversary.require(
            "rate",
            share(Fraction(1), open_end=True),
            "write the share of the population that was sampled; a census (1) is never private",
        )
        sample = None if rate is None else BinomialSample(rate)
    threshold = section.read(
        "threshold", integer_between(2, RECORDS_MAX), "write the least count that is shown"
    )
    if (
        draft.table is None
        or cells is None
        or sample is None
        or draft.known is None
        or draft.accept is None
        or (threshold is None and "threshold" in section.content)
    ):
        return None
    exact = ExactHistogram(
        draft.name, draft.table.name, cells, draft.accept, draft.known, sample, threshold
    )
    return exact if _check_threshold(section, exact) else None


def _check_threshold(section: Section, exact: ExactHistogram) -> bool:
    epsilon, delta, known = exact.accept.epsilon, exact.accept.delta, exact.known_records
    try:
        least = threshold_min(exact.prior, epsilon, delta, known=known)
    except Refused as refused:
        section.fault("accept", refused.message, refused.remedy)
        return False
    if exact.threshold is not None and (
        exact.threshold < known + 2
        or exact.against(exact.threshold).bound(epsilon).delta_upper > delta
    ):
        section.fault(
            "threshold",
            f"cells from {exact.threshold} records on are not private enough at epsilon"
            f" {show_number(epsilon)}, delta {float(delta):g} with {known} known records",
            f"write threshold = {least} or more, or leave it out",
        )
        return False
    return True


def _read_values(draft: _Draft) -> ExactValues | None:
    section, adversary, kind, known = draft.section, draft.adversary, draft.kind, draft.known
    table, cells = draft.table, draft.cells
    if "threshold" in section.content and kind is not None:
        section.fault("threshold", "only histograms have a threshold", "remove threshold")
    column = _find_column(section, draft.name, table, cells)
    steps = None if column is None else read_grid(section, column)
    records = section.read(
        "records_min",
        integer_between(2, RECORDS_MAX),
        "write the least number of records in any cell",
    )
    belief = None
    if adversary is not None and kind is not None:
        belief = read_class(adversary, kind, column, steps)
    known_columns = read_known_columns(adversary, table, column)
    missing = None if steps is None or column is None else read_missing(section, steps)
    if records is not None and known is not None and known > records - 2:
        assert adversary is not None  # noqa: S101  (that is where `known` was read)
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
        or steps is None
        or belief is None
        or known is None
        or known_columns is None
        or missing is None
        or draft.accept is None
        or (records is None and "records_min" in section.content)
    ):
        return None
    grid, low, high = steps
    exact = ExactValues(
        name=draft.name,
        table=table.name,
        cells=cells,
        accept=draft.accept,
        known_records=known,
        column=column.name,
        adversary=belief,
        known_columns=known_columns,
        grid=grid,
        low=low,
        high=high,
        missing=missing,
        records_min=records,
    )
    return exact if _check_records(section, exact) else None


def _find_column(
    section: Section, name: str, table: Table | None, cells: Cells | None
) -> Column | None:
    named = section.read("column", parse_column_name, "name the column") or name
    if table is None:
        return None
    column = table.columns.get(named)
    key = "column" if "column" in section.content else ()
    if column is None:
        section.fault(
            key,
            f"{quote(table.name)} declares no column {quote(named)}",
            suggest(named, table.columns),
        )
    elif cells is not None and named in cells.names:
        section.fault("partition", f"{quote(named)} is the column itself", "use public columns")
        return None
    return column


def _check_records(section: Section, exact: ExactValues) -> bool:
    """Note a declared number of records that does not reach what is accepted, and what would."""
    if exact.records_min is None:
        return True
    epsilon, delta = exact.accept.epsilon, exact.accept.delta
    adversary = exact.against(exact.records_min - 1)
    reached = adversary.bound(epsilon).delta_upper
    if Fraction(reached) <= delta:
        return True
    section.fault(
        "records_min",
        f"cells of {exact.records_min} records reach delta {reached:.2g} at epsilon"
        f" {show_number(epsilon)}, and {float(delta):g} is accepted",
        what_would_pass(exact, exact.records_min),
    )
    return False


def _check_together(section: Section, releases: Mapping[str, Exact]) -> None:
    """Note declarations that no theorem covers together."""
    for first, second in combinations(releases.values(), 2):
        problem = uncovered(first.footprint, second.footprint)
        if problem is not None:
            section.fault((second.name,), *problem)
