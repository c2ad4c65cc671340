"""policy.toml → Policy, or every fault in it at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.errors import Fault, PolicyError
from sanql.kernel import ROWS_READ_AT_ONCE
from sanql.policy.attackers import stated_attackers
from sanql.policy.auto_bounds import read_auto_bounds
from sanql.policy.budgets import parse_epsilon, read_analysts, read_coalitions, require_budget
from sanql.policy.continual import read_continual
from sanql.policy.document import read_document
from sanql.policy.engine import read_engine
from sanql.policy.keys import (
    EPSILON_PER_QUERY_MIN_DEFAULT,
    FAILURES_MAX_DEFAULT,
    FAILURES_MOST,
    KEYS,
    SECTIONS,
    UNITS_PER_GROUP_MOST,
)
from sanql.policy.kinds import largest_of, read_kinds, within_all
from sanql.policy.model import (
    Accounting,
    ColumnUnit,
    EngineLimits,
    Kind,
    Neighbours,
    Policy,
    Table,
    ViaUnit,
)
from sanql.policy.pacing import read_alerts
from sanql.policy.postgres_address import LedgerDatabase, is_address, parse_address
from sanql.policy.section import Faults, Mistake, Section, quote, suggest
from sanql.policy.source import read_source
from sanql.policy.tables import read_tables
from sanql.policy.values import (
    integer_between,
    one_of,
    parse_delta,
    parse_file,
    parse_flag,
    parse_name,
    show_number,
)
from sanql.results import Budget

if TYPE_CHECKING:
    from sanql.policy.exact import Exact

_NEIGHBOURS: tuple[Neighbours, ...] = ("add-remove", "change-one")
_ACCOUNTING: tuple[Accounting, ...] = ("pure", "renyi")
_SHARE_OF_TEXTS = 12


def load(path: str | Path) -> Policy:
    """Return the policy that the file declares; raise PolicyError with all its faults otherwise.

    Only the policy file is read: whether the source exists and fits is for whoever opens it.
    """
    policy, faults = load_with_faults(path)
    if policy is None or faults:
        raise PolicyError(faults)
    return policy


def load_with_faults(path: str | Path) -> tuple[Policy | None, list[Fault]]:
    """Return a policy with all its faults.

    With faults it is good for one thing: to look whether the source fits what could be read of it,
    so that those faults can be told in the same breath. It is None where not even that makes sense.
    """
    file = Path(path).absolute()
    document = read_document(file)
    faults = Faults(document.lines)
    policy = _read_policy(Section((), document.content, faults), file)
    return policy, faults.in_order()


def _read_policy(root: Section, file: Path) -> Policy | None:
    _check_sections(root)
    tables = read_tables(root)
    engine = read_engine(root, file.parent)
    _check_texts(root, tables, engine.memory_bytes)
    _check_identifying(root, tables)
    dataset = root.section("dataset", "write [dataset] and its keys below it")
    if dataset is None:
        if "dataset" not in root.content:
            root.fault("dataset", "[dataset] is missing", "write [dataset] and its keys below it")
        return None
    dataset.allow(KEYS["dataset"])
    name = dataset.require("name", parse_name, "name the dataset")
    source = read_source(dataset, file.parent)
    ledger = dataset.read("ledger", _parse_ledger, "name the file that keeps the account")
    head = dataset.read("head", parse_file, "name a file elsewhere that pins the account's head")
    password_file = dataset.read(
        "ledger_password_file", parse_file, "name a file that holds the password, and nothing else"
    )
    scratch = dataset.read("scratch", parse_flag, "write scratch = true, or leave it out")
    neighbours = dataset.require(
        "neighbours",
        one_of(_NEIGHBOURS),
        'write "add-remove" to hide whether a unit is in the data, "change-one" to hide what its'
        " data are",
    )
    accounting = dataset.require(
        "accounting",
        one_of(_ACCOUNTING),
        'write "pure" to add up epsilons, "renyi" to get more from a budget with a delta',
    )
    signed = dataset.read(
        "second_signature", parse_flag, "write second_signature = true, or leave it out"
    )
    failures_max = dataset.read(
        "failures_max", integer_between(1, FAILURES_MOST), "write how many failures are borne"
    )
    failures_total_max = dataset.read(
        "failures_total_max",
        integer_between(1, FAILURES_MOST),
        "write how many failures of all analysts together are borne",
    )
    delta_per_query = dataset.read(
        "delta_per_query", _parse_delta_per_query, "write a probability such as 1e-9"
    )
    least = dataset.read(
        "epsilon_per_query_min", parse_epsilon, "write the least a question costs, such as 0.001"
    )
    kinds = read_kinds(root, accounting, neighbours)
    budget = _read_whole_budget(root, dataset, kinds, accounting, neighbours)
    largest = largest_of(kinds) or budget
    analysts = read_analysts(root, accounting, largest, neighbours)
    coalitions = read_coalitions(root, accounting, largest, neighbours, None if kinds else budget)
    _check_prices(dataset, budget, delta_per_query, least)
    _check_engine(root, engine, tables)
    exact, exact_together = _read_exact(root, dataset, tables, budget)
    auto_bounds = read_auto_bounds(root, dataset, budget)
    declared = root.content.get("table")
    if source is None or not isinstance(declared, Mapping) or len(tables) < len(declared):
        return None
    # what is missing has left a fault, so nobody will ask a policy with the stand-ins below
    name = name or "unnamed"
    # beside that of the data's own account, so that a policy can be rehearsed and used in turn
    own_name = f"{name}.scratch.ledger" if scratch else f"{name}.ledger"
    database = None
    if isinstance(ledger, LedgerDatabase):
        database = ledger.from_folder(file.parent, password_file)
        database = replace(database, ledger=ledger.ledger or own_name.removesuffix(".ledger"))
        ledger = None
    elif password_file is not None:
        dataset.fault(
            "ledger_password_file",
            "the ledger is a file, which has no password",
            'leave it out, or write ledger = "postgresql://…"',
        )
    ledger_path = file.parent / (ledger or own_name)
    origin = None if isinstance(source, str) else source
    source_path = file.parent / (
        source if isinstance(source, str) else _snapshot_of(ledger or f"{name}.ledger")
    )
    if ledger_path in (file, source_path):
        dataset.fault(
            "ledger",
            f"{quote(ledger_path.name)} is the policy or the source itself",
            "name a file of its own",
        )
    if head is not None and file.parent / head in (
        *(file, source_path, ledger_path),
        ledger_path.with_name(ledger_path.name + ".head"),
    ):
        dataset.fault(
            "head",
            f"{quote(head)} is the policy, the source, the ledger or the head beside it",
            "name a file of its own, on another disk",
        )
    return Policy(
        path=file,
        name=name,
        source=str(source_path),
        ledger=ledger_path,
        neighbours=neighbours or "add-remove",
        budget=budget or Budget(Fraction(0), Fraction(0)),
        accounting=accounting or "pure",
        tables=_with_fewest_units(dataset, tables),
        analysts=analysts,
        coalitions=coalitions,
        engine=engine,
        delta_per_query=delta_per_query,
        failures_max=FAILURES_MAX_DEFAULT if failures_max is None else failures_max,
        exact=exact,
        auto_bounds=auto_bounds,
        failures_total_max=failures_total_max,
        epsilon_per_query_min=EPSILON_PER_QUERY_MIN_DEFAULT if least is None else least,
        head=None if head is None or scratch else file.parent / head,
        scratch=bool(scratch),
        second_signature=bool(signed),
        ledger_database=database,
        origin=origin,
        kinds=kinds,
        exact_together=exact_together,
        continual=read_continual(root, tables, budget),
        alerts_at=read_alerts(dataset),
        attackers=stated_attackers(root),
    )


def _with_fewest_units(dataset: Section, tables: Mapping[str, Table]) -> dict[str, Table]:
    """Return the tables, the private ones with how many units a group needs whose key is selected."""
    fewest = dataset.read(
        "units_per_selected_group_min",
        integer_between(1, UNITS_PER_GROUP_MOST),
        "write how many units a group needs whose key is selected privately, such as 10",
    )
    if fewest is None:
        return dict(tables)
    return {
        name: table if table.public else replace(table, units_per_selected_group_min=fewest)
        for name, table in tables.items()
    }


def _check_prices(
    dataset: Section,
    budget: Budget | None,
    delta_per_query: Fraction | None,
    least: Fraction | None,
) -> None:
    """Note prices of single questions that the whole budget could not pay."""
    if budget is not None and delta_per_query is not None and delta_per_query > budget.delta:
        dataset.fault(
            "delta_per_query",
            f"{show_number(delta_per_query)} is more than the dataset's delta"
            f" {show_number(budget.delta)} and could never be spent",
            "lower it, or leave it out",
        )
    if budget is not None and least is not None and least > budget.epsilon:
        dataset.fault(
            "epsilon_per_query_min",
            f"{show_number(least)} is more than the dataset's epsilon"
            f" {show_number(budget.epsilon)}: nothing could be asked",
            "lower it, or leave it out",
        )


def _check_engine(root: Section, engine: EngineLimits, tables: Mapping[str, Table]) -> None:
    """Note tables of two kinds where machines share the work: what counts there does not add up."""
    for table in tables.values():
        if engine.spark is not None and table.second is not None:
            root.fault(
                ("table", table.name, "privacy_unit"),
                "rows of two kinds of unit are counted on one machine, and a cluster computes here",
                "choose the engine of this machine, or name one kind",
            )


def _read_whole_budget(
    root: Section,
    dataset: Section,
    kinds: Mapping[str, Kind],
    accounting: Accounting | None,
    neighbours: Neighbours | None,
) -> Budget | None:
    """Return the dataset's budget, or what is within those of all kinds of unit that it has."""
    if "unit" not in root.content:
        return require_budget(dataset, accounting, neighbours)
    if "budget" in dataset.content:
        dataset.fault(
            "budget", "each kind of unit has a budget of its own", "write it under [unit.NAME]"
        )
    if "exact" in root.content:
        root.fault(
            "exact",
            "exact answers are proved of one kind of unit, and the dataset has several",
            "leave [exact] out, or declare the table in a dataset of its own",
        )
    return within_all(kinds)


