"""The auditor's own accounts: what each has spent, recomputed from the records' plain words.

Format 1 judges the whole history of an account by the limits in force: claims added up, or all
charges counted together with half of delta for the conversion. Format 2 decides for each charge, when
it comes, whether it is paid by itself or counted together with others; limits that change later
change neither. The reasons are in `filter`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, cast

from sanql.audit.ledger.arithmetic import Cost, Meter, cost_of, epsilon_read_upper, proofs

ACCOUNTINGS = ("pure", "renyi")
"""The ways of counting that the auditor can recompute."""


@dataclass(frozen=True)
class AuditedCharge:
    """One charge in the ledger's words."""

    analyst: str
    events: list[dict[str, Any]]
    epsilon: Fraction
    delta: Fraction
    protects: tuple[str, ...] = ()


@dataclass
class AuditedAccount:
    """One account: its budget in force, what it has paid, and what it counts together."""

    kind: str
    name: str
    members: list[str] | None
    epsilon: Fraction
    delta: Fraction
    protects: str | None = None
    charges: int = 0
    paid: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    meter: Meter | None = None
    metered: Cost = field(default_factory=Cost)
    allowed: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))  # by budgets before this one
    tranche: tuple[str, Fraction] | None = None
    open: Fraction | None = None  # of epsilon, where tranches open it

    @property
    def greatest(self) -> tuple[Fraction, Fraction]:
        """The most that a budget of it has ever allowed."""
        return max(self.allowed[0], self.epsilon), max(self.allowed[1], self.delta)

    @property
    def identity(self) -> tuple[str, str, tuple[str, ...] | None, str | None]:
        """What stays the same when limits change."""
        members = None if self.members is None else tuple(self.members)
        return self.kind, self.name, members, self.protects

    @property
    def named(self) -> str:
        """What account it is, in words."""
        whom = "" if self.protects is None else f" of {self.protects} units"
        return f"the {self.kind} account {self.name!r}{whom}"

    def takes(self, charge: AuditedCharge, kinds: set[str]) -> bool:
        """Return whether a charge counts here; one that names no known kinds of unit counts in all."""
        named = set(charge.protects) if set(charge.protects) <= kinds else set()
        mine = self.protects is None or not named or self.protects in named
        return mine and (self.members is None or charge.analyst in self.members)

    def take(self, charge: AuditedCharge, accounting: str) -> None:
        """Count a charge, as the accounting in force says."""
        self.charges += 1
        if accounting == "renyi" and self.meter is None:
            self._open_for(charge)
        if accounting == "renyi" and self.meter is not None:
            cost = cost_of(charge.events, charge.epsilon, charge.delta, "renyi")
            self.metered = self.metered + cost
        else:
            self.paid = (self.paid[0] + charge.epsilon, self.paid[1] + charge.delta)

    def lose(
        self, stated: tuple[Fraction, Fraction] | None, declared: list[AuditedAccount]
    ) -> None:
        """Count records that are missing: what the owner states, or all that was ever allowed.

        What is `declared` may have been in force when they were written.
        """
        for account in declared:
            if account.identity == self.identity:
                found = zip(self.allowed, (account.epsilon, account.delta), strict=True)
                self.allowed = cast(tuple[Fraction, Fraction], tuple(map(max, found)))
        epsilon, delta = self.paid
        if stated is not None:
            self.paid = epsilon + stated[0], delta + stated[1]
            return
        if self.meter is not None:
            counted = epsilon_read_upper(self.metered, self.meter)
            epsilon += self.metered.epsilon if counted is None else counted
            delta += self.metered.leaks + self.meter.delta
        self.paid = max(epsilon, self.greatest[0]), max(delta, self.greatest[1])
        self.meter, self.metered = None, Cost()

    def keeps_to_its_budget(self) -> bool:
        """Return whether what was spent is within the budget in force."""
        epsilon, delta = self.paid
        allowed = self.epsilon if self.open is None else min(self.epsilon, self.open)
        if self.meter is None:
            return epsilon <= allowed and delta <= self.delta
        counted = epsilon_read_upper(self.metered, self.meter)
        return (
            counted is not None
            and epsilon + counted <= allowed
            and delta + self.metered.leaks + self.meter.delta <= self.delta
        )

    def spent(self) -> tuple[Fraction, Fraction]:
        """Return the least epsilon, with its delta, that is proved within the budget's delta."""
        if self.meter is None:
            return self.paid
        found = [
            (self.paid[0] + epsilon, self.paid[1] + delta)
            for epsilon, delta in proofs(self.metered, self.meter)
        ]
        return min((pair for pair in found if pair[1] <= self.delta), default=found[0])

    def _open_for(self, charge: AuditedCharge) -> None:
        """Begin to count together at the first charge that uses up epsilon faster than delta."""
        left = self.delta - self.paid[1]
        if left > 0 and 8 * charge.delta * self.epsilon < 7 * charge.epsilon * self.delta:
            self.meter = Meter(max(Fraction(0), self.epsilon - self.paid[0]), left / 8)


