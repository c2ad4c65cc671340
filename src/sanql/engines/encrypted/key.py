"""The owner's secret by which copies are encrypted: in a file that the policy or a variable names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.errors import Fault, PolicyError
from sanql.secret_file import SecretFileFault, read_secret_file

if TYPE_CHECKING:
    from sanql.policy import EngineLimits

KEY_FILE = "SANQL_ENCRYPTION_KEY_FILE"
_LETTERS_LEAST = 32
_PLACE = "engine.encryption_key_file"


def key_file(limits: EngineLimits, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the file of the secret that the policy or, failing that, a variable names."""
    named = limits.encryption_key_file or environment.get(KEY_FILE, "")
    return Path(named) if named else None


def read_key(file: Path) -> str:
    """Return the secret in a file; PolicyError where there is none, or one that could be guessed."""
    try:
        secret = read_secret_file(file)
    except SecretFileFault as fault:
        raise _fault(f"the file {file.name!r} that holds the key {fault}") from None
    if len(secret) < _LETTERS_LEAST:
        raise _fault(f"the key in {file.name!r} has fewer than {_LETTERS_LEAST} letters")
    return secret


def _fault(message: str) -> PolicyError:
    remedy = "make one: (umask 077; head -c 32 /dev/urandom | base64 > FILE)"
    return PolicyError([Fault(_PLACE, message, remedy)])
