"""What the numbers of an account mean: neighbours, and whom each private table protects."""

from __future__ import annotations

from sanql.policy.model import Policy
from sanql.policy.units import unit_path


def account_terms(policy: Policy) -> dict[str, str]:
    """Return what every charge means; the ledger refuses to go on when it changes."""
    return {"neighbours": policy.neighbours} | {
        f"unit of {name}": unit_path(table, policy.tables)
        for name, table in policy.tables.items()
        if not table.public
    }
