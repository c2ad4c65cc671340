"""Policy → Source: where its data are, whether they have changed, and whose they are (`ownership/`)."""

from sanql.sources.cache import Cache, secret_copies
from sanql.sources.database import DatabaseSource
from sanql.sources.files import FilesSource
from sanql.sources.kinds import changing_files, check_files_readable, locate, vanished_file
from sanql.sources.ownership import (
    AccountStatus,
    HeldClaim,
    admit,
    admit_unopened,
    approve_limits,
    check_kept_here,
    check_ledger_exists,
    check_same_files,
    claim,
    compare_with_ledger,
    faults_of_ledger_places,
    known_heads,
    merge_accounts,
    move_account,
    open_claimed,
    rename_on_record,
    restore_account,
    retire_account,
    retire_lost,
    show_account,
    statement_of,
)
from sanql.sources.protocol import Source
from sanql.sources.sightings import Sighting, sight
from sanql.sources.snapshots import snapshot_frames
from sanql.sources.stamps import Stamped, Stamps
from sanql.sources.taking import look_at_origin, take_first_snapshot, take_snapshot

__all__ = [
    "AccountStatus",
    "Cache",
    "DatabaseSource",
    "FilesSource",
    "HeldClaim",
    "Sighting",
    "Source",
    "Stamped",
    "Stamps",
    "admit",
    "admit_unopened",
    "approve_limits",
    "changing_files",
    "check_files_readable",
    "check_kept_here",
    "check_ledger_exists",
    "check_same_files",
    "claim",
    "compare_with_ledger",
    "faults_of_ledger_places",
    "known_heads",
    "locate",
    "look_at_origin",
    "merge_accounts",
    "move_account",
    "open_claimed",
    "rename_on_record",
    "restore_account",
    "retire_account",
    "retire_lost",
    "secret_copies",
    "show_account",
    "sight",
    "snapshot_frames",
    "statement_of",
    "take_first_snapshot",
    "take_snapshot",
    "vanished_file",
]
