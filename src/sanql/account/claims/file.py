"""The claim beside a source: a small private file that names the account the data belong to.

In a folder it is called `.sanql-account`, beside a file `.NAME.sanql-account`. It appears complete or
not at all, by linking, and never over another one: of two accounts that come at once, one is first.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sanql.account.claims.address import Address, identity_of
from sanql.account.ledger.chain import canonical_json, parse_body
from sanql.entropy import OsEntropy
from sanql.errors import LedgerError
from sanql.policy import LedgerPlace, named_place

SUFFIX = ".sanql-account"
EXACT_CLOSED = "; exact answers are closed"
"""How a statement ends that lets go of data of which exact cells have left, or may have."""

_BYTES_MAX = 1 << 16


@dataclass(frozen=True)
class Claim:
    """An account's word that the data at an address are its own.

    `path` and `identity` are those of what was claimed, `ledger_identity` that of the ledger's file and
    of its name, or of its database.
    `released` is empty, or the owner's statement with which the account let go of the data.
    """

    account: str
    ledger: LedgerPlace
    ledger_identity: str
    path: Path
    identity: str
    released: str = ""
    copied_to: Path | None = field(default=None, compare=False)  # its file, beside other data

    @property
    def exact_closed(self) -> bool:
        """Whether it was released after exact cells of the data had left, or may have."""
        return self.released.endswith(EXACT_CLOSED)

    @property
    def stands(self) -> bool:
        """Whether its ledger, or what it claims, is still the file that it was.

        Of a ledger in a database nobody here can tell, so it may be.
        """
        file, _, _ = self.ledger_identity.partition(" ")
        if not isinstance(self.ledger, Path):
            return True
        return _is_still(self.ledger, file) or _is_still(self.path, self.identity)

    @property
    def ledger_may_exist(self) -> bool:
        """Whether its ledger is there, as far as can be told without asking a database."""
        return not isinstance(self.ledger, Path) or self.ledger.exists()


def claim_path(address: Address) -> Path:
    """Return where the claim of a file or folder is kept."""
    if address.folder:
        return address.path / SUFFIX
    return address.path.with_name(f".{address.path.name}{SUFFIX}")


def claim_paths_in(folder: Path) -> list[Path]:
    """Return the claims of files that lie directly in a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        found = [Path(entry.path) for entry in entries if entry.name.endswith(SUFFIX)]
        return sorted(path for path in found if path.name != SUFFIX)
    return []


def read_claim(path: Path) -> Claim | None:
    """Return the claim kept in a file, or None where there is none; LedgerError if it is unreadable."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as fault:
        if _too_long(fault):
            return None
        raise _unreadable(path) from fault
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _unreadable(path)
        return _parse(os.read(handle, _BYTES_MAX))
    except (OSError, ValueError) as fault:
        raise _unreadable(path) from fault
    finally:
        os.close(handle)


def write_claim(path: Path, claim: Claim, *, over: Claim | None = None) -> bool:
    """Keep a claim durably; return False where nothing can be written or somebody was first.

    It replaces an earlier claim only where that one is given as `over`.
    """
    draft = path.with_name(f"{path.name}.{OsEntropy().bytes(8).hex()}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(draft, flags, 0o600)
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_text(claim).encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        if over is None or read_claim(path) != over:
            path.hardlink_to(draft)
        else:
            draft.replace(path)
        _sync(path.parent)
    except OSError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def _text(claim: Claim) -> str:
    return (
        canonical_json(
            {
                "account": claim.account,
                "ledger": str(claim.ledger),
                "ledger_file": claim.ledger_identity,
                "released": claim.released,
                "source": str(claim.path),
                "source_file": claim.identity,
            }
        )
        + "\n"
    )


def _parse(text: bytes) -> Claim:
    content = parse_body(text.decode("ascii").removesuffix("\n"))
    match content:
        case {
            "account": str(account),
            "ledger": str(ledger),
            "ledger_file": str(identity),
            "released": str(released),
            "source": str(source),
            "source_file": str(claimed),
        } if len(content) == 6:
            return Claim(account, named_place(ledger), identity, Path(source), claimed, released)
        case _:
            raise ValueError("not a claim")


def _is_still(path: Path, identity: str) -> bool:
    try:
        return identity_of(path) == identity
    except OSError:
        return False


def _too_long(fault: OSError) -> bool:
    """Return whether a name cannot exist, so that no claim can be kept under it."""
    return fault.errno == errno.ENAMETOOLONG


def _unreadable(path: Path) -> LedgerError:
    return LedgerError(
        "account_claim_unreadable",
        f"the data are claimed by an account, and its claim {str(path)!r} cannot be read",
        "open the policy as the user who may read the claim; a claim is never made anew",
    )


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
