"""Charges as data, their composition, the budget filter and the ledger."""

from sanql.account.accountants.choice import accountant_for
from sanql.account.accountants.conversion import epsilon_upper, gaussian_rho_lower
from sanql.account.accountants.divergences import ORDERS
from sanql.account.accountants.renyi import Odometer, order_weights
from sanql.account.charge import Charge, total_charge
from sanql.account.claims.address import Address, Origins, Site, address_of
from sanql.account.claims.claims import Claims, Holder, claimed_by_another, kept_elsewhere, replaced
from sanql.account.claims.file import Claim
from sanql.account.claims.losses import Loss, heads_given_up
from sanql.account.claims.owner import Owner
from sanql.account.claims.ownership import RELEASING, ClosingStatement, Ownership
from sanql.account.claims.registry import Registry, registries_chosen_by, registry_folders
from sanql.account.events import (
    Event,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    SelectionEvent,
    leak,
)
from sanql.account.ledger.asked import ASKED, NOTHING_SAID, Asked, AskedNote, Door, note_key, packed
from sanql.account.ledger.budget_limits import BudgetLimits
from sanql.account.ledger.chain import (
    BEGINNING,
    GIVE_UP,
    RESTORE,
    Head,
    LedgerRecord,
    canonical_json,
    check_head,
    check_readable,
    damaged,
    head_path,
    linked,
    read_head,
    read_pinned,
    read_pinned_text,
)
from sanql.account.ledger.checkpoints import NEWEST_CHECKPOINT, state_after
from sanql.account.ledger.comparison import Comparison
from sanql.account.ledger.erasing import TextChoice
from sanql.account.ledger.exact_book import ExactBook, ExactClaim, ExactEntry
from sanql.account.ledger.exact_total import joint_guarantee
from sanql.account.ledger.going_on import GoingOn
from sanql.account.ledger.idempotency import IdempotencyKey, KeyTaken
from sanql.account.ledger.ledger import Ledger, RecordedNow, Reservation
from sanql.account.ledger.places import hindrance
from sanql.account.ledger.published import PublishedAnswer
from sanql.account.ledger.questions import AskedQuestion, Outcome
from sanql.account.ledger.raising import author_named
from sanql.account.ledger.refusals import check_never_pinned
from sanql.account.ledger.renames import Rename
from sanql.account.ledger.scratch import check_no_scratch, never_releases, rehearsed
from sanql.account.ledger.segments import (
    CHECKPOINT,
    CHECKPOINT_FORM,
    checkpoint_named,
    segment_key,
)
from sanql.account.ledger.state import DATASET, Books
from sanql.account.ledger.terms import account_terms
from sanql.account.ledger.versions import (
    WHOLE,
    Version,
    columns_unknown,
    source_changed,
    stamps_missing,
    version_name,
)
from sanql.account.ledger.void_reasons import VoidReason
from sanql.account.people.declared import check_declared
from sanql.account.people.people import People
from sanql.account.people.person import Person, Role
from sanql.account.people.tokens import TokenVerifier, name_of_token
from sanql.account.stores.backup import LedgerCopy, back_up, copy_of, read_backup
from sanql.account.stores.opening import (
    is_there,
    leave,
    open_store,
    own_heads,
    reader_at,
    set_aside,
    store_in_memory,
)
from sanql.account.stores.protocol import LedgerReader
from sanql.account.stores.putting_back import go_on, put_back
from sanql.account.stores.sqlite import check_not_lost
from sanql.results import Balance

__all__ = [
    "ASKED",
    "BEGINNING",
    "CHECKPOINT",
    "CHECKPOINT_FORM",
    "DATASET",
    "GIVE_UP",
    "NEWEST_CHECKPOINT",
    "NOTHING_SAID",
    "ORDERS",
    "RELEASING",
    "RESTORE",
    "WHOLE",
    "Address",
    "Asked",
    "AskedNote",
    "AskedQuestion",
    "Balance",
    "Books",
    "BudgetLimits",
    "Charge",
    "Claim",
    "Claims",
    "ClosingStatement",
    "Comparison",
    "Door",
    "Event",
    "ExactBook",
    "ExactClaim",
    "ExactEntry",
    "FailureEvent",
    "GaussianEvent",
    "GoingOn",
    "Head",
    "Holder",
    "IdempotencyKey",
    "KeyTaken",
    "LaplaceEvent",
    "Ledger",
    "LedgerCopy",
    "LedgerReader",
    "LedgerRecord",
    "Loss",
    "Odometer",
    "Origins",
    "Outcome",
    "Owner",
    "Ownership",
    "People",
    "Person",
    "PublishedAnswer",
    "RecordedNow",
    "Registry",
    "Rename",
    "Reservation",
    "Role",
    "SelectionEvent",
    "Site",
    "TextChoice",
    "TokenVerifier",
    "Version",
    "VoidReason",
    "account_terms",
    "accountant_for",
    "address_of",
    "author_named",
    "back_up",
    "canonical_json",
    "check_declared",
    "check_head",
    "check_never_pinned",
    "check_no_scratch",
    "check_not_lost",
    "check_readable",
    "checkpoint_named",
    "claimed_by_another",
    "columns_unknown",
    "copy_of",
    "damaged",
    "epsilon_upper",
    "gaussian_rho_lower",
    "go_on",
    "head_path",
    "heads_given_up",
    "hindrance",
    "is_there",
    "joint_guarantee",
    "kept_elsewhere",
    "leak",
    "leave",
    "linked",
    "name_of_token",
    "never_releases",
    "note_key",
    "open_store",
    "order_weights",
    "own_heads",
    "packed",
    "put_back",
    "read_backup",
    "read_head",
    "read_pinned",
    "read_pinned_text",
    "reader_at",
    "registries_chosen_by",
    "registry_folders",
    "rehearsed",
    "replaced",
    "segment_key",
    "set_aside",
    "source_changed",
    "stamps_missing",
    "state_after",
    "store_in_memory",
    "total_charge",
    "version_name",
]
