"""Group commit: what threads would write at the same moment is one transaction, one commit and one pin.

A thread brings a deed, which decides on the newest state and appends; it waits in line until its turn is
settled: on disk and pinned, or refused. Whoever may write next does the deeds of all in line, one after
another, each on what those before it have left. A deed that is refused before it has added anything
hurts nobody; after one that breaks off halfway nothing of the transaction is kept, and each is done
alone. What the store itself cannot do reaches everybody in line.

Nobody is lost with the thread that was to serve them: a turn stays in line until it is settled, and
whoever holds the journal may serve it. Where an interrupt has left it open whether a turn was kept, the
chain tells.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from sanql.account.ledger.chain import Head, LedgerRecord

if TYPE_CHECKING:
    from sanql.account.ledger.journal import Journal

_SECONDS_PATIENT = 1.0  # after which a thread no longer relies on the one that is to serve it


class WaitingWrite:
    """One thread's turn to write: its deed, and what has become of it.

    `made` is the deed's record, once that may be on disk; also where the thread was interrupted.
    """

    def __init__(self, deed: Callable[[], LedgerRecord]) -> None:
        self.deed = deed
        self.made: LedgerRecord | None = None
        self.fault: Exception | None = None
        self.newest: Head | None = None  # the newest record after it was done; None before
        self.settled = False
        self.taken = False  # whether somebody is serving it
        self.called = threading.Event()  # to see whether it is settled, or to serve

    def forget(self) -> None:
        """Be as before: nothing that it did was kept."""
        self.made = self.newest = self.fault = None

    def outcome(self) -> LedgerRecord:
        """Return the deed's record, or raise why there is none."""
        if self.fault is not None:
            raise self.fault
        return cast(LedgerRecord, self.made)


class GroupCommit:
    """The threads that wait to write to one journal.

    The line is a list that any thread appends to, at once, and only who holds the journal takes from.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._line: list[
            WaitingWrite
        ] = []  # every turn that is not settled, in the order of coming

    @property
    def waiting(self) -> int:
        """How many threads have a turn that is not settled."""
        return len(self._line)

    def write(self, turn: WaitingWrite) -> LedgerRecord:
        """Return the record of a deed, durable and pinned, or raise why it was not done."""
        try:
            if self._join(turn):
                self._serve()
            while not turn.settled:
                turn.called.wait(_SECONDS_PATIENT)
                if not turn.settled:
                    self._serve()
        except BaseException:
            self._leave(turn)
            raise
        return turn.outcome()

    def _join(self, turn: WaitingWrite) -> bool:
        """Stand in line; return whether it may be that nobody else will serve this turn.

        Somebody will if the one before is not taken yet: whoever takes that one goes on to this.
        """
        last = self._line[-1:]
        self._line.append(turn)
        return not last or last[0].taken

    def _leave(self, turn: WaitingWrite) -> None:
        """Step out of line after an interrupt, once nobody is serving; somebody else must serve now."""
        with self._journal.mutex:
            if turn in self._line:
                self._line.remove(turn)
            for other in self._line:
                other.called.set()

    def _serve(self) -> None:
        """Do what everybody in line wants; hold the journal until it is durable and pinned."""
        with self._journal.mutex:
            try:
                self._settle(self._take())
            finally:
                self._dismiss()

    def _take(self) -> list[WaitingWrite]:
        """Return who is in line; whoever comes once the last of them is marked sees that it is."""
        for turn in self._line:
            turn.taken = True
        return [turn for turn in self._line if turn.taken and not turn.settled]

    def _dismiss(self) -> None:
        """Let go of who is settled; the others, after an interrupt, must look for themselves."""
        for turn in [turn for turn in self._line if turn.taken]:
            turn.called.set()
            turn.taken = False
            if turn.settled:
                self._line.remove(turn)

    def _settle(self, batch: Sequence[WaitingWrite]) -> None:
        try:
            self._look_up([turn for turn in batch if turn.newest is not None])
            left = [turn for turn in batch if not turn.settled]
            if left and not self._do_together(left):
                for turn in left:
                    self._do_together([turn])
        except Exception as fault:  # of the journal or its store: everybody's
            left = [turn for turn in batch if not turn.settled]
            for turn in left:
                turn.fault = fault if len(left) == 1 else _same(fault)
                turn.settled = True

    def _look_up(self, doubtful: Sequence[WaitingWrite]) -> None:
        """Settle those whose thread in charge was interrupted after their deeds, where they were kept."""
        if not doubtful:
            return
        self._journal.pin()
        with self._journal.reading():
            for turn in doubtful:
                if turn.newest is not None and self._journal.has(turn.newest):
                    turn.settled = True
                else:
                    turn.forget()

    def _do_together(self, batch: Sequence[WaitingWrite]) -> bool:
        """Do deeds in one transaction; return False, and keep nothing, where one of several broke off."""
        try:
            with self._journal.writing():
                for turn in batch:
                    self._do(turn)
                if not any(turn.made for turn in batch):
                    raise _NothingDone
            self._journal.pin()
        except _NothingDone:
            pass
        except _BrokenOff as broken:
            for turn in batch:
                turn.forget()
            if len(batch) > 1:
                return False
            batch[0].fault = broken.fault
        for turn in batch:
            turn.settled = True
        return True

    def _do(self, turn: WaitingWrite) -> None:
        """Do one deed, after those before it; what is refused by itself leaves nothing."""
        turn.forget()
        before = self._journal.additions
        try:
            turn.made = turn.deed()
            turn.newest = self._journal.books.head
        except self._journal.faults:
            raise
        except Exception as fault:
            if self._journal.additions != before:
                raise _BrokenOff(fault) from fault
            turn.fault = fault


class _NothingDone(Exception):
    """Every deed of a transaction was refused."""


class _BrokenOff(Exception):
    """A deed failed after it had added something."""

    def __init__(self, fault: Exception) -> None:
        super().__init__()
        self.fault = fault


def _same(fault: Exception) -> Exception:
    """Return the same error once more, for one of several threads that raise it."""
    again = type(fault).__new__(type(fault), *fault.args)
    again.__dict__.update(fault.__dict__)
    again.__cause__ = fault.__cause__
    return again
