"""One certificate of several statistics that are measured for one charge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType

from sanql.account import Charge
from sanql.certificate.certificate import certify
from sanql.certificate.meaning_of_charge import meaning
from sanql.plan import NoMechanism, Plan
from sanql.profile import Profile
from sanql.results import Certificate


def certify_together(
    plans: Sequence[Plan],
    charge: Charge,
    processing: tuple[str, ...] = (),
    profiles: Mapping[str, Profile] = MappingProxyType({}),
) -> Certificate:
    """Return the one certificate of plans that are measured for one charge."""
    each = [certify(plan, (), profiles) for plan in plans]
    first = each[0]
    numbered = [_numbered(own, number) for number, own in enumerate(each, 1)]
    named = numbered if len(each) > 1 else each
    declared = (plan.outline.table.protections for plan in plans)
    protections = next((own for own in declared if own is not None), None)
    units = dict.fromkeys(own.unit for own in each if not own.unit.startswith("nobody"))
    unit = " and ".join(units) or first.unit
    noisy = [own for own in each if own.mechanism != NoMechanism().name] or each
    delta = charge.delta > 0
    return replace(
        first,
        definition=(
            "(epsilon, delta)-differential privacy"
            if delta
            else max(noisy, key=_epsilon).definition
        ),
        epsilon=charge.epsilon,
        delta=charge.delta,
        unit=unit,
        mechanism=" and ".join(dict.fromkeys(own.mechanism for own in noisy)),
        theorem=" ".join(
            [
                *dict.fromkeys(own.theorem for own in noisy),
                *(
                    ["Their charges add up, whatever is asked in the light of the first answers."]
                    if len(each) > 1
                    else []
                ),
            ]
        ),
        measurements=tuple(said for own in named for said in own.measurements),
        aggregates=tuple(said for own in named for said in own.aggregates),
        keys="; ".join(dict.fromkeys(own.keys for own in named)),
        limits={name: limit for own in named for name, limit in own.limits.items()},
        assumptions=(*dict.fromkeys(said for own in each for said in own.assumptions), *processing),
        meaning=meaning(charge, unit, plans[0].outline.neighbours, protections),
        limits_in_words=_each_once(own.limits_in_words for own in each),
        limits_may_cut=_each_once(own.limits_may_cut for own in each),
        uneven_limits=_each_once(own.uneven_limits for own in each),
        rows_left_out=tuple(dict.fromkeys(line for own in each for line in own.rows_left_out)),
    )


def _epsilon(certificate: Certificate) -> Fraction:
    return certificate.epsilon


def _each_once(lines: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(line for line in lines if line))


def _numbered(certificate: Certificate, number: int) -> Certificate:
    """Return a certificate that says of which of several statistics it speaks."""
    which = {"statistic": number}
    return replace(
        certificate,
        measurements=tuple(which | said for said in certificate.measurements),
        aggregates=tuple(which | said for said in certificate.aggregates),
        keys=f"statistic {number}: {certificate.keys}",
        limits={f"statistic {number}: {name}": n for name, n in certificate.limits.items()},
    )
