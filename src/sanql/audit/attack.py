"""A system attacked through its own doors: HTTP and the wire of PostgreSQL, as an analyst has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sanql.account import People, account_terms, open_store
from sanql.audit.games import (
    EPSILON,
    KEYS_SQL,
    PRESENCE,
    AttackFound,
    Rows,
    account_kept,
    keys_that_surface,
    overspending,
    repeated,
)
from sanql.audit.ledger import verify_account
from sanql.audit.town import SELECTION_DELTA, SMALL_BUDGET, SMALL_PRICE, Town, write_town
from sanql.client import RemoteSan, connect_to_server
from sanql.errors import BudgetExceeded
from sanql.policy import Policy, load
from sanql.sources import retire_account

PEOPLE = 5000
ALPHA = 1e-6

WIRE = "wire"
HTTP = "HTTP"


@dataclass(frozen=True)
class Doors:
    """Where a system listens: the address of its HTTP door, and host and port of its wire."""

    url: str
    wire: str


Serve = Callable[[Path], AbstractContextManager[Doors]]
"""What serves a policy, while it is held."""


@dataclass(frozen=True)
class SystemAudit:
    """What attacks on a system found, each at the same level: `alpha` is of all of them together."""

    made: datetime
    version: str
    people: int
    alpha: float
    findings: tuple[AttackFound, ...]

    @property
    def alpha_each(self) -> float:
        """The level of one attack."""
        return self.alpha / len(self.findings)

    @property
    def refuted(self) -> tuple[AttackFound, ...]:
        """The attacks that refute the claim."""
        return tuple(each for each in self.findings if each.refutes(self.alpha_each))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "made": self.made.isoformat(),
            "version": self.version,
            "people": self.people,
            "alpha": self.alpha,
            "claim": {"epsilon": EPSILON, "neighbours": "add-remove"},
            "refuted": [each.attack for each in self.refuted],
            "findings": [asdict(each) for each in self.findings],
        }


def kept_audit_path(policy: Policy) -> Path:
    """Return where the newest audit of a policy's system is kept, beside its ledger."""
    return policy.ledger.with_suffix(".audit.json")


def audit_system(
    serve: Serve,
    *,
    accounting: str,
    people: int = PEOPLE,
    alpha: float = ALPHA,
    progress: Callable[[str], None] = lambda words: None,
) -> SystemAudit:
    """Return what attacks on a system find, which is served over a town of canaries made for it.

    A system that keeps its promise is refuted with a probability of at most `alpha`.
    """
    from sanql import __version__

    with TemporaryDirectory(prefix="sanql-audit-") as folder:
        town = write_town(Path(folder), people, accounting)
        progress(f"a town of {people:,} canaries is written; its server starts")
        tokens = _tokens(town)
        with serve(town.policy) as doors:
            findings = list(_attacked(town, doors, tokens, alpha, progress))
        findings.append(_verified(town))
        _let_go(town)
    now = datetime.now(UTC).replace(microsecond=0)
    return SystemAudit(now, __version__, people, alpha, tuple(findings))


def _tokens(town: Town) -> dict[str, str]:
    with closing(People(open_store(load(town.policy)))) as known:
        return {name: known.add(name, "analyst")[1] for name in ("canary", "poor")}


def _attacked(
    town: Town,
    doors: Doors,
    tokens: dict[str, str],
    alpha: float,
    progress: Callable[[str], None],
) -> Iterator[AttackFound]:
    with connect_to_server(doors.url, token=tokens["canary"], insecure=True) as san:
        for game in PRESENCE:
            progress(f"{game.attack}, over HTTP")
            rows = san.query(game.sql, epsilon=EPSILON).rows
            yield game.played(town, rows, HTTP, alpha)
        again = san.query(PRESENCE[-1].sql, epsilon=EPSILON)
        yield repeated(rows, again.rows, HTTP)
        progress("names that one person has, over HTTP")
        named = san.query(KEYS_SQL, epsilon=EPSILON, delta=SELECTION_DELTA)
        yield keys_that_surface(town, named.rows, HTTP)
    progress("counts, over the wire")
    with _wired(doors, tokens["canary"]) as ask:
        yield PRESENCE[0].played(town, ask(PRESENCE[0].sql), WIRE, alpha)
    progress("a budget that ends, over HTTP")
    with connect_to_server(doors.url, token=tokens["poor"], insecure=True) as poor:
        yield from _until_refused(poor)


def _until_refused(poor: RemoteSan) -> Iterator[AttackFound]:
    """Ask the same anew until the account says no, or has answered twice what is paid for."""
    allowed = int(Fraction(SMALL_BUDGET) / Fraction(SMALL_PRICE))
    answered = 0
    try:
        for _ in range(2 * allowed):
            poor.query("SELECT COUNT(*) FROM single", epsilon=SMALL_PRICE, fresh=True)
            answered += 1
    except BudgetExceeded:
        pass
    yield overspending(answered, allowed, HTTP)
    (own,) = poor.balances()
    yield account_kept(answered * Fraction(SMALL_PRICE), own.spent_upper.epsilon, HTTP)


@contextmanager
def _wired(doors: Doors, token: str) -> Iterator[Callable[[str], Rows]]:
    """Give what asks over the wire, for hardly less than over HTTP: so it is another question."""
    import psycopg

    host, _, port = doors.wire.rpartition(":")
    with psycopg.connect(
        host=host, port=int(port), user="canary", password=token, dbname="canaries", autocommit=True
    ) as connection:
        connection.execute("SET sanql.epsilon = 0.999")

        def ask(sql: str) -> Rows:
            return connection.execute(sql.encode()).fetchall()

        yield ask


def _let_go(town: Town) -> None:
    """Close the town's account, so that its place may be anybody's again."""
    policy = load(town.policy)
    why = "an audit is over, and its canaries are gone"
    retire_account(policy, account_terms(policy), "other-data", why)


def _verified(town: Town) -> AttackFound:
    """Return what the independent verifier says of the account that was attacked."""
    from sanql.errors import LedgerError

    try:
        verified = verify_account(load(town.policy)).to_dict()
    except LedgerError as fault:
        return AttackFound("the account, verified", "ledger", 0, 0.0, str(fault).splitlines()[0])
    return AttackFound("the account, verified", "ledger", 0, 1.0, f"{verified['records']} records")
