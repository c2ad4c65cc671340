"""The one door to rows: whoever wants to read some shows first that the data are no other account's.

It is passed with the files that are read afterwards, not with a name for them: what a path led to when
the policy was opened, if anything, need not be what it leads to now. Public tables pass it too, for
who calls a table public need not be who owns it. A scratch account never comes here (data.py, files.py).
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from sanql.account.claims import Claims, Holder
from sanql.account.owner import Owner
from sanql.errors import Fault, PolicyError
from sanql.execute.files import Location, PartFiles
from sanql.execute.site import site_of

if TYPE_CHECKING:
    from sanql.account.address import Site
    from sanql.execute.messages import Stamp
    from sanql.policy.model import Policy


def admit(policy: Policy, account: str | None, location: Location) -> Site:
    """Return where these files are; LedgerError if they belong to another account than this one."""
    site = site_of(policy, location)
    if policy.ledger.exists():
        Claims(site).check(Holder.of(account, policy.ledger))
    else:
        Claims(site).check_absent(policy.ledger)
    return site


def admit_unopened(policy: Policy, location: Location) -> Site:
    """Do the same for a policy whose ledger is not open, and may not be there yet."""
    if not policy.ledger.exists():
        return admit(policy, None, location)
    with closing(Owner.open(policy.ledger)) as owner:
        return admit(policy, owner.state.account, location)


def check_same(site: Site, stamp: Stamp) -> None:
    """Refuse files of which other ones were admitted a moment ago."""
    admitted = {str(a.path): a.identity.split(":")[:2] for a in (*site.files, *site.public)}
    for path, (device, inode, *_) in stamp:
        if admitted.get(path, [str(device), str(inode)]) != [str(device), str(inode)]:
            message = "its files keep changing while they are read"
            remedy = "wait until they are complete, then try again"
            raise PolicyError([Fault("dataset.source", message, remedy)])


def reads_rows(location: Location) -> bool:
    """Return whether the types of columns are found by reading the rows of a table."""
    return isinstance(location, PartFiles) and any(
        parts.infer and parts.format == "csv" for parts in location.tables
    )
