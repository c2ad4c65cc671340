"""The check before any row is read: the data must not belong to another account.

It is passed with the files that are read afterwards, not with a name for them: what a path led to when
the policy was opened, if anything, need not be what it leads to now. Public tables pass it too, for
who calls a table public need not be who owns it. A scratch account never comes here
(ask/data.py, sources/files.py).
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from sanql.account import Claims, Owner, is_there
from sanql.sources.kinds import changing_files
from sanql.sources.ownership.claimable import claimable

if TYPE_CHECKING:
    from sanql.account import Holder, Site
    from sanql.kernel import Stamp
    from sanql.policy import Policy
    from sanql.sources.protocol import Source


def admit(policy: Policy, holder: Holder | None, source: Source) -> Site:
    """Return where these files are; LedgerError if they belong to another account than this one.

    The holder is None where no account has been begun.
    """
    site = claimable(policy, source)
    if holder is not None:
        Claims(site).check(holder)
    else:
        Claims(site).check_absent(policy.ledger_place)
    return site


def admit_unopened(policy: Policy, source: Source) -> Site:
    """Do the same for a policy whose ledger is not open, and may not be there yet."""
    if not is_there(policy.ledger_place):
        return admit(policy, None, source)
    with closing(Owner.open(policy.ledger_place)) as owner:
        return admit(policy, owner.holder, source)


def check_same_files(site: Site, stamp: Stamp) -> None:
    """Refuse files of which other ones were admitted a moment ago."""
    admitted = {str(a.path): a.identity.split(":")[:2] for a in (*site.files, *site.public)}
    for path, (device, inode, *_) in stamp:
        if admitted.get(path, [str(device), str(inode)]) != [str(device), str(inode)]:
            raise changing_files()
