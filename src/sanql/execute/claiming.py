"""A ledger that is opened over a source: only if the source is, or can become, its account's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sanql.account.chain import check_readable
from sanql.account.claims import Claims, Holder
from sanql.account.ledger import Ledger
from sanql.errors import PolicyError
from sanql.execute.site import site_of

if TYPE_CHECKING:
    from sanql.policy.model import Policy


def open_claimed(policy: Policy, terms: Mapping[str, str]) -> Ledger:
    """Return the policy's ledger; LedgerError when its data belong to another account.

    An account that has none yet claims the data before its first charge, or at once where it has charges
    from before there were claims, as a ledger of 0.1.0 has. A scratch account claims none
    and never reads them, whoever's they are. While the source is not there,
    or does not fit the policy, nothing can be asked, and the ledger can still be read.
    """
    claims = None if policy.scratch else _claims_on(policy)
    if claims is not None and not check_readable(policy.ledger):
        claims.check_absent(policy.ledger)
    ledger = Ledger.open(policy, terms)
    try:
        if claims is not None:
            _check(claims, ledger, policy)
            if ledger.owner.state.account is None and ledger.used:
                claim(ledger, policy)
    except BaseException:
        ledger.close()
        raise
    return ledger


def claim(ledger: Ledger, policy: Policy) -> None:
    """Claim the policy's data for the ledger's account; nothing may be charged before."""
    if ledger.scratch or ledger.owner.state.retired is not None:
        return  # nothing is answered from either, and a closed account takes no charge
    site = site_of(policy)
    claims = Claims(site)
    _check(claims, ledger, policy)
    former = [found.account for found in claims.found() if found.released]
    account = ledger.owner.claim(site.root.path, former)
    place = claims.make(Holder.of(account, policy.ledger))
    if place is not None:
        ledger.owner.pin_in_registry(place)


def _claims_on(policy: Policy) -> Claims | None:
    """Return the claims on a source; None while it is not there or does not fit the policy."""
    try:
        return Claims(site_of(policy))
    except PolicyError:
        return None


def _check(claims: Claims, ledger: Ledger, policy: Policy) -> None:
    """Refuse a ledger that is not that of the data, or older than what is known of it."""
    account = ledger.owner.state.account
    claims.check(Holder.of(account, policy.ledger))
    for place in claims.heads(account) if account is not None else ():
        ledger.owner.check_pinned(place)
