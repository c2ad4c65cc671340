"""Every error SanQL raises on purpose.

    SanqlError
    ├── PolicyError      the owner's policy is wrong; lists every fault     exit code 2
    ├── Refused          the question cannot be answered privately          exit code 2
    ├── BudgetExceeded   the answer would cost more than is left            exit code 3
    ├── Unavailable      the engine could not answer; never says why        exit code 4
    ├── LedgerError      the account cannot be trusted; nothing is answered exit code 5
    │   └── LedgerUnreadable  this user may not read it, sound or not      exit code 6
    ├── AccessDenied     who asks is not known, or may not do this          exit code 7
    └── ServerError      the server cannot be asked, or not like this       exit code 8

Each carries a stable `code`, a `message` (what, the value typed, the rule) and a `remedy`. They
quote what the analyst typed or the owner configured, never what a row contains, and are safe to show.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sanql.visible import visible


class SanqlError(Exception):
    """The base of every deliberate error: a code, a message and a remedy."""

    exit_code: ClassVar[int] = 1

    def __init__(self, code: str, message: str, remedy: str) -> None:
        self.code = code
        self.message = visible(message, lines=True)
        self.remedy = visible(remedy, lines=True)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message}\n  remedy: {self.remedy}" if self.remedy else self.message

    def _render_traceback_(self) -> list[str]:
        """Return what notebooks show in place of the lines of San that led here."""
        return [f"{type(self).__name__} [{self.code}]: {self}"]

    def _repr_html_(self) -> str:
        remedy = f"<p>remedy: {_lines(self.remedy)}</p>" if self.remedy else ""
        return f"<p><b>{html.escape(self.code)}</b>: {_lines(self.message)}</p>{remedy}"

    def to_dict(self) -> dict[str, object]:
        """Return the one JSON shape of every error."""
        return {"error": {"code": self.code, "message": self.message, "remedy": self.remedy}}


def _lines(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a policy: where, what, and what to do about it."""

    place: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}; {self.remedy}"


class PolicyError(SanqlError):
    """The policy has faults; all of them are reported at once."""

    exit_code = 2

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        count = len(self.faults)
        super().__init__(
            "policy_invalid",
            f"the policy has {count} fault{'s' if count != 1 else ''}:\n"
            + "\n".join(f"  - {fault}" for fault in self.faults),
            "mend each place named above, then run `sanql check`",
        )

    def to_dict(self) -> dict[str, object]:
        shape = super().to_dict()
        faults = [
            {"place": fault.place, "message": fault.message, "remedy": fault.remedy}
            for fault in self.faults
        ]
        error = shape["error"]
        assert isinstance(error, dict)  # noqa: S101  (super() built it three lines above)
        error["faults"] = faults
        return shape


Place = tuple[int, int]


class Refused(SanqlError):
    """The question is not understood or cannot be private; decided before any row is read.

    `place` is the line and column of the question that it is about, and `nearest` a question that would
    be answered; the message ends with the one, the remedy with the other. `fill_in` says which of its
    numbers and dates nobody asked for, and what to write in their place.
    """

    exit_code = 2

    def __init__(
        self,
        code: str,
        message: str,
        remedy: str,
        place: Place | None = None,
        nearest: str = "",
        fill_in: str = "",
    ) -> None:
        where = f" (line {place[0]}, column {place[1]})" if place is not None else ""
        asking = f"with {fill_in}, ask" if fill_in else "ask"
        super().__init__(
            code, f"{message}{where}", f"{remedy}; {asking}: {nearest}" if nearest else remedy
        )
        self.place = place
        self.nearest = nearest
        self.fill_in = fill_in
        self._said = message, remedy

    def _repr_html_(self) -> str:
        if not self.nearest:
            return super()._repr_html_()
        shown = f"<p><b>{html.escape(self.code)}</b>: {_lines(self.message)}</p>"
        shown += f"<p>remedy: {_lines(self.remedy_in_words)}</p>"
        asking = f"with {self.fill_in}, ask" if self.fill_in else "ask"
        return f"{shown}<p>{html.escape(asking)}:</p><pre>{html.escape(self.nearest)}</pre>"

    @property
    def remedy_in_words(self) -> str:
        """The remedy without the nearest question, for whoever shows that apart."""
        return self._said[1]

    def at(self, place: Place | None) -> Refused:
        """Return the same refusal, about a place in the question."""
        return Refused(self.code, *self._said, place, self.nearest, self.fill_in)

    def about(self, text: str) -> Refused:
        """Return the same refusal, naming the part of the question it is about."""
        message, remedy = self._said
        named = message if text in message else f"{text}: {message}"
        return Refused(self.code, named, remedy, self.place, self.nearest, self.fill_in)

    def showing(self, nearest: str, fill_in: str = "") -> Refused:
        """Return the same refusal with a question that would be answered."""
        return Refused(self.code, *self._said, self.place, nearest, fill_in)

    def adding(self, remedy: str) -> Refused:
        """Return the same refusal with one more remedy."""
        message, first = self._said
        more = f"{first}; {remedy}"
        return Refused(self.code, message, more, self.place, self.nearest, self.fill_in)

    def to_dict(self) -> dict[str, object]:
        """Return the one JSON shape of every error, with what is known besides."""
        shape = super().to_dict()
        error = shape["error"]
        assert isinstance(error, dict)  # noqa: S101  (super() built it)
        if self.place is not None:
            error |= {"line": self.place[0], "column": self.place[1]}
        if self.nearest:
            error["nearest"] = self.nearest
        if self.fill_in:
            error["fill_in"] = self.fill_in
        return shape


class BudgetExceeded(SanqlError):
    """The charge does not fit an account of the ledger."""

    exit_code = 3


class Unavailable(SanqlError):
    """Execution had begun and ended without an answer; the charge stays."""

    exit_code = 4


class LedgerError(SanqlError):
    """The ledger is missing, damaged or rolled back; nothing is answered from it."""

    exit_code = 5


class LedgerUnreadable(LedgerError):
    """The ledger may not be read by whoever asks; nothing is known of whether it is sound."""

    exit_code = 6

    def __init__(self, name: str) -> None:
        super().__init__(
            "ledger_unreadable",
            f"{name} may not be read by this user, so nothing can be said of it",
            "run the command as the user that San runs as, or see to the rights of the file and its "
            "folder (SQLite also needs to write beside a ledger that it reads)",
        )


class AccessDenied(SanqlError):
    """Whoever asks is not known, or has not the role for it."""

    exit_code = 7


class ServerError(SanqlError):
    """A server cannot be started, or cannot be asked, or not like this; nothing is charged."""

    exit_code = 8