def under_limits(
    body: dict[str, Any],
    format_: int,
    before: list[AuditedAccount],
    history: list[AuditedCharge],
    lost: tuple[Fraction, Fraction],
) -> tuple[list[AuditedAccount], str | None]:
    """Return the accounts that a record of limits leaves, and what is wrong with it or None."""
    if body["accounting"] not in ACCOUNTINGS:
        word = str(body["accounting"])[:20]
        return [], f"is counted by {word!r}, which this version does not know"
    known = {account.identity: account for account in before}
    kinds = kinds_of(declared(words) for words in body["accounts"])
    if before and kinds != kinds_of(before):
        return [], "is of other kinds of unit than the charges before it"
    found = []
    for words in body["accounts"]:
        account = declared(words)
        own = [charge for charge in history if account.takes(charge, kinds)]
        earlier = known.get(account.identity)
        if format_ == 1:
            _judge_whole_past(account, own, body["accounting"])
        elif earlier is not None:
            account = replace(
                earlier,
                epsilon=account.epsilon,
                delta=account.delta,
                allowed=earlier.greatest,
                tranche=account.tranche,
                open=_open_under(earlier, words),
            )
        elif not _begins_with(account, own, body["accounting"], words.get("spent_before"), lost):
            return [], f"{account.named} forgets what was spent before"
        found.append(account)
    return found, None


def declared(words: dict[str, Any]) -> AuditedAccount:
    """Return an account as a record of limits declares it."""
    budget = Fraction(words["epsilon"]), Fraction(words["delta"])
    whom = words.get("protects")
    account = AuditedAccount(words["kind"], words["name"], words["members"], *budget, whom)
    if "tranche" in words:
        tranche = words["tranche"]
        account.tranche = str(tranche["per"]), Fraction(tranche["epsilon"])
        account.open = Fraction(tranche.get("open", 0))
        if (
            not 0 < account.tranche[1] <= account.epsilon
            or not 0 <= account.open <= account.epsilon
        ):
            raise ValueError("tranches of more than there is")
    return account


def _open_under(earlier: AuditedAccount, words: dict[str, Any]) -> Fraction | None:
    """Return what is open of an account under new limits: what was, or what they say at first."""
    if "tranche" not in words:
        return None
    said = "open" in words["tranche"]
    if said == (earlier.open is not None):
        raise ValueError("an account says how much is open when it begins to be paced")
    return Fraction(words["tranche"]["open"]) if said else earlier.open


def kinds_of(accounts: Iterable[AuditedAccount]) -> set[str]:
    """Return the kinds of unit that have accounts of their own; none where there is one kind only."""
    return {account.protects for account in accounts if account.protects is not None}


def _judge_whole_past(account: AuditedAccount, own: list[AuditedCharge], accounting: str) -> None:
    if accounting == "renyi":
        account.meter = Meter(account.epsilon, account.delta / 2)
    for charge in own:
        account.take(charge, accounting)


def _begins_with(
    account: AuditedAccount,
    own: list[AuditedCharge],
    accounting: str,
    recorded: dict[str, str] | None,
    lost: tuple[Fraction, Fraction],
) -> bool:
    """Let a new account begin with what is recorded; return whether its members' past is proved.

    What is `lost` may have been anybody's, and comes on top.
    """
    total = Cost()
    for charge in own:
        total = total + cost_of(charge.events, charge.epsilon, charge.delta, accounting)
    words = recorded or {"epsilon": "0", "delta": "0"}
    account.paid = (Fraction(words["epsilon"]), Fraction(words["delta"]))
    account.charges = len(own)
    proved = proofs(total, Meter(account.epsilon, account.delta / 8))
    if accounting == "pure":
        proved = proved[:1]
    epsilon, delta = account.paid[0] - lost[0], account.paid[1] - lost[1]
    return any(pair[0] <= epsilon and pair[1] <= delta for pair in proved)
