"""A server's own state: datasets, who may ask, the queue, and what is kept for later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from sanql.errors import SanqlError, ServerError
from sanql.server.code_flow import CodeFlow
from sanql.server.datasets import Datasets
from sanql.server.logs import Log
from sanql.server.questions import KeptQuestions
from sanql.server.queueing import FairQueue
from sanql.server.rates import RateLimit
from sanql.server.settings import ServerSettings
from sanql.server.signing_in import SigningIn
from sanql.server.web.sessions import WebSessions


@dataclass
class Service:
    """What every request needs; made once a server."""

    datasets: Datasets
    settings: ServerSettings
    log: Log

    def __post_init__(self) -> None:
        """Start the threads that questions run in."""
        limits = self.settings.limits
        self.signing_in = SigningIn(self.datasets, self.settings)
        self.queue = FairQueue(
            limits.questions_running, limits.questions_waiting, limits.questions_per_person
        )
        self.web_sessions = WebSessions()
        provider = self.settings.sign_on
        self.code_flow = CodeFlow(provider) if provider and provider.redirect else None
        self.kept = KeptQuestions(limits.kept_questions_per_person)
        self.requests = RateLimit(limits.requests_per_second, 2 * limits.requests_per_second)
        self.started = datetime.now(UTC)
        self.ready = False

    @contextmanager
    def noting_faults(self) -> Iterator[None]:
        """Write down that a fault was met which nobody foresaw, and its kind alone."""
        try:
            yield
        except SanqlError:
            raise
        except Exception as fault:
            self.log("fault", kind=type(fault).__name__)
            raise

    def check_rate(self, person: str) -> None:
        """Refuse whoever asks faster than one may."""
        if self.requests.take(person):
            raise ServerError(
                "requests_too_many",
                f"more than {self.settings.limits.requests_per_second:g} requests a second of yours",
                "ask more slowly",
            )

    def prepare(self, until: Callable[[], object] = lambda: None) -> None:
        """Open all data, and wait until something else is done too; the server is ready then."""
        self.datasets.prepare()
        until()
        self.ready = True

    def begin_to_stop(self) -> None:
        """Take no more questions, and refuse those that wait."""
        self.ready = False
        self.queue.stop(0)

    def close(self) -> None:
        """Finish what runs, or end it: its charge stays, and is voided on record."""
        self.queue.stop(self.settings.limits.stop_seconds)
        self.datasets.close()
