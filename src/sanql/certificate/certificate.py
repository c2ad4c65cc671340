"""The guarantee that travels with an answer: what is claimed, why it is true, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from sanql.account import (
    Charge,
)
from sanql.certificate.chosen_values import values_chosen_in_words
from sanql.certificate.kinds_in_words import assumptions_of_kinds, limits_of_kinds
from sanql.certificate.limits_in_words import (
    limits_in_words,
    limits_may_cut,
    uneven_limits,
    values_per_unit,
)
from sanql.certificate.meaning_of_charge import meaning
from sanql.certificate.norms_in_words import bounding_in_words, norms_of_rows, sensitivity_told
from sanql.certificate.rows_left_out import rows_left_out_in_words
from sanql.measurements import Measured, Measurement
from sanql.mechanisms import Noise, NoNoise, SummedNoise
from sanql.plan import (
    Level,
    Mechanism,
    NoMechanism,
    OneGroup,
    Plan,
    PrivateKeys,
    PublicKeys,
    check_known_mechanism,
    shared_measurements,
    unit_in_words,
)
from sanql.policy import ColumnUnit, Neighbours
from sanql.profile import Profile
from sanql.question import PublicQuery, scans
from sanql.results import UNKNOWN_KEYS, Certificate


def certify_public(query: PublicQuery, neighbours: Neighbours) -> Certificate:
    """Return the certificate of rows of public tables: there is nobody to protect."""
    free = Charge((), Fraction(0), Fraction(0))
    names = ", ".join(dict.fromkeys(scan.table for scan in scans(query.rows)))
    return Certificate(
        definition="pure differential privacy",
        epsilon=free.epsilon,
        delta=free.delta,
        neighbours=neighbours,
        unit="nobody: the tables are public",
        mechanism=NoMechanism().name,
        theorem="what does not depend on the private data reveals nothing of it",
        measurements=(),
        aggregates=(),
        keys="as found",
        limits={},
        assumptions=(f"the policy declares {names} public",),
        meaning=meaning(free, "nobody", neighbours),
    )


def certify(
    plan: Plan,
    processing: tuple[str, ...] = (),
    profiles: Mapping[str, Profile] = MappingProxyType({}),
) -> Certificate:
    """Return the certificate of a plan's answer; `processing` says what is done to noisy values.

    `profiles`, of tables by name, tell what contribution limits keep.
    """
    charge, levels = plan.charge, plan.levels
    table, neighbours = plan.outline.table, plan.outline.neighbours
    left_out, mechanism = rows_left_out_in_words(plan), _mechanism(plan)
    unit = unit_in_words(table)
    return Certificate(
        definition=_definition(plan),
        epsilon=charge.epsilon,
        delta=charge.delta,
        neighbours=neighbours,
        unit=unit,
        mechanism=mechanism.name,
        theorem=mechanism.theorem,
        measurements=tuple(
            _of_level(plan, number) | _measurement(level, index, measurement)
            for number, level in enumerate(levels)
            for index, measurement in enumerate(level.measurements)
        ),
        aggregates=tuple(
            _of_level(plan, number) | {"aggregate": aggregate.text, "from": estimate.in_words()}
            for number, level in enumerate(levels)
            for aggregate, estimate in zip(level.query.aggregates, level.estimates, strict=True)
        ),
        keys="; ".join(f"{_prefix(plan, n)}{_keys(level)}" for n, level in enumerate(levels)),
        limits={
            f"{_prefix(plan, number)}{name}": limit
            for number, level in enumerate(levels)
            for name, limit in _limits(level).items()
        },
        assumptions=(
            *dict.fromkeys(said for level in levels for said in _assumptions(level)),
            *left_out,
            *_levels_in_words(plan),
            *processing,
        ),
        meaning=meaning(charge, unit, neighbours, table.protections),
        limits_in_words=limits_in_words(plan, profiles),
        limits_may_cut=limits_may_cut(plan, profiles),
        uneven_limits=_uneven_limits(plan),
        rows_left_out=left_out,
    )


def _of_level(plan: Plan, number: int) -> dict[str, object]:
    """Return which of several levels is meant; of one there is nothing to say."""
    return {"level": plan.names[number]} if plan.several else {}


def _prefix(plan: Plan, number: int) -> str:
    return f"{plan.names[number]}: " if plan.several else ""


def _levels_in_words(plan: Plan) -> tuple[str, ...]:
    """Return what a reader must know of several levels together."""
    if not plan.query.sets:
        return ()
    sentences = [
        "limits on a unit hold level by level, so exact numbers of different levels need not add up"
    ]
    if any(level.outline.filtering_keys for level in plan.levels):
        sentences.append(
            "rows with other keys than the declared ones are left out of every level whose keys are "
            "declared, also of totals"
        )
    shared = shared_measurements(plan)
    if shared:
        names = ", ".join(plan.names[level] for level in sorted(set().union(*shared)))
        sentences.append(
            f"rows, values and sums of the levels {names} are fitted to each other (weighted least "
            "squares), so that parts add up to totals; everything else is shown as measured. An "
            "interval is that of the number as measured, widened to hold the number shown"
        )
    else:
        sentences.append("all numbers are shown as measured, so parts need not add up to totals")
    return tuple(sentences)


def _uneven_limits(plan: Plan) -> str:
    return uneven_limits(plan, shared_measurements(plan)) if plan.several else ""


def _definition(plan: Plan) -> str:
    if plan.outline.free:
        return "perfect privacy: the answer is the same on all neighbouring datasets"
    if plan.charge.delta == 0:
        return "epsilon-differential privacy"
    return "(epsilon, delta)-differential privacy"


def _mechanism(plan: Plan) -> Mechanism:
    """Return the mechanism of the levels that have noise, which is one for all, if it is known."""
    noisy = [level for level in plan.levels if not level.outline.free]
    mechanisms = {level.priced.mechanism for level in noisy or plan.levels}
    if len(mechanisms) != 1:
        raise AssertionError(f"one answer has one mechanism, not {mechanisms}")
    (mechanism,) = mechanisms
    check_known_mechanism(mechanism)
    if mechanism == NoMechanism() and (plan.charge.events or not plan.outline.free):
        raise AssertionError("an answer that depends on units has noise")
    return mechanism


def _measurement(level: Level, index: int, measurement: Measurement) -> dict[str, object]:
    noise = level.noises[index]
    described: dict[str, object] = {
        "measures": measurement.kind.value,
        "mechanism": _mechanism_in_words(noise, measurement),
        "noise_standard_deviation": noise.standard_deviation * float(measurement.cell_step),
        "sensitivity": sensitivity_told(measurement),
        "grid": float(measurement.cell_step),
        "argument": noise.argument,
    }
    if index == level.outline.measuring.selection and not isinstance(noise, NoNoise):
        described["selects_keys"] = f"a key appears when {level.threshold_in_words}"
    return described


def _mechanism_in_words(noise: Noise, measurement: Measurement) -> str:
    if measurement.pair is None or not isinstance(noise, SummedNoise) or noise.count > 2:
        return noise.describe()
    return (
        "read off how far values are above and below the ends of their bounds, each with "
        f"{noise.noise.describe()} and together moved by {measurement.sensitivity.l1:,} steps at most"
    )


def _keys(level: Level) -> str:
    match level.outline.keys:
        case OneGroup():
            return "one group"
        case PublicKeys():
            return (
                "declared keys: every one appears, empty or not; rows with other keys are left out"
            )
        case PrivateKeys():
            if level.outline.free:
                return "keys of public data"
            others = (
                "; what all others have together is one row more" if level.outline.other else ""
            )
            fewest = level.fewest_units_in_words
            return (
                f"{UNKNOWN_KEYS} on distinct units: a key appears when {level.threshold_in_words}"
                f"{'' if fewest is None else f', and {fewest}'}{others}"
            )


def _limits(level: Level) -> dict[str, int]:
    if not isinstance(level.outline.table.unit, ColumnUnit):
        return {}
    if level.outline.table.second is not None:
        return limits_of_kinds(level)
    limits = level.outline.limits
    values = values_per_unit(level)
    return (
        {
            "groups_per_unit": limits.groups,
            "rows_per_unit": limits.rows,
            "rows_per_group": limits.rows_per_group,
        }
        | norms_of_rows(level)
        | ({"distinct_values_per_unit": max(values)} if values else {})
    )


def _assumptions(level: Level) -> tuple[str, ...]:
    table = level.outline.table
    if table.public:
        return (f"the owner declares the table {table.name} public",)
    assumptions = ["values outside a column's declared bounds are read as the nearest bound"]
    assumptions += assumptions_of_kinds(level)
    if isinstance(table.unit, ColumnUnit) and table.second is None:
        assumptions += [
            f"{table.unit.column} identifies each person in {table.name}; rows without it are left out",
            *bounding_in_words(level),
        ]
        if values_per_unit(level):
            assumptions.append(
                "distinct values are counted in an order of units drawn for this answer: each adds up to "
                "its limit of values that no unit before it has added, over all groups together"
            )
        assumptions += values_chosen_in_words(level)
    if level.outline.neighbours == "change-one":
        assumptions.append("the number of units is public")
    if any(measurement.kind is Measured.SUM for measurement in level.measurements):
        assumptions.append("sums are exact on the stated grid")
    assumptions.append("intervals cover the noise, not what limits and bounds took away")
    if isinstance(level.outline.keys, PrivateKeys):
        assumptions.append(
            "intervals of keys selected privately hold given that the key is shown: where the count "
            "that selects is near the threshold, its interval reaches further down"
        )
    return tuple(assumptions)
