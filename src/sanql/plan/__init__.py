"""Question → bounded, priced plan; touches no data."""

from sanql.plan.accuracy import half_width, least_epsilon
from sanql.plan.bins import least_seen
from sanql.plan.bounds_needed import Posed, Read, guess, guessed, pose
from sanql.plan.delta import check_selects, default_delta
from sanql.plan.find_bounds import Ends, Found, Place, Search, search, with_bounds
from sanql.plan.join_multiplicity import repeated
from sanql.plan.keys import KeyColumn, OneGroup, PrivateKeys, PublicKeys, check_strategy
from sanql.plan.level import Level, LevelOutline
from sanql.plan.lookups import Lookup
from sanql.plan.mechanism import Mechanism, NoMechanism
from sanql.plan.other_groups import adds_up, is_told
from sanql.plan.plan import Outline, Plan, outline, price, unit_in_words
from sanql.plan.pricing import check_known
from sanql.plan.reading import limits_joined
from sanql.plan.reconcilable import in_common, noise_variance
from sanql.plan.unit_sizes import (
    EDGES,
    Choice,
    choices,
    grouped_by,
    groups_of_units,
    number_of_groups,
    rows_of_units,
    seen,
)

__all__ = [
    "EDGES",
    "Choice",
    "Ends",
    "Found",
    "KeyColumn",
    "Level",
    "LevelOutline",
    "Lookup",
    "Mechanism",
    "NoMechanism",
    "OneGroup",
    "Outline",
    "Place",
    "Plan",
    "Posed",
    "PrivateKeys",
    "PublicKeys",
    "Read",
    "Search",
    "adds_up",
    "check_known",
    "check_selects",
    "check_strategy",
    "choices",
    "default_delta",
    "grouped_by",
    "groups_of_units",
    "guess",
    "guessed",
    "half_width",
    "in_common",
    "is_told",
    "least_epsilon",
    "least_seen",
    "limits_joined",
    "noise_variance",
    "number_of_groups",
    "outline",
    "pose",
    "price",
    "repeated",
    "rows_of_units",
    "search",
    "seen",
    "unit_in_words",
    "with_bounds",
]
