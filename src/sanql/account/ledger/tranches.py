"""The owner's side of budgets that are opened by and by (`tranche_book` says what holds)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC

from sanql.account.ledger.journal import Journal
from sanql.account.ledger.moments import Clock, record_time
from sanql.account.ledger.raising import author_named
from sanql.errors import LedgerError
from sanql.policy import PacedBudget, first_day, period_after, period_of


@dataclass(frozen=True)
class OpenedTranche:
    """A tranche that is on record: for which period, and the accounts of which it opened more."""

    per: str
    period: str
    accounts: tuple[str, ...]


class Tranches:
    """The tranches of one ledger, which its owner opens."""

    def __init__(self, journal: Journal, clock: Clock, author: str | None = None) -> None:
        self._journal = journal
        self._clock = clock
        self._author = author

    def open(self, period: str | None = None) -> list[OpenedTranche]:
        """Open the tranches of the period that it is, or of one that is named; LedgerError without any.

        A clock that is ahead cannot skip periods, since then the owner must name one; nor can one that is
        behind open any anew. Whoever comes second to open the same finds it open.
        """
        opened = []
        with self._journal.writing():
            books = self._journal.books
            accounts = books.current_limits.accounts
            for per in sorted(
                {a.budget.per for a in accounts if isinstance(a.budget, PacedBudget)}
            ):
                named = self._named(per, period)
                if named is None or not (opening := books.tranches.opening(per, accounts)):
                    continue
                self._check_next(per, named, said=period is not None)
                content: dict[str, object] = {
                    "per": per,
                    "period": named,
                    "author": author_named(self._author),
                }
                self._journal.append("tranche", content | {"time": record_time(self._clock)})
                opened.append(OpenedTranche(per, named, tuple(a.named for a in opening)))
            if not opened:
                raise _nothing_to_open(period)
        self._journal.pin()
        return opened

    def _named(self, per: str, period: str | None) -> str | None:
        """Return the period that is meant, of this length; None where another length is."""
        newest = self._journal.books.tranches.newest.get(per, "")
        if period is None:
            now = period_of(per, self._clock().astimezone(UTC).date())
            return now if now > newest else None
        try:
            first_day(per, period)
        except ValueError:
            return None
        return period if period > newest else None

    def _check_next(self, per: str, period: str, *, said: bool) -> None:
        """Refuse a period that nobody named and that is not the next one."""
        newest = self._journal.books.tranches.newest.get(per)
        if not said and newest is not None and period != period_after(per, newest):
            raise LedgerError(
                "tranche_skips",
                f"the newest tranche on record is that of {newest}, and by this machine's clock it is"
                f" {period}",
                f"see that the clock is right, then name the period: `sanql budget open {period}`",
            )


def _nothing_to_open(period: str | None) -> LedgerError:
    when = "the period that it is" if period is None else repr(period[:20])
    return LedgerError(
        "tranche_none",
        f"there is no tranche to open for {when}: it is open, or is before one that is, no budget of the"
        " policy has periods of that length, or all of them are open in full",
        'see `sanql budget` for what is open; budget = { epsilon = 1, per = "month", total = 12 } has'
        " tranches, and the next one opens in the next period",
    )
