"""The datasets that a server answers about: for each a session, and the people who may ask it.

Policies are read again on request. A session whose policy has changed is replaced: questions that run
finish in the old one, which then closes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sanql.account import People, open_store
from sanql.ask import Session, explain_request, read_request
from sanql.errors import SanqlError, ServerError
from sanql.parse import QuestionText
from sanql.policy import Policy, load

_VOIDING_SECONDS = 30.0


class Dataset:
    """One dataset, open for questions; closed when it is retired and nobody uses it any more."""

    def __init__(self, policy: Policy, text: bytes, progress: Callable[[str], None] | None) -> None:
        self.policy = policy
        self.text = text
        self.session = Session(policy, progress=progress)
        self._unused = threading.Condition()
        self._users = 0
        self._retired = False
        try:
            self.people = People(open_store(policy))
        except BaseException:
            self.session.close()
            raise

    @property
    def name(self) -> str:
        """What the dataset is called."""
        return self.policy.name

    def prepare(self) -> None:
        """Have the data open and every worker ready, before anybody waits for them."""
        self.session.data.open().workers.warm()

    def rehearse(self) -> None:
        """Plan a question once, so that nobody waits for what is imported by the first."""
        asking = next(iter(self.policy.analysts), "analyst")
        for table in self.policy.tables.values():
            text = QuestionText(f'SELECT COUNT(*) FROM "{table.name}"')
            with suppress(SanqlError):
                explain_request(self.session, read_request(text, asking, {"epsilon": 1}))

    @contextmanager
    def used(self) -> Iterator[Session]:
        """Hold the session open, whatever becomes of the policy meanwhile."""
        with self._unused:
            self._users += 1
        try:
            yield self.session
        finally:
            with self._unused:
                self._users -= 1
                last = self._retired and not self._users
                self._unused.notify_all()
            if last:
                self.close()

    def retire(self) -> None:
        """Close it as soon as nobody uses it."""
        with self._unused:
            self._retired = True
            unused = not self._users
        if unused:
            self.close()

    def close(self) -> None:
        """Stop the engine, in the middle of questions too, and let go of ledger and people.

        Questions that are ended have their charge voided on record first.
        """
        self.session.stop()
        with self._unused:
            self._unused.wait_for(lambda: not self._users, timeout=_VOIDING_SECONDS)
        self.session.close()
        self.people.close()


class Datasets:
    """Every dataset of a server, by name."""

    def __init__(
        self, paths: Sequence[Path], progress: Callable[[str], None] | None = None
    ) -> None:
        self._paths = tuple(path.absolute() for path in paths)  # as policies name theirs
        self._progress = progress
        self._mutex = threading.Lock()
        self._open: dict[str, Dataset] = {}
        self._replaced = 0
        try:
            for path in self._paths:
                self._add(self._opened(path))
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[Dataset]:
        return iter([*self._open.values()])

    @property
    def state(self) -> int:
        """A number that grows when a dataset is replaced, or its people are changed through it."""
        return self._replaced + sum(dataset.people.changes for dataset in self)

    def prepare(self) -> None:
        """Have all data open and all workers ready."""
        for dataset in self:
            if not dataset.policy.scratch:
                dataset.prepare()

    def reload(self, wanted: Collection[str] | None = None) -> dict[str, str]:
        """Read every policy again, or those of some datasets; return by file what became of it.

        One with a fault changes nothing: the dataset goes on under the policy before.
        """
        with self._mutex:
            names = {each.policy.path: each.name for each in self}
            paths = [path for path in self._paths if wanted is None or names.get(path) in wanted]
            alike = len({path.name for path in paths}) < len(paths)
            return {str(path) if alike else path.name: self._reload(path) for path in paths}

    def close(self) -> None:
        """Close all of them."""
        while self._open:
            self._open.popitem()[1].close()

    def _reload(self, path: Path) -> str:
        try:
            if any(path == each.policy.path and _text(path) == each.text for each in self):
                return "unchanged"
            policy = load(path)
            before = self._open.get(policy.name)
            if before is None or before.policy.path != policy.path:
                return f"not loaded: the dataset is called {policy.name} now; restart to rename it"
            dataset = self._opened(path)
            dataset.prepare()
        except SanqlError as error:
            return f"not loaded, the policy before goes on: [{error.code}] {error.message}"
        self._open[dataset.name] = dataset
        self._replaced += 1 + before.people.changes
        before.retire()
        return "loaded"

    def _opened(self, path: Path) -> Dataset:
        return Dataset(load(path), _text(path), self._progress)

    def _add(self, dataset: Dataset) -> None:
        if dataset.name in self._open:
            dataset.close()
            raise ServerError(
                "dataset_twice",
                f"two policies are of a dataset {dataset.name!r}",
                "name each dataset once",
            )
        self._open[dataset.name] = dataset


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
