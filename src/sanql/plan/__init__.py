"""Question → Plan: what is measured, under which contribution limits, with which noise, at what price."""

from sanql.plan.accuracy import half_width, least_epsilon
from sanql.plan.batch import BatchPlan, PlannedQuestion, ReadFrom, plan_batch
from sanql.plan.best_norm import Lengths, UnitLengths, ValueSpread
from sanql.plan.bins import FALSE_ALARM
from sanql.plan.bounds_needed import (
    ParsedQuestion,
    ParseOver,
    guess_bounds,
    parse_guessing_bounds,
    with_guessed_bounds,
)
from sanql.plan.chosen_values import as_chosen, groups_known, noise_for
from sanql.plan.delta import check_selection_delta, default_delta
from sanql.plan.find_bounds import (
    BoundsSearch,
    Ends,
    FoundBounds,
    QualifiedColumn,
    plan_bounds_search,
    with_bounds,
)
from sanql.plan.join_multiplicity import repetitions_in_words
from sanql.plan.keys import KeyColumn, OneGroup, PrivateKeys, PublicKeys, check_strategy, keys_of
from sanql.plan.known_norms import (
    NO_LIMITS,
    ChosenLimits,
    limits_by_profile,
    with_known_norms,
)
from sanql.plan.known_units import KnownUnits
from sanql.plan.level import Level, LevelOutline
from sanql.plan.lookups import Lookup
from sanql.plan.mechanism import Mechanism, NoMechanism, Priced
from sanql.plan.norms import counted_by, scaling_of
from sanql.plan.other_groups import adds_up, is_known_of_other_groups
from sanql.plan.part_of_batch import read_from_batch
from sanql.plan.plan import Measurable, Outline, Plan, outline, price, unit_in_words
from sanql.plan.pricing import check_known_mechanism, mechanism_of_norm
from sanql.plan.reading import column_of, limits_joined
from sanql.plan.reconcilable import noise_variance, shared_measurements
from sanql.plan.stages import StagedPlan, plan_stages
from sanql.plan.unit_norms import norms_of_units, units_by_group
from sanql.plan.unit_sizes import (
    SIZE_EDGES,
    VALUE_EDGES,
    grouping_column,
    groups_of_units,
    limit_choices,
    number_of_groups,
    rows_of_units,
    unlimited,
    values_of_units,
)
from sanql.plan.unit_spread import OCTAVES, PLACES, base_and_width, spread_of_units

__all__ = [
    "FALSE_ALARM",
    "NO_LIMITS",
    "OCTAVES",
    "PLACES",
    "SIZE_EDGES",
    "VALUE_EDGES",
    "BatchPlan",
    "BoundsSearch",
    "ChosenLimits",
    "Ends",
    "FoundBounds",
    "KeyColumn",
    "KnownUnits",
    "Lengths",
    "Level",
    "LevelOutline",
    "Lookup",
    "Measurable",
    "Mechanism",
    "NoMechanism",
    "OneGroup",
    "Outline",
    "ParseOver",
    "ParsedQuestion",
    "Plan",
    "PlannedQuestion",
    "Priced",
    "PrivateKeys",
    "PublicKeys",
    "QualifiedColumn",
    "ReadFrom",
    "StagedPlan",
    "UnitLengths",
    "ValueSpread",
    "adds_up",
    "as_chosen",
    "base_and_width",
    "check_known_mechanism",
    "check_selection_delta",
    "check_strategy",
    "column_of",
    "counted_by",
    "default_delta",
    "grouping_column",
    "groups_known",
    "groups_of_units",
    "guess_bounds",
    "half_width",
    "is_known_of_other_groups",
    "keys_of",
    "least_epsilon",
    "limit_choices",
    "limits_by_profile",
    "limits_joined",
    "mechanism_of_norm",
    "noise_for",
    "noise_variance",
    "norms_of_units",
    "number_of_groups",
    "outline",
    "parse_guessing_bounds",
    "plan_batch",
    "plan_bounds_search",
    "plan_stages",
    "price",
    "read_from_batch",
    "repetitions_in_words",
    "rows_of_units",
    "scaling_of",
    "shared_measurements",
    "spread_of_units",
    "unit_in_words",
    "units_by_group",
    "unlimited",
    "values_of_units",
    "with_bounds",
    "with_guessed_bounds",
    "with_known_norms",
]
