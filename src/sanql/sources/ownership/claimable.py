"""What an account over a policy's data claims: their files and folders, by path and identity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sanql.account import Site
from sanql.sources.kinds import locate, vanished_file

if TYPE_CHECKING:
    from sanql.policy import Policy
    from sanql.sources.protocol import Source


def claimable(policy: Policy, source: Source | None = None) -> Site:
    """Return where the policy's data are; raise PolicyError naming what is missing.

    A `source` that was found before is not looked for again: its files are the ones meant.
    """
    source = locate(policy) if source is None else source
    try:
        return source.site(policy)
    except OSError:
        raise vanished_file() from None
