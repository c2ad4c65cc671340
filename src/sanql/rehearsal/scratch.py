"""Sessions over the owner's data whose account is in memory, and forgotten.

They read the data where the owner's policy may, and the way every session does, with an account of their
own that claims nothing, charges nothing real and is gone with the process. Answers of theirs are outside
every guarantee: they are made for the owner, who has the data anyway. So no server imports this package,
and a policy that is itself a rehearsal (`scratch = true`), which reads no row, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.account import Ledger, account_terms, store_in_memory
from sanql.ask import Data, Session, budgets_of
from sanql.examine import readable_source
from sanql.kernel import FolderNames, locked_folder, remove_folder, sweep_folders
from sanql.policy import Budget, Policy, Table
from sanql.sources import Source, admit_unopened

if TYPE_CHECKING:
    from sanql.account import Site

_FOLDERS = FolderNames(".rehearsed-", ".rehearsing-")
_BEYOND_ANY = Budget(Fraction(10**30), Fraction(1, 2))


class _ScratchData(Data):
    """The data of an owner's policy, for an account that has not claimed them."""

    def __init__(
        self,
        policy: Policy,
        ledger: Ledger,
        progress: Callable[[str], None] | None,
        owned: Policy,
    ) -> None:
        super().__init__(policy, ledger, progress)
        self._owned = owned

    def _admit(self, source: Source) -> Site:
        return admit_unopened(self._owned, source)


class ScratchSession(Session):
    """A session over the data of an owner's policy that charges nothing but an account in memory.

    Whatever the policy promises but for budgets is as the owner has it, or as `tables` say otherwise.
    The delta of a question that states none follows from the owner's budgets.
    """

    def __init__(
        self,
        owned: Policy,
        folder: Path,
        progress: Callable[[str], None],
        tables: Mapping[str, Table] | None = None,
    ) -> None:
        self._owned = owned
        policy = _unlimited(owned, folder)
        super().__init__(
            policy if tables is None else replace(policy, tables=tables), progress=progress
        )

    def budgets(self, analyst: str) -> list[Budget]:
        """Return the budgets that the owner's policy has for an analyst."""
        return budgets_of(self._owned, analyst)

    def _open_ledger(self, author: str | None) -> Ledger:
        store = store_in_memory(self.policy)
        return Ledger.open(self.policy, account_terms(self.policy), store=store, author=author)

    def _open_data(self, progress: Callable[[str], None] | None) -> Data:
        return _ScratchData(self.policy, self.ledger, progress, self._owned)

    def _claim(self) -> None:
        """Claim nothing: the data stay whose they are."""


@contextmanager
def scratch_folder(policy: Policy) -> Iterator[Path]:
    """Give a folder beside the ledger for copies, open to its owner alone and gone afterwards.

    PolicyError where the rows cannot be read, or are another account's.
    """
    readable_source(policy)
    sweep_folders(policy.ledger.parent, _FOLDERS)  # what a command left that was killed
    folder, lock = locked_folder(policy.ledger.parent, _FOLDERS)
    try:
        yield folder
    finally:
        remove_folder(folder, lock)


def _unlimited(policy: Policy, folder: Path) -> Policy:
    """Return a policy whose accounts are in a folder and have room for every question."""
    return replace(
        policy,
        ledger=folder / "scratch.ledger",
        ledger_database=None,
        head=None,
        second_signature=False,
        budget=_BEYOND_ANY,
        kinds={name: replace(kind, budget=_BEYOND_ANY) for name, kind in policy.kinds.items()},
        analysts={},
        coalitions={},
        exact={},
        engine=replace(policy.engine, spark=None),
    )
