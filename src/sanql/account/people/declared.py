"""Whether a policy knows an analyst who is to be let in."""

from __future__ import annotations

from sanql.account.people.person import Role
from sanql.errors import AccessDenied
from sanql.policy import Policy


def check_declared(policy: Policy, name: str, role: Role) -> None:
    """Refuse an analyst whom a policy that declares its analysts does not declare."""
    if role == "analyst" and policy.analysts and name not in policy.analysts:
        raise AccessDenied(
            "analyst_undeclared",
            f"the policy of {policy.name} declares its analysts, and {name[:60]!r} is none of them",
            f"add [analyst.{name[:60]}] to the policy first, with a budget, or take one of"
            f" {', '.join(sorted(policy.analysts))}",
        )