def _snapshot_of(ledger: str) -> Path:
    """Return where a snapshot of data is kept that are no files here: beside the ledger."""
    return Path(ledger).with_suffix(".tables")


def _check_sections(root: Section) -> None:
    for key in root.content:
        if key not in SECTIONS:
            root.fault(key, f"unknown section {quote(key)}", suggest(key, SECTIONS))


def _read_exact(
    root: Section, dataset: Section, tables: Mapping[str, Table], budget: Budget | None
) -> tuple[Mapping[str, Exact], Budget | None]:
    """Return the exact releases that are declared, and what they may have together."""
    if "exact" not in root.content:
        return {}, _read_exact_together(dataset, {})
    # certificates bring numerical libraries along, which most policies do not need
    from sanql.policy.exact import read_exact

    exact = read_exact(root, tables, budget)
    return exact, _read_exact_together(dataset, exact)


def _read_exact_together(dataset: Section, exact: Mapping[str, Exact]) -> Budget | None:
    """Return the owner's cap on all exact releases together; one that no release fits is a fault."""
    remedy = "write exact_together = { epsilon = …, delta = … }"
    section = dataset.section("exact_together", remedy)
    if section is None:
        return None
    section.allow(KEYS["exact_together"])
    epsilon = section.require("epsilon", parse_epsilon, "write the most that is good enough")
    delta = section.require("delta", parse_delta, "write a delta such as 1e-6")
    if epsilon is None or delta is None:
        return None
    for name, release in exact.items():
        if release.accept.epsilon > epsilon:
            section.fault(
                "epsilon",
                f"[exact.{name}] accepts {show_number(release.accept.epsilon)}, which is more than all"
                " exact releases may have together: it could never be asked",
                "raise it, or accept less there",
            )
    return Budget(epsilon, delta)


