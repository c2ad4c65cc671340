"""When a snapshot is taken of data that are no files here, and whose those must be.

The first is taken when a policy is opened that has no account yet, any other on its owner's word: a
version of the data is an event. Before a row is read the tables must not be another account's. A scratch
account reads none, and so takes none.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.account import Claims, Site, address_of, is_there
from sanql.policy import DeltaTables, IcebergTables, ObjectStore, PassedTables, SourceDatabase
from sanql.sources.snapshots import (
    Manifest,
    look_at_database,
    look_at_delta,
    look_at_iceberg,
    look_at_store,
    read_manifest,
    snapshot_database,
    snapshot_delta,
    snapshot_iceberg,
    snapshot_store,
)

if TYPE_CHECKING:
    from sanql.account import Holder
    from sanql.policy import Policy


def take_first_snapshot(policy: Policy, check: Callable[[Policy], None]) -> None:
    """Take a snapshot for a policy that has neither one nor an account; PolicyError where none can be.

    Before it is taken, `check` may refuse.
    """
    if _lacks_snapshot(policy) and not policy.scratch and not is_there(policy.ledger_place):
        check(policy)
        take_snapshot(policy, None)


def take_snapshot(policy: Policy, holder: Holder | None) -> None:
    """Take a snapshot for an account, which is None where it has not been begun; of files, none.

    LedgerError where a table belongs to another account, PolicyError where one cannot be read.
    """

    def admit(manifest: Manifest) -> None:
        root = address_of(Path(policy.source))
        claims = Claims(Site(root, (), (), (), origins=manifest.origins(policy)))
        if holder is not None:
            claims.check(holder)
        else:
            claims.check_absent(policy.ledger_place)

    match policy.origin:
        case None | PassedTables():
            pass
        case SourceDatabase() as place:
            snapshot_database(policy, place, admit)
        case ObjectStore() as store:
            snapshot_store(policy, store, admit)
        case DeltaTables() as lake:
            snapshot_delta(policy, lake, admit)
        case IcebergTables() as namespace:
            snapshot_iceberg(policy, namespace, admit)


def look_at_origin(policy: Policy) -> bool:
    """Look at data of which there is no snapshot yet; PolicyError with all that does not fit the policy.

    Returns whether that was so. No row is read, and nothing is kept.
    """
    if not _lacks_snapshot(policy):
        return False
    match policy.origin:
        case None | PassedTables():
            return False
        case SourceDatabase() as place:
            look_at_database(policy, place)
        case ObjectStore() as store:
            look_at_store(policy, store)
        case DeltaTables() as lake:
            look_at_delta(policy, lake)
        case IcebergTables() as namespace:
            look_at_iceberg(policy, namespace)
    return True


def _lacks_snapshot(policy: Policy) -> bool:
    elsewhere = not isinstance(policy.origin, PassedTables | None)
    return elsewhere and read_manifest(Path(policy.source)) is None
