"""Every key a policy may have, its widest values, and what holds where it is left out."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sanql.policy.model import EngineLimits

# The sections as an owner writes them; docs/policy.md explains each key, and a test compares.
KEYS: Mapping[str, tuple[str, ...]] = {
    "dataset": (
        "name",
        "source",
        "source_password_file",
        "schemas",
        "ledger",
        "ledger_password_file",
        "head",
        "scratch",
        "neighbours",
        "budget",
        "accounting",
        "second_signature",
        "delta_per_query",
        "failures_max",
        "failures_total_max",
        "epsilon_per_query_min",
        "units_per_selected_group_min",
        "auto_bounds",
        "exact_together",
        "alerts_at",
    ),
    "exact_together": ("epsilon", "delta"),
    "auto_bounds": ("epsilon",),
    "budget": ("epsilon", "delta", "attacker", "per", "total"),
    "attacker": (
        "prior",
        "posterior_at_most",
        "false_alarms",
        "hits_at_most",
        "group_of",
        "failure",
    ),
    "engine": ("memory", "deadline", "workers", "kind", "master", "layout", "encryption_key_file"),
    "analyst": ("budget", "epsilon_per_query"),
    "coalition": ("members", "budget"),
    "reserved": ("members", "share"),
    "continual": (
        "table",
        "of",
        "where",
        "by",
        "per",
        "start",
        "releases",
        "rows_per_unit",
        "epsilon",
        "delta",
    ),
    "unit": ("budget",),
    "table": (
        "public",
        "privacy_unit",
        "key",
        "unique",
        "rows_per_unit_max",
        "rows_per_group_max",
        "groups_per_unit_max",
        "summaries",
        "public_attributes",
        "group",
        "column",
    ),
    "group": ("size", "column"),
    "summaries": ("by", "of", "quantiles_of"),
    "column": ("type", "bounds", "precision", "domain", "total_bounds", "bytes_max", "nullable"),
    "domain": ("table", "column"),
    "exact": (
        "table",
        "column",
        "partition",
        "adversary",
        "accept",
        "records_min",
        "missing",
        "threshold",
        "function",
        "share",
    ),
    "adversary": (
        "class",
        "eta",
        "alpha",
        "width",
        "mass",
        "first",
        "last",
        "beta",
        "rate",
        "laws",
        "names",
        "weights",
        "known_records",
        "known_columns",
    ),
    "accept": ("epsilon", "delta"),
    "privacy_unit": ("via", "references"),
}
SECTIONS = (
    "dataset",
    "engine",
    "unit",
    "analyst",
    "coalition",
    "reserved",
    "table",
    "exact",
    "continual",
)
PERIODS = ("day", "week", "month", "quarter", "year")

ENGINE_DEFAULT = EngineLimits(memory_bytes=4 * 10**9, deadline_seconds=60.0, workers=1)
FAILURES_MAX_DEFAULT = 3
EPSILON_PER_QUERY_MIN_DEFAULT = Fraction(1, 1000)

EPSILON_LEAST = Fraction(1, 10**9)
EPSILON_MOST = Fraction(10**6)
FAILURES_MOST = 10**6
MEMORY_BYTES_LEAST = 256 * 10**6
MEMORY_BYTES_MOST = 10**15
DEADLINE_SECONDS_LEAST = Fraction(1, 10)
DEADLINE_SECONDS_MOST = Fraction(86_400)
WORKERS_MOST = 64

ROWS_MOST = 2**20
GROUP_MOST = 1000
UNITS_PER_GROUP_MOST = 9_999_999
DOMAIN_VALUES_MOST = 100_000
# At least one character fits, however many bytes it takes.
TEXT_BYTES_LEAST = 4
TEXT_BYTES_MOST = 1_000_000
# A double holds every integer up to here, so no engine rounds a bound or a fixed-point value.
GRID_MOST = 2**53
# One unit's sum stays this far inside a 64-bit integer, also when it is doubled by centring.
UNIT_SUM_MOST = 2**62
