"""Opening the ledger of a source, only where the data belong to its account or to none yet."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.account import (
    Claims,
    Ledger,
    Owner,
    Registry,
    Site,
    address_of,
    check_never_pinned,
    check_not_lost,
    hindrance,
    is_there,
    own_heads,
    registry_folders,
    replaced,
)
from sanql.errors import Fault, LedgerError, PolicyError
from sanql.sources.ownership.claimable import claimable
from sanql.sources.sightings import Sighting, sight

if TYPE_CHECKING:
    from sanql.policy import Policy


def open_claimed(policy: Policy, terms: Mapping[str, str], author: str | None = None) -> Ledger:
    """Return the policy's ledger; LedgerError when its data belong to another account.

    An account that has none yet claims the data before its first charge, or at once where it has charges
    from before there were claims, as a ledger of 0.1.0 has. A scratch account claims none
    and never reads them, whoever's they are. While the source is not there,
    or does not fit the policy, nothing can be asked, and the ledger can still be read; whose it is
    is looked at again before a row is read (admission.py).
    """
    claims = None if policy.scratch else claims_on(policy)
    if _is_folder(policy.ledger) or not is_there(policy.ledger_place):
        check_not_begun(policy)
        faults = faults_of_ledger_places(policy)
        if faults:
            raise PolicyError(faults)
    ledger = Ledger.open(policy, terms, author=author)
    try:
        if claims is not None:
            check_newest(ledger.owner, claims, policy)
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
    site = claimable(policy)
    claims = Claims(site)
    check_newest(ledger.owner, claims, policy)
    former = [known for known in claims.found() if known.released]
    ledger.owner.claim(
        site.root.path,
        [known.account for known in former],
        exact_closed=any(known.exact_closed for known in former),
    )
    for place in claims.make(ledger.owner.holder):
        ledger.owner.pin_in_registry(place)


class HeldClaim:
    """The claim of a ledger's account on the policy's data, looked at before each charge.

    Only the claims of the source as a whole are looked at: they are made, moved and released with all.
    """

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        self._ledger = ledger
        self._policy = policy
        self._seen: Sighting | None = None

    def stands(self) -> bool:
        """Return whether the account holds the data at this moment."""
        if self._seen is not None and self._seen.stood_just_now():
            return True
        self._seen, started = None, time.time_ns()
        account = self._ledger.owner.account
        if account is None:
            return False
        try:
            root = address_of(self._policy.path.parent / self._policy.source)
            holder = self._ledger.owner.holder
        except OSError:
            return False
        site = Site(root, (), (), ())
        held = Claims(site).held_by(holder)
        if held:
            self._seen = sight(self._policy, account, site, started)
        return held


def check_not_begun(policy: Policy) -> None:
    """Refuse to start an account where there has been one; call it where the ledger is missing.

    Whoever is starting it at the same moment has not started another.
    """
    claims = None if policy.scratch else claims_on(policy)
    try:
        if claims is not None:
            claims.check_absent(policy.ledger_place)
        check_not_lost(policy.ledger)
        for place in own_heads(policy):
            check_never_pinned(place)
    except LedgerError:
        if _is_folder(policy.ledger) or not is_there(policy.ledger_place):
            raise


def faults_of_ledger_places(policy: Policy) -> list[Fault]:
    """Return what keeps the account's files from being written where the policy names them."""
    named = {"dataset.ledger": policy.ledger, "dataset.head": policy.head}
    return [
        Fault(place, *obstacle)
        for place, file in named.items()
        if file is not None and (obstacle := hindrance(file)) is not None
    ]


def check_ledger_exists(policy: Policy) -> None:
    """Raise LedgerError where the policy's ledger is missing: lost, or never begun."""
    if is_there(policy.ledger_place):
        return
    check_not_begun(policy)
    raise LedgerError(
        "ledger_missing",
        f"there is no ledger {str(policy.ledger_place)!r} yet: nothing has been asked under this policy",
        "ask a question, or name the ledger of the account in the policy",
    )


def check_kept_here(policy: Policy, account: str | None) -> None:
    """Raise LedgerError where the policy's ledger is not that of the account that was kept in it."""
    claims = None if policy.scratch else claims_on(policy)
    place = policy.ledger_database or policy.ledger.resolve()
    for claim in claims.live() if claims is not None else ():
        if claim.ledger == place and claim.account != account:
            raise replaced(claim)


def known_heads(policy: Policy, account: str | None) -> list[Path]:
    """Return where heads of an account may be pinned besides: in the policy's place and registries."""
    places = own_heads(policy)
    if account is None:
        return places
    return places + [Registry(folder).head_path(account) for folder in registry_folders()]


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # it may not be looked at, which is said when it is read
        return False


def claims_on(policy: Policy) -> Claims | None:
    """Return the claims on a source; None while it is not there or does not fit the policy."""
    try:
        return Claims(claimable(policy))
    except PolicyError:
        return None


def check_newest(owner: Owner, claims: Claims, policy: Policy) -> None:
    """Refuse a ledger that is not that of the data, or older than what is known of it."""
    claims.check(owner.holder)
    check_heads(owner, claims, policy)


def check_heads(owner: Owner, claims: Claims, policy: Policy) -> None:
    """Refuse a ledger that is older than what is known of it."""
    account = owner.state.account
    for place in own_heads(policy) if policy.ledger_database is not None else ():
        owner.check_pinned(place)
    for place in claims.heads(account) if account is not None else ():
        owner.check_pinned(place)
