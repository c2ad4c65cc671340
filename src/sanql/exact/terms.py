"""The guarantee of an exact release: its certificate, every assumption, and which claims stand alone.

**What depends on the data.** A certificate needs a least number of records in every cell, and how
many there are is data. It is computed from the *declared* number (or one found to pass), never
from the rows; more records only help (leaving records out is post-processing). Whether every cell
has that many is looked at once, over all cells whatever was asked, and refused with the same words
for every question.

*What that refusal tells.* One bit B, "every cell has at least records_min records". Classes with
uniform, lattice or binary records are declared for adversaries to whom it is public who is in the
table and in which cell. For such an adversary B is the same constant in the real world and in the
ideal one, where only the value of one record is missing, so releasing B besides the cells changes
no delta. To somebody who did not know the sizes it tells B and no more: the outcome is recorded,
so that the same declaration and source never yields a second bit. The numbers of records that
COUNT(*) and AVG show are public in the same sense, and the certificate says so. Histograms look at
no size at all: their certificate holds for every size, and small cells are shown as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from sanql.account import ExactClaim, ExactEntry, joint_guarantee, version_name
from sanql.errors import Refused
from sanql.exact.meaning import meaning_of_release
from sanql.mechanisms.noiseless import Adversary, delta_at, epsilon_at, others_enough, threshold_min
from sanql.mechanisms.noiseless import NoiselessCertificate as Certified
from sanql.numbers import number_upper
from sanql.policy import declaration_digest, first_declaration_digest, show_number
from sanql.policy.exact import Exact, ExactHistogram, ExactValues, ExactVerdict
from sanql.results import Budget, ExactCertificate

DEFINITION = "(epsilon, delta)-distributional differential privacy (DDP)"
CELL_SMALL = "a cell has fewer records than the certificate needs"


@dataclass(frozen=True)
class Terms:
    """A declared release with its certificate; `least` is the least cell, or what is shown of one.

    `certified` is at the epsilon that is accepted, `at_delta` at about the least epsilon that the
    accepted delta allows: two points of one curve, and both hold at once.
    """

    exact: Exact
    least: int
    certified: Certified
    at_delta: Certified


@lru_cache(maxsize=64)
def terms_of(exact: Exact) -> Terms:
    """Return the terms of a declaration, from what is declared alone; refuse what never passes."""
    epsilon, delta = exact.accept.epsilon, exact.accept.delta
    if not isinstance(exact, ExactHistogram):
        least, certified = _least_cell(exact)
        against: Adversary = exact.against(least - 1)
    else:
        known = exact.known_records
        least = exact.threshold or threshold_min(exact.prior, epsilon, delta, known=known)
        against = exact.against(least)
        certified = delta_at(against, epsilon)
    if Fraction(certified.delta_upper) > delta:  # the policy was checked; nothing is left to trust
        raise Refused("exact_not_certified", "the declared class does not pass", "add noise")
    return Terms(exact, least, certified, _least_epsilon(against, exact, certified))


def _least_epsilon(against: Adversary, exact: Exact, certified: Certified) -> Certified:
    """Return the certificate of about the least epsilon at the accepted delta."""
    try:
        return epsilon_at(against, exact.accept.delta, cap=exact.accept.epsilon)
    except Refused:  # what is accepted is about the least already
        return certified


def _least_cell(exact: ExactValues | ExactVerdict) -> tuple[int, Certified]:
    """Return the declared number of records of a cell, or one that is enough, with its certificate."""
    epsilon, delta = exact.accept.epsilon, exact.accept.delta
    if exact.records_min is not None:
        return exact.records_min, delta_at(exact.against(exact.records_min - 1), epsilon)
    others, certified = others_enough(exact.against(exact.known_records + 1), epsilon, delta)
    return others + 1, certified


def claim_of(exact: Exact, version: int, formerly: str = "") -> ExactClaim:
    """Return the claim of a release, without its certificate, to look it up among recorded releases.

    `formerly` is the fingerprint by which an older ledger knows this version of the data.
    """
    accept = exact.accept
    return ExactClaim(
        exact.footprint,
        declaration_digest(exact),
        version_name(version),
        exact.cells.names,
        exact.cells.count,
        accept.epsilon,
        accept.delta,
        {},
        first_declaration_digest(exact),
        formerly,
    )


def certified_claim(exact: Exact, version: int, formerly: str = "") -> ExactClaim:
    """Return the claim that is put on disk before a row is read."""
    terms = terms_of(exact)
    certified = terms.certified
    certificate: dict[str, object] = {
        "definition": DEFINITION,
        "epsilon": number_upper(exact.accept.epsilon),
        "delta": certified.delta_upper,
        "epsilon_least": terms.at_delta.epsilon,
        "delta_accepted": number_upper(exact.accept.delta),
        "meaning": meaning_of_release(exact, terms.least, (certified, terms.at_delta)),
        "class": certified.adversary,
        "theorem": certified.theorem,
        "tiers": list(certified.tiers),
        "assumptions": [*certified.assumptions, *_assumptions(terms)],
        "protects": _protects(exact),
        "mechanism": "none: the verdicts are exact"
        if isinstance(exact, ExactVerdict)
        else "none: the cells are exact",
        "stands_alone": STANDS_ALONE,
        ("threshold" if isinstance(exact, ExactHistogram) else "records_min"): terms.least,
    }
    claim = claim_of(exact, version, formerly)
    return replace(claim, delta=Fraction(certified.delta_upper), certificate=certificate)


STANDS_ALONE = (
    "This guarantee is about this exact release only and holds only against the class named. It is "
    "no differential privacy and is not part of any budget. Noisy answers about the same records "
    "keep their own guarantee, which allows for any other knowledge, exact answers included. The "
    "two together have no proved guarantee of this kind: coupled-worlds Theorem 6 would need the "
    "class to hold for somebody who has seen the noisy answers too."
)


def _assumptions(terms: Terms) -> list[str]:
    exact = terms.exact
    cells = exact.cells
    where = f"one for each {' and '.join(cells.names)}" if cells.names else "the whole table"
    assumptions = [
        f"the cells are fixed in advance ({where}: {cells.count:,}); records with other keys are in none",
        "only the verdict on each cell is answered, and the source is released once"
        if isinstance(exact, ExactVerdict)
        else "only unions of these cells are answered, and the source is released once",
    ]
    if isinstance(exact, ExactVerdict):
        assumptions += [
            "who is in the table and in which cell, and so how many records a cell has, is public",
            f"every cell has at least {terms.least:,} records; that is checked",
            f"a record without a listed value counts as {exact.values[exact.missing]}",
            "each person has one record",
        ]
    if isinstance(exact, ExactValues):
        value = show_number(exact.missing * exact.grid)
        assumptions += [
            "who is in the table and in which cell, and so how many records a cell has, is public",
            f"every cell has at least {terms.least:,} records; that is checked",
            f"a record without a value counts as {value}, values are multiples of "
            f"{show_number(exact.grid)} between {show_number(exact.low * exact.grid)} and "
            f"{show_number(exact.high * exact.grid)}",
            "each person has one record",
        ]
    if not isinstance(exact, ExactHistogram) and exact.known_columns:
        known = ", ".join(exact.known_columns)
        assumptions.append(f"all this holds for somebody who knows {known} of everybody")
    return assumptions


def _protects(exact: Exact) -> str:
    if not isinstance(exact, ExactHistogram):
        return f"the {exact.column} of one record of {exact.table}; not that it is there"
    return f"whether somebody was sampled into {exact.table}, and into which cell"


def together(
    claim: ExactClaim, book: Iterable[ExactEntry], cap: Budget | None
) -> Mapping[str, object] | None:
    """Return the guarantee of a release and all in the book, by Theorem 6; None where it is alone.

    A release that is only asked about counts as well: what is shown is what would hold after it. The
    owner's cap, if there is one, is shown with it.
    """
    made = [entry.claim for entry in book]
    claims = made if any(one.name == claim.name for one in made) else [*made, claim]
    if len(claims) < 2 and cap is None:
        return None
    joint = joint_guarantee(claims)
    capped = {"epsilon": number_upper(cap.epsilon), "delta": number_upper(cap.delta)} if cap else {}
    return {
        "releases": [one.name for one in claims],
        "epsilon": number_upper(joint.epsilon),
        "delta": number_upper(joint.delta),
        "theorem": "Bassily, Groce, Katz, Smith, Theorem 6: each class holds for somebody who knows "
        "the other columns",
        **({"at_most": capped} if capped else {}),
    }


def certificate_of(
    claim: ExactClaim,
    book: Iterable[ExactEntry] = (),
    differences: Sequence[str] = (),
    cap: Budget | None = None,
) -> ExactCertificate:
    """Return the certificate of a release, with the joint guarantee of it and all others on record.

    `differences` say in what the numbers asked for differ from those of SQL; `cap` is what the owner
    lets all exact releases have together.
    """
    joint = together(claim, book, cap)
    return ExactCertificate(
        {
            **claim.certificate,
            **({"together": joint} if joint else {}),
            **({"notes": list(differences)} if differences else {}),
        }
    )


def cells_too_small(exact: Exact) -> Refused:
    """Return the refusal of cells that are too small; its words depend on the declaration only."""
    least = terms_of(exact).least
    count = exact.cells.count
    cells = "the one cell" if count == 1 else f"at least one of the {count:,} cells"
    declared = not isinstance(exact, ExactHistogram) and exact.records_min is not None
    why = "the owner declares as records_min for" if declared else "are enough for"
    return Refused(
        "exact_cell_small",
        f"{cells} of [exact.{exact.name}] has fewer than {least:,} records, which {why} epsilon "
        f"{show_number(exact.accept.epsilon)} at delta {float(exact.accept.delta):g} with "
        f"{exact.known_records:,} known records",
        "ask with noise: pass an epsilon; cells and classes are fixed before the data are looked "
        "at, so that neither is chosen anew to fit them",
    )
