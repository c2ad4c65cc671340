"""The account belongs to the data: whoever opens a ledger over a source claims it, once and for all.

A claim names the account and the file of its ledger. It is kept beside the source, where that can be
written, and in the registry of whoever runs San; both must agree with the ledger that is opened. A
source that another account has claimed, an account whose ledger has vanished and a ledger that is older
than what was known of it are refused. So another policy, name or ledger is no fresh budget, and neither
is a deleted ledger.

The ledger is there before it claims anything, and nothing is charged before the claim is on disk. A
crash in between leaves an account without charges, which claims the source when it is opened again.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sanql.account.claims.address import Address, Site, name_identity_of
from sanql.account.claims.file import (
    EXACT_CLOSED,
    Claim,
    claim_path,
    claim_paths_in,
    read_claim,
    write_claim,
)
from sanql.account.claims.registry import HeldRegistry, Registry, registry_folders
from sanql.account.ledger.chain import GIVE_UP, RESTORE
from sanql.errors import LedgerError
from sanql.policy import LedgerPlace, fold


@dataclass(frozen=True)
class Holder:
    """A ledger as a claim sees it: the account's name, where it is kept and which place that is."""

    account: str  # empty while it has claimed nothing
    ledger: LedgerPlace
    identity: str
    former_units: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)
    """What the unit of a table was written with before something was renamed, by folded names."""

    @classmethod
    def of(cls, account: str | None, ledger: LedgerPlace, identity: str = "") -> Holder:
        """Return the account kept in this place; a file is looked for where no identity is given."""
        real = ledger.resolve() if isinstance(ledger, Path) else ledger
        if not identity and isinstance(real, Path):
            identity = name_identity_of(real)
        return cls(account or "", real, identity)

    def keeps(self, claim: Claim) -> bool:
        """Return whether the claim is this account's, made by this very file under this very name.

        A file that was restored is another one in its old place. An early claim names no folder.
        """
        file, _, name = claim.ledger_identity.partition(" ")
        own_file, _, own_name = self.identity.partition(" ")
        if file == own_file and name:
            return claim.account == self.account and name == own_name
        same = file == own_file or claim.ledger == self.ledger
        return claim.account == self.account and same

    def claim_of(self, address: Address) -> Claim:
        """Return the claim this account makes of an address."""
        return Claim(self.account, self.ledger, self.identity, address.path, address.identity)


