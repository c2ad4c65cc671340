"""Which account has claimed the data of a source, and how that may change."""

from sanql.sources.ownership.account_changes import (
    AccountStatus,
    approve_limits,
    merge_accounts,
    move_account,
    retire_account,
    show_account,
    statement_of,
)
from sanql.sources.ownership.admission import admit, admit_unopened, check_same_files
from sanql.sources.ownership.claimed_ledgers import (
    HeldClaim,
    check_kept_here,
    check_ledger_exists,
    claim,
    faults_of_ledger_places,
    known_heads,
    open_claimed,
)
from sanql.sources.ownership.comparing import compare_with_ledger
from sanql.sources.ownership.lost_ledgers import retire_lost
from sanql.sources.ownership.renaming import rename_on_record
from sanql.sources.ownership.restored_ledgers import Restoration, restore_account

__all__ = [
    "AccountStatus",
    "HeldClaim",
    "Restoration",
    "admit",
    "admit_unopened",
    "approve_limits",
    "check_kept_here",
    "check_ledger_exists",
    "check_same_files",
    "claim",
    "compare_with_ledger",
    "faults_of_ledger_places",
    "known_heads",
    "merge_accounts",
    "move_account",
    "open_claimed",
    "rename_on_record",
    "restore_account",
    "retire_account",
    "retire_lost",
    "show_account",
    "statement_of",
]
