"""What keeps a file of the account from being written: told by name, so that it can be mended."""

from __future__ import annotations

import os
from pathlib import Path

from sanql.errors import LedgerError


def hindrance(file: Path) -> tuple[str, str] | None:
    """Return what keeps a file from being written, and the remedy; None where nothing is seen."""
    folder = file.absolute().parent
    try:
        if not folder.is_dir():
            what = f"there is no folder {str(folder)!r} to keep {file.name} in"
            return what, "make the folder, or name a file in another one"
        if file.is_dir():
            return f"{str(file)!r} is a folder", "name a file"
        if not _allowed(folder, os.W_OK | os.X_OK):
            what = f"the folder {str(folder)!r}, where {file.name} is kept, may not be written to"
            return what, "give whoever runs San the right to it, or name a file in another one"
        if file.exists() and not _allowed(file, os.R_OK | os.W_OK):
            what = f"the file {str(file)!r} may not be written to"
            return what, "give whoever runs San the right to it"
    except OSError:
        what = f"the folder {str(folder)!r}, where {file.name} is kept, may not be looked into"
        return what, "give whoever runs San the right to it, or name a file in another one"
    return None


def unwritable(*files: Path) -> LedgerError:
    """Return the error of a ledger that cannot be written, the first of these files, and why."""
    found = next((seen for file in files if (seen := hindrance(file)) is not None), None)
    what, remedy = found or ("", "see to the disk and the rights of the ledger's folder")
    return LedgerError(
        "ledger_unwritable",
        f"the ledger {str(files[0])!r} could not be written to disk; nothing more is answered"
        + (f": {what}" if what else ""),
        f"{remedy}, then restart",
    )


def _allowed(path: Path, wanted: int) -> bool:
    return os.access(path, wanted, effective_ids=os.access in os.supports_effective_ids)