class Claims:
    """The claims on the data of one source, wherever they are kept."""

    def __init__(self, site: Site, folders: Sequence[Path] | None = None) -> None:
        self._site = site
        self._registries = [Registry(folder) for folder in folders or registry_folders()]

    def found(self) -> list[Claim]:
        """Return every claim that meets the data, those that were released too."""
        met = self._site.met
        kept = [claim for registry in self._registries for claim in registry.find(self._site)]
        return [claim for claim in kept if claim.identity in met or claim.stands] + self._beside()

    def are_all_of(self, account: str | None) -> bool:
        """Return whether nobody else has a claim on record that holds, or could hold again."""
        kept = [claim for registry in self._registries for claim in registry.find(self._site)]
        claims = kept + self._beside()
        return all(claim.account == account for claim in claims if not claim.released)

    def looked_at(self) -> list[Path]:
        """Return the files that claims on the data are or would be in, whether they are there or not.

        Claims of other files in the same folders are looked for besides.
        """
        return [
            *(claim_path(address) for address in self._site.here),
            *(registry.database for registry in self._registries),
        ]

    def live(self) -> list[Claim]:
        """Return the claims that hold."""
        return [claim for claim in self.found() if not claim.released]

    def check_absent(self, ledger: LedgerPlace) -> None:
        """Refuse to start an account over data that have one already."""
        self._check_apart()
        named = ledger.resolve() if isinstance(ledger, Path) else ledger
        for claim in self.live():
            elsewhere = claim.ledger_may_exist or claim.copied_to is not None
            if elsewhere and claim.ledger != named:
                raise claimed_by_another(claim, ledger)
            raise ledger_vanished(claim)

    def check(self, holder: Holder, taken: Collection[str] = ()) -> None:
        """Refuse an account that is not the one the data belong to.

        Claims of accounts that are `taken` over, or of this one from another place, hold no more. A file
        that the account itself has claimed holds private rows, whatever its table is called now, and so
        does one that the policy calls private as well, and what is put in the place of either.
        """
        self._check_units(holder)
        self.check_kept(holder, taken)

    def check_kept(self, holder: Holder, taken: Collection[str] = ()) -> None:
        """Do the same whatever units the policy declares: they may be about to be renamed."""
        self._check_apart()
        public = {address.identity for address in self._site.called_public}
        places = {address.path for address in self._site.called_public}
        for claim in self.live():
            if claim.account in taken:
                continue
            if claim.account != holder.account and claim.ledger == holder.ledger:
                raise replaced(claim)
            if claim.account != holder.account:
                raise claimed_by_another(claim, holder.ledger)
            if not holder.keeps(claim):
                raise kept_elsewhere(claim, holder.ledger)
            if claim.identity in public or claim.path in places:
                raise called_public(claim.path)

    def held_by(self, holder: Holder) -> bool:
        """Return whether the data have an account, and it is this one."""
        live = self.live()
        return bool(live) and all(map(holder.keeps, live))

    def make(self, holder: Holder, taken: Collection[str] = ()) -> list[Path]:
        """Claim the data for an account, durably; return where registries pin its head.

        Raises LedgerError when they are another's, or when no claim can be kept anywhere.
        """
        self.check(holder, taken)
        if self._settled(holder):
            return self._heads_kept(holder.account)
        with self._registry.claiming() as held:
            self.check(holder, taken)
            beside = self._write_beside(holder, taken=taken)
            self.check(holder, taken)  # whoever was first beside the source is found now
            if held is not None:
                self._record(self._registry, held, holder.claim_of(self._site.root), taken)
            at_home = self._record_at_home(holder, taken, held)
            if not at_home and (self._site.origins.claimed or beside < len(self._places)):
                raise unclaimable(self._lasting.folder)
        return self._heads_kept(holder.account)

    def release(self, holder: Holder, statement: str, *, exact_closed: bool) -> None:
        """Let go of the data, with the owner's statement; what was promised stays on record.

        With `exact_closed` the next account gives no exact answers: its cells and those that have left
        may differ by one person.
        """
        statement += EXACT_CLOSED if exact_closed else ""
        with self._registry.claiming() as held:
            self._write_beside(holder, released=statement)
            root = replace(holder.claim_of(self._site.root), released=statement)
            if held is not None:
                self._record(self._registry, held, root, ())
            self._record_elsewhere(root, ())

    def heads(self, account: str) -> list[Path]:
        """Return where the newest head of an account may be pinned."""
        return [registry.head_path(account) for registry in self._registries]

    def _heads_kept(self, account: str) -> list[Path]:
        """Return where it is pinned: in all registries, since the next run may name another one."""
        return [each.head_path(account) for each in self._registries if each.prepare()]

    def _check_apart(self) -> None:
        """Refuse a file that one policy calls public and, under another name, private."""
        public = {address.identity for address in self._site.called_public}
        for address in (*self._site.files, *self._site.origins.claimed):
            if address.identity in public:
                raise called_public(address.path)
        units: dict[str, str] = {}
        for address, _, unit in self._site.all_units:
            if units.setdefault(address.identity, unit) != unit:
                raise other_unit(address.path, unit, units[address.identity])

    def _check_units(self, holder: Holder) -> None:
        """Refuse a file with another unit than it has on record, whatever its table is called.

        What the unit of this very table was written with before a rename is the same unit.
        """
        for registry in self._registries if holder.account else ():
            for path, table, now, was in registry.units_of(holder.account, self._site):
                if was not in (None, now, *holder.former_units.get(fold(table), ())):
                    raise other_unit(path, now, str(was))

    def _record(
        self, registry: Registry, held: HeldRegistry, claim: Claim, taken: Collection[str]
    ) -> None:
        registry.record(held, claim, self._site.claimed)
        registry.record_units(held, claim.account, self._site)
        registry.take_over(held, claim.account, taken)

    def _record_elsewhere(self, claim: Claim, taken: Collection[str]) -> None:
        """Bring the registries up to date that are not written to first and know of these accounts."""
        for registry in self._registries[1:]:
            known = {found.account for found in registry.find(self._site)}
            if known & {claim.account, *taken}:
                with registry.claiming() as held:
                    if held is not None:
                        self._record(registry, held, claim, taken)

    def _record_at_home(
        self, holder: Holder, taken: Collection[str], held: HeldRegistry | None
    ) -> bool:
        """Keep the claim where no variable leads elsewhere; return whether it could be."""
        if self._lasting is self._registry:
            return held is not None
        with self._lasting.claiming() as at_home:
            if at_home is not None:
                self._record(self._lasting, at_home, holder.claim_of(self._site.root), taken)
        return at_home is not None

    @property
    def _lasting(self) -> Registry:
        """The registry in the user's home, which the environment does not choose."""
        return self._registries[-1]

    @property
    def _registry(self) -> Registry:
        """The registry that claims are written to."""
        return self._registries[0]

    @property
    def _places(self) -> list[Address]:
        """What has a claim beside it: the source, its folders, and files that lie elsewhere."""
        site = self._site
        inside = {folder.path for folder in site.folders}
        apart = [file for file in site.files if file.path.parent not in inside]
        return list(dict.fromkeys((site.root, *site.folders, *apart)))

    def _beside(self) -> list[Claim]:
        here = self._site.here
        paths = [claim_path(address) for address in here]
        paths += [path for folder in self._site.folders for path in claim_paths_in(folder.path)]
        met = {name for address in here for name in (address.identity, str(address.path))}
        found = ((path, read_claim(path)) for path in dict.fromkeys(paths))
        return [
            claim if met & {claim.identity, str(claim.path)} else replace(claim, copied_to=path)
            for path, claim in found
            if claim is not None
        ]

    def _settled(self, holder: Holder) -> bool:
        """Return whether nothing is left to be written."""
        if any(was is None for *_, was in self._registry.units_of(holder.account, self._site)):
            return False
        claim, places = holder.claim_of(self._site.root), self._places
        stands = [read_claim(claim_path(place)) == holder.claim_of(place) for place in places]
        needed = [self._registry, self._lasting]
        if all(stands) and not self._site.origins.claimed:
            # then nothing hangs on a registry that cannot be written
            needed = [registry for registry in self._registries if registry.prepare()]
        return all(registry.knows(claim, self._site.claimed) for registry in needed) and all(
            standing or not os.access(place.path.parent, os.W_OK)
            for standing, place in zip(stands, places, strict=True)
        )

    def _write_beside(
        self, holder: Holder, *, released: str = "", taken: Collection[str] = ()
    ) -> int:
        """Write the claims beside the source that are missing or out of date; return how many stand."""
        standing = 0
        for place in self._places:
            path, wanted = claim_path(place), replace(holder.claim_of(place), released=released)
            there = read_claim(path)
            ours = there is None or there.released or there.account in (holder.account, *taken)
            standing += there == wanted or (bool(ours) and write_claim(path, wanted, over=there))
        return standing


