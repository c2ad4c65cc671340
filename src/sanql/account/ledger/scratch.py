"""Scratch accounts: rehearsals over data that belong to another account. They never release anything.

Data have one account, so a second budget over them is refused. Rehearsals need none: what a question
would cost, how exact it would be and how far a budget would go are told without a row. A scratch
account keeps charges in a ledger of its own and claims nothing, and whatever would read the data is
refused, public tables too: who says that a table is public need not be who owns it.

That it is a scratch account is in its first record, under the hash of every later one, and a policy must
say the same. So a scratch ledger that is renamed, copied, linked or named by another policy is never
opened as a real one, nor a real one as scratch, and neither is merged into the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sanql.account.charge import Charge
from sanql.errors import LedgerError, Refused
from sanql.numbers import show_upper
from sanql.policy import LedgerPlace


def never_releases() -> Refused:
    """Return the refusal of whatever would be an answer from the data, or would read them."""
    return Refused(
        "scratch_never_releases",
        "this is a scratch account (scratch = true in the policy), and no scratch account answers from"
        " the data",
        "for an answer, ask the data's own account, under a policy without scratch = true",
    )


def rehearsed(charges: Sequence[Charge]) -> Refused:
    """Return the refusal of a question that has been rehearsed, with what its answer would cost."""
    epsilon = show_upper(sum((charge.epsilon for charge in charges), Fraction(0)))
    delta = show_upper(sum((charge.delta for charge in charges), Fraction(0)))
    return Refused(
        "scratch_never_releases",
        f"the question would be answered for epsilon {epsilon}, delta {delta}, and that is charged to"
        " this scratch account (scratch = true in the policy); but no scratch account answers"
        " from the data",
        "`explain` tells how exact the answer would be; ask the data's own account for it, under a policy"
        " without scratch = true",
    )


def check_scratch(ledger: LedgerPlace, *, recorded: bool, wanted: bool) -> None:
    """Refuse a ledger that is a scratch account where the policy's is not, or the other way round."""
    if recorded and not wanted:
        raise LedgerError(
            "ledger_scratch",
            f"the ledger {str(ledger)!r} is that of a scratch account, and the policy's is none",
            "name another ledger: a scratch account never becomes one that answers",
        )
    if wanted and not recorded:
        raise LedgerError(
            "ledger_scratch",
            f"the policy has scratch = true, and the ledger {str(ledger)!r} is that of an account that"
            " answers",
            "leave ledger out, or name another: a rehearsal is not charged to the data's own account",
        )


def check_no_scratch(ledger: LedgerPlace, *, scratch: bool) -> None:
    """Refuse to move, merge or close a scratch account."""
    if scratch:
        raise LedgerError(
            "ledger_scratch",
            f"{str(ledger)!r} is, or would be, the ledger of a scratch account, which claims no data and"
            " promises nothing: there is nothing to move, merge or close",
            "delete the file when the rehearsal is over",
        )
