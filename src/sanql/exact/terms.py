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

from sanql.account import ExactClaim, ExactEntry, version_name
from sanql.errors import Refused
from sanql.mechanisms.noiseless import NoiselessCertificate as Certified
from sanql.mechanisms.noiseless import delta_at, others_enough, threshold_min
from sanql.numbers import number_upper
from sanql.policy import declaration_digest, first_declaration_digest, show_number
from sanql.policy.exact import Exact, ExactValues
from sanql.results import ExactCertificate
from sanql.theory.constants import composed_delta
from sanql.theory.exact import exp_upper

DEFINITION = "(epsilon, delta)-distributional differential privacy (DDP)"
CELL_SMALL = "a cell has fewer records than the certificate needs"


@dataclass(frozen=True)
class Terms:
    """A declared release with its certificate; `least` is the least cell, or what is shown of one."""

    exact: Exact
    least: int
    certified: Certified


@lru_cache(maxsize=64)
def terms_of(exact: Exact) -> Terms:
    """Return the terms of a declaration, from what is declared alone; refuse what never passes."""
    epsilon, delta = exact.accept.epsilon, exact.accept.delta
    if isinstance(exact, ExactValues):
        least, certified = _least_cell(exact)
    else:
        known = exact.known_records
        least = exact.threshold or threshold_min(exact.prior, epsilon, delta, known=known)
        certified = delta_at(exact.against(least), epsilon)
    if Fraction(certified.delta_upper) > delta:  # the policy was checked; nothing is left to trust
        raise Refused("exact_not_certified", "the declared class does not pass", "add noise")
    return Terms(exact, least, certified)


def _least_cell(exact: ExactValues) -> tuple[int, Certified]:
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
        "class": certified.adversary,
        "theorem": certified.theorem,
        "tiers": list(certified.tiers),
        "assumptions": [*certified.assumptions, *_assumptions(terms)],
        "protects": _protects(exact),
        "mechanism": "none: the cells are exact",
        "stands_alone": STANDS_ALONE,
        ("records_min" if isinstance(exact, ExactValues) else "threshold"): terms.least,
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
        "only unions of these cells are answered, and the source is released once",
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
        known = ", ".join(exact.known_columns)
        if known:
            assumptions.append(f"all this holds for somebody who knows {known} of everybody")
    return assumptions


def _protects(exact: Exact) -> str:
    if isinstance(exact, ExactValues):
        return f"the {exact.column} of one record of {exact.table}; not that it is there"
    return f"whether somebody was sampled into {exact.table}, and into which cell"


def together(entries: Iterable[ExactEntry]) -> Mapping[str, object] | None:
    """Return the guarantee of all exact releases of a book, by Theorem 6; None for a single one."""
    claims = [entry.claim for entry in entries]
    if len(claims) < 2:
        return None
    epsilon, delta = claims[0].epsilon, claims[0].delta
    for claim in claims[1:]:
        delta = composed_delta(_factor(epsilon), delta, _factor(claim.epsilon), claim.delta)
        epsilon += claim.epsilon
    return {
        "releases": [claim.name for claim in claims],
        "epsilon": number_upper(epsilon),
        "delta": number_upper(delta),
        "theorem": "Bassily, Groce, Katz, Smith, Theorem 6: each class holds for somebody who knows "
        "the other columns",
    }


def _factor(epsilon: Fraction) -> Fraction:
    """Return a number that is at least e^epsilon."""
    return Fraction(exp_upper(number_upper(epsilon)))


def certificate_of(
    claim: ExactClaim, book: Iterable[ExactEntry] = (), differences: Sequence[str] = ()
) -> ExactCertificate:
    """Return the certificate of a release, with the joint guarantee of all where others are on record.

    `differences` say in what the numbers asked for differ from those of SQL.
    """
    joint = together(book)
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
    declared = isinstance(exact, ExactValues) and exact.records_min is not None
    why = "the owner declares as records_min for" if declared else "are enough for"
    return Refused(
        "exact_cell_small",
        f"{cells} of [exact.{exact.name}] has fewer than {least:,} records, which {why} epsilon "
        f"{show_number(exact.accept.epsilon)} at delta {float(exact.accept.delta):g} with "
        f"{exact.known_records:,} known records",
        "ask with noise: pass an epsilon; cells and classes are fixed before the data are looked "
        "at, so that neither is chosen anew to fit them",
    )