def _copied(claim: Claim, ledger: LedgerPlace) -> LedgerError:
    """Return the refusal of data that came with the claim of those that they were copied from."""
    return LedgerError(
        "account_claimed",
        f"the file {str(claim.copied_to)!r} came with a copy of the data at {str(claim.path)!r}: it says"
        f" that they belong to the account kept in {str(claim.ledger)!r}; the policy's ledger is"
        f" {str(ledger)!r}",
        "ask that account about the data it has: a copy would be a second budget. Where the data beside"
        " the file are about other people, remove the file",
    )


def claimed_by_another(claim: Claim, ledger: LedgerPlace) -> LedgerError:
    """Return the refusal of a second account over the same data."""
    if claim.copied_to is not None:
        return _copied(claim, ledger)
    return LedgerError(
        "account_claimed",
        f"the data at {str(claim.path)!r} belong to another account, which is kept in"
        f" {str(claim.ledger)!r}; the policy's ledger is {str(ledger)!r}",
        f"write ledger = {str(claim.ledger)!r} in the policy: what is spent on the same data adds up in"
        " one account; `sanql account merge OTHER.ledger` brings two accounts together,"
        " `sanql account retire --because 'WHY'` closes one",
    )


def called_public(path: Path) -> LedgerError:
    """Return the refusal of a public table whose file was a private one's."""
    return LedgerError(
        "private_called_public",
        "the policy has a public table whose file is that of a private one, claimed by this account or"
        f" declared beside it, at {str(path)!r}",
        "declare the table private, with the unit that it had; what is about nobody goes into a file of"
        " its own",
    )


def other_unit(path: Path, now: str, was: str) -> LedgerError:
    """Return the refusal of a private file that protects others under another name."""
    return LedgerError(
        "private_unit_differs",
        f"the policy has a private table with the unit {now} whose file {str(path)!r} is that of a"
        f" table with the unit {was}",
        "declare the unit that the file has in this account, whatever the table is called; where a column"
        " has another name now, `sanql account rename TABLE.COLUMN NEW --because 'WHY'` records it;"
        " another unit needs another account (`sanql account retire --release other-terms`)",
    )


def replaced(claim: Claim) -> LedgerError:
    """Return the refusal of a ledger in whose place another one is, or what it was at first."""
    return LedgerError(
        "ledger_rolled_back",
        f"the data at {str(claim.path)!r} have an account, and the ledger {str(claim.ledger)!r} is not"
        " the one it was kept in: it has been begun anew or put back to before it claimed the data",
        RESTORE,
    )


def kept_elsewhere(claim: Claim, ledger: LedgerPlace) -> LedgerError:
    """Return the refusal of a copy of the ledger, or of one that was carried elsewhere."""
    return LedgerError(
        "account_elsewhere",
        f"the account of {str(claim.path)!r} is kept in {str(claim.ledger)!r}, and {str(ledger)!r} is"
        " another file: a copy would be a second budget",
        f"write ledger = {str(claim.ledger)!r} in the policy; where the ledger was moved or restored"
        " for good, run `sanql account move`",
    )


def ledger_vanished(claim: Claim) -> LedgerError:
    """Return the refusal to start anew where an account has been."""
    return LedgerError(
        "ledger_missing",
        f"the data at {str(claim.path)!r} have an account, and its ledger {str(claim.ledger)!r} is"
        " missing",
        "restore the ledger file and its head; an account that has been used is never started anew."
        f" Where it is lost for good, {GIVE_UP} says so on record",
    )


def unclaimable(folder: Path) -> LedgerError:
    """Return the refusal of an account that nobody could find again."""
    return LedgerError(
        "account_unclaimable",
        "the account cannot be tied to its data: neither beside the source nor in the registry of the"
        f" user's home, {str(folder)!r}, can anything be written",
        "give the user who runs San a home that lasts, or allow writing beside the source; a folder that"
        " XDG_DATA_HOME names is not enough, as another run may name another",
    )
