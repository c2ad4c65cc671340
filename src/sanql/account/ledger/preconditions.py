"""What must hold before anything is charged or released, noisy or exact."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sanql.account.ledger.exact_book import ExactClaim
from sanql.account.ledger.exact_total import check_joint_cap
from sanql.account.ledger.failures import Failures
from sanql.account.ledger.opening import Opening
from sanql.account.ledger.state import DATASET
from sanql.errors import Refused
from sanql.policy import Policy


class Preconditions:
    """A known analyst, data that belong to the account, few failures, and terms on record."""

    def __init__(self, policy: Policy, opening: Opening, failures: Failures) -> None:
        self._policy = policy
        self._opening = opening
        self._failures = failures
        self.before_charge: Callable[[], None] = lambda: None
        """Called before anything is charged: the data must be known to belong to this account."""

    def check_analyst(self, analyst: str) -> None:
        """Refuse whom the policy does not declare, where it declares any; the dataset may ask itself."""
        if self._policy.analysts and analyst not in {*self._policy.analysts, DATASET}:
            raise Refused(
                "analyst_unknown",
                f"analyst {analyst[:60]!r} is not declared in the policy",
                "ask under a declared name, or have the data owner add this one",
            )

    def check_together(self, claim: ExactClaim, made: Iterable[ExactClaim]) -> None:
        """Refuse an exact release that, with those made, exceeds what the policy lets leave exactly."""
        check_joint_cap(made, claim, self._policy.exact_together)

    def prepare(self, analyst: str) -> None:
        """Refuse whoever may not be charged, before the ledger is held."""
        self.check_analyst(analyst)
        self.before_charge()

    def settle(self, analyst: str) -> None:
        """Refuse after too many failures, and put new tables on record; call it while writing."""
        self._failures.check(analyst)
        self._opening.keep_tables()