def _parse_ledger(written: object) -> str | LedgerDatabase:
    if isinstance(written, str) and is_address(written):
        return parse_address(written)
    return parse_file(written)


def _check_texts(root: Section, tables: Mapping[str, Table], memory: int) -> None:
    """Fault texts so long that one person's rows could fill the memory in which they are read."""
    most = memory // (ROWS_READ_AT_ONCE * _SHARE_OF_TEXTS)
    for table in tables.values():
        for column in table.columns.values():
            if column.bytes_max is not None and column.bytes_max > most:
                root.fault(
                    ("table", table.name, "column", column.name, "bytes_max"),
                    f"{column.bytes_max:,} bytes are too many for the memory of {memory:,} bytes:"
                    f" {ROWS_READ_AT_ONCE:,} such texts, which are read at once, may take no more than a"
                    " twelfth of it",
                    f"write bytes_max = {most} or less, or more memory under [engine]",
                )


def _check_identifying(root: Section, tables: Mapping[str, Table]) -> None:
    """Fault columns that identify and have missing values read as others: rows would change hands."""
    identifying = {
        (name, column.lower()) for table in tables.values() for name, column in _identifiers(table)
    }
    for table in tables.values():
        for column in table.columns.values():
            if not column.nullable and (table.name, column.name.lower()) in identifying:
                root.fault(
                    ("table", table.name, "column", column.name, "nullable"),
                    "the column identifies, and a row that lacks what identifies is nobody's",
                    "leave nullable out",
                )


def _identifiers(table: Table) -> Iterator[tuple[str, str]]:
    """Yield tables and columns that say whose a row of a table is, or which row is meant."""
    if table.key is not None:
        yield table.name, table.key
    match table.unit:
        case ColumnUnit(column):
            yield table.name, column
            if table.second is not None:
                yield table.name, table.second.column
        case ViaUnit(column, other, key):
            yield table.name, column
            yield other, key
        case _:
            pass


def _parse_delta_per_query(written: object) -> Fraction:
    delta = parse_delta(written)
    if delta == 0:
        raise Mistake("0 is what a missing delta_per_query means", "leave delta_per_query out")
    return delta
