"""What the data owner declares: policy.toml → Policy, and a draft to begin from."""

from sanql.policy.document import lines_of
from sanql.policy.drafting import draft, look_form
from sanql.policy.forms import declaration_digest, domain_form, first_declaration_digest, table_form
from sanql.policy.keys import PERIODS, ROWS_MOST
from sanql.policy.loading import load, load_with_faults
from sanql.policy.model import (
    Accounting,
    Analyst,
    AutoBounds,
    Coalition,
    Column,
    ColumnUnit,
    Continual,
    Domain,
    EngineLimits,
    Group,
    Kind,
    ListedDomain,
    Neighbours,
    Policy,
    Protections,
    RowUnit,
    SecondKind,
    SparkCluster,
    StatedAttacker,
    Summaries,
    Table,
    TableDomain,
    Unit,
    Value,
    ViaUnit,
)
from sanql.policy.origin import DeltaTables, IcebergTables, ObjectStore, Origin, PassedTables
from sanql.policy.periods import first_day, period_after, period_of
from sanql.policy.postgres_address import (
    LedgerDatabase,
    LedgerPlace,
    PostgresDatabase,
    SourceDatabase,
    named_place,
)
from sanql.policy.presets import names_somebody, units_by_name
from sanql.policy.proposals import DOMAIN_PROPOSED_MOST, SeenColumn, SeenTables
from sanql.policy.section import fold, place_of
from sanql.policy.smartnoise import from_smartnoise
from sanql.policy.units import identifiers, own_unit, root_unit, unit_path
from sanql.policy.values import show_number
from sanql.results import Budget, PacedBudget

__all__ = [
    "DOMAIN_PROPOSED_MOST",
    "PERIODS",
    "ROWS_MOST",
    "Accounting",
    "Analyst",
    "AutoBounds",
    "Budget",
    "Coalition",
    "Column",
    "ColumnUnit",
    "Continual",
    "DeltaTables",
    "Domain",
    "EngineLimits",
    "Group",
    "IcebergTables",
    "Kind",
    "LedgerDatabase",
    "LedgerPlace",
    "ListedDomain",
    "Neighbours",
    "ObjectStore",
    "Origin",
    "PacedBudget",
    "PassedTables",
    "Policy",
    "PostgresDatabase",
    "Protections",
    "RowUnit",
    "SecondKind",
    "SeenColumn",
    "SeenTables",
    "SourceDatabase",
    "SparkCluster",
    "StatedAttacker",
    "Summaries",
    "Table",
    "TableDomain",
    "Unit",
    "Value",
    "ViaUnit",
    "declaration_digest",
    "domain_form",
    "draft",
    "first_day",
    "first_declaration_digest",
    "fold",
    "from_smartnoise",
    "identifiers",
    "lines_of",
    "load",
    "load_with_faults",
    "look_form",
    "named_place",
    "names_somebody",
    "own_unit",
    "period_after",
    "period_of",
    "place_of",
    "root_unit",
    "show_number",
    "table_form",
    "unit_path",
    "units_by_name",
]
