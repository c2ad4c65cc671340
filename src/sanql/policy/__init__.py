"""What the data owner declares: policy.toml → Policy, and a draft to begin from."""

from sanql.policy.draft import draft
from sanql.policy.load import load
from sanql.policy.model import (
    Accounting,
    Analyst,
    AutoBounds,
    Budget,
    Coalition,
    Column,
    ColumnType,
    ColumnUnit,
    Domain,
    EngineLimits,
    ListedDomain,
    Neighbours,
    Policy,
    RowUnit,
    Table,
    TableDomain,
    Unit,
    Value,
    ViaUnit,
)
from sanql.policy.units import identifiers, root_unit

__all__ = [
    "Accounting",
    "Analyst",
    "AutoBounds",
    "Budget",
    "Coalition",
    "Column",
    "ColumnType",
    "ColumnUnit",
    "Domain",
    "EngineLimits",
    "ListedDomain",
    "Neighbours",
    "Policy",
    "RowUnit",
    "Table",
    "TableDomain",
    "Unit",
    "Value",
    "ViaUnit",
    "draft",
    "identifiers",
    "load",
    "root_unit",
]
