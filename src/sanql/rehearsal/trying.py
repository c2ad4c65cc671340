"""Questions asked of scratch accounts over the owner's data: without noise, then at each epsilon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from sanql import __version__
from sanql.account import DATASET, Charge, Ledger, account_terms, store_in_memory
from sanql.ask import Request, ask, read_request
from sanql.errors import BudgetExceeded, Refused
from sanql.examine import reach_of
from sanql.options import AnswerOptions
from sanql.parse import QuestionText
from sanql.policy import Policy, load
from sanql.rehearsal.comparison import Truth, columns_tried, keys_found, truth_of
from sanql.rehearsal.contents import (
    BudgetTried,
    EpsilonTried,
    QuestionTried,
    Rehearsal,
    least_enough,
)
from sanql.rehearsal.lifted import Lifted, lifted
from sanql.rehearsal.scratch import ScratchSession, scratch_folder
from sanql.results import Answer

EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1))
RUNS = 10
WITHIN = Fraction(1, 10)
_ROWS_SHOWN = 20

# With so large an epsilon noise is 0 but with a chance below e^-1000, and a key appears with one unit.
_NO_NOISE = Fraction(10**15)
_HARDLY_ANY_DELTA = Fraction(1, 10**18)


def rehearse_questions(
    policy: Policy | str | Path,
    questions: Sequence[str],
    *,
    epsilons: Sequence[Fraction] = EPSILONS,
    runs: int = RUNS,
    within: Fraction = WITHIN,
    analyst: str | None = None,
    progress: Callable[[str], None] = lambda words: None,
) -> Rehearsal:
    """Return how far private answers would be from true ones; for the owner, outside the guarantee.

    Each question is asked `runs` times at each epsilon. The real account is neither charged nor opened
    for writing. Of the analyst that is named, or of the dataset where nobody is, it is told which
    budget would refuse a question.
    """
    owned = policy if isinstance(policy, Policy) else load(policy)
    asker = _asker(owned, analyst)
    tried = sorted(set(epsilons))
    with scratch_folder(owned) as folder:
        progress("looking how far rows reach")
        ways = list(lifted(owned, reach_of(owned, "rehearse", progress)))
        with ExitStack() as open_sessions:
            rooms = _Rooms(owned, folder, asker, progress, open_sessions)
            found = [
                rooms.tried(number, sql, ways, tried, runs, within)
                for number, sql in enumerate(questions, 1)
            ]
        budgets = [_budget(owned, folder, asker, epsilon, found) for epsilon in tried]
    return Rehearsal(
        dataset=owned.name,
        made=datetime.now(UTC).replace(microsecond=0),
        version=__version__,
        analyst=asker,
        runs=runs,
        within=float(within),
        epsilons=tuple(map(float, tried)),
        questions=tuple(each.told for each in found),
        budgets=tuple(budgets),
    )


@dataclass(frozen=True)
class _Found:
    """What is told of a question, and what its answer costs at each epsilon."""

    told: QuestionTried
    charges: dict[Fraction, Charge]


class _Rooms:
    """The sessions of one rehearsal, each opened when it is first needed."""

    def __init__(
        self,
        owned: Policy,
        folder: Path,
        analyst: str,
        progress: Callable[[str], None],
        open_sessions: ExitStack,
    ) -> None:
        self._owned, self._folder, self._analyst = owned, folder, analyst
        self._progress, self._open_sessions = progress, open_sessions
        self._sessions: dict[str | None, ScratchSession] = {}

    def tried(
        self,
        number: int,
        sql: str,
        ways: Sequence[Lifted],
        epsilons: Sequence[Fraction],
        runs: int,
        within: Fraction,
    ) -> _Found:
        """Return what is found of one question."""
        told = QuestionTried(number, sql)
        try:
            request = read_request(QuestionText(sql), self._analyst, {"fresh": True})
            if request.options.exact:
                return _Found(replace(told, note="it is asked for without noise"), {})
            true, left = self._true(request, ways)
        except Refused as refused:
            return _Found(replace(told, note=f"refused: {refused}"), {})
        truth = truth_of(true)
        if true.free or truth is None:
            why = "exact and free: nobody can change it" if true.free else _NO_KEYS
            return _Found(replace(told, note=why), {})
        told = self._without_noise(told, request, truth, left)
        at: list[EpsilonTried] = []
        charges: dict[Fraction, Charge] = {}
        for epsilon in epsilons:
            self._progress(f"question {number} at epsilon {float(epsilon):g}, {runs} times")
            one, charge = self._at(request, truth, epsilon, runs)
            at.append(one)
            charges |= {} if charge is None else {epsilon: charge}
        enough = least_enough(at, float(within))
        return _Found(replace(told, at=tuple(at), enough=enough), charges)

    def _true(self, request: Request, ways: Sequence[Lifted]) -> tuple[Answer, str]:
        """Return the true answer, with as much lifted as the question allows; and what is not lifted."""
        refused: Refused | None = None
        for way in ways:
            try:
                return self._exactly(self._session(way), request), way.left
            except Refused as fault:
                refused = fault
        assert refused is not None  # noqa: S101  (there is a way: the policy as it is)
        raise refused

    def _exactly(self, session: ScratchSession, request: Request) -> Answer:
        """Return an answer with no noise, in which keys of a single unit appear where that can be."""
        options = _priced(request.options, _NO_NOISE, _HARDLY_ANY_DELTA)
        try:
            return ask(session, replace(request, options=_every_key(options)))
        except Refused as refused:
            if refused.code not in ("limits_needless", "over_statistics_option"):
                raise
            return ask(session, replace(request, options=options))

    def _without_noise(
        self, told: QuestionTried, request: Request, truth: Truth, left: str
    ) -> QuestionTried:
        told = replace(
            told,
            columns=truth.columns,
            true=truth.ordered[:_ROWS_SHOWN],
            groups=len(truth.rows),
            note=f"the truth is taken with the policy's {left}" if left else "",
        )
        try:
            limited = [self._exactly(self._session(None), request)]
        except Refused:
            return told
        return replace(told, cut=columns_tried(truth, limited), cut_keys=keys_found(truth, limited))

    def _at(
        self, request: Request, truth: Truth, epsilon: Fraction, runs: int
    ) -> tuple[EpsilonTried, Charge | None]:
        asked = replace(request, options=_priced(request.options, epsilon, request.options.delta))
        try:
            answers = [ask(self._session(None), asked) for _ in range(runs)]
        except Refused as refused:
            return EpsilonTried(float(epsilon), refused=str(refused)), None
        charge = answers[0].charge
        told = EpsilonTried(
            float(epsilon), columns_tried(truth, answers), keys_found(truth, answers)
        )
        return told, charge if isinstance(charge, Charge) else None

    def _session(self, way: Lifted | None) -> ScratchSession:
        """Return the session in which something is lifted, or that in which nothing is."""
        name = None if way is None else way.left
        if name not in self._sessions:
            tables = None if way is None else way.tables
            session = ScratchSession(self._owned, self._folder, self._progress, tables)
            self._sessions[name] = self._open_sessions.enter_context(session)
        return self._sessions[name]


_NO_KEYS = "its rows cannot be told apart by the columns that have no noise, so nothing is compared"


def _priced(options: AnswerOptions, epsilon: Fraction, delta: Fraction | None) -> AnswerOptions:
    return replace(options, epsilon=epsilon, delta=delta, accuracy=None)


def _every_key(options: AnswerOptions) -> AnswerOptions:
    """Return options by which a key needs one unit less than it would: one, where noise is none."""
    return replace(options, min_privacy_units_per_group=0)


def _asker(policy: Policy, analyst: str | None) -> str:
    if analyst is None or analyst in policy.analysts:
        return analyst or "owner"
    raise Refused(
        "analyst_unknown",
        f"the policy names no analyst {analyst}",
        f"name one of {', '.join(policy.analysts) or 'those it has, which are none'}, or nobody",
    )


def _budget(
    policy: Policy, folder: Path, analyst: str, epsilon: Fraction, found: Sequence[_Found]
) -> BudgetTried:
    """Return how many questions fit an account with the policy's budgets that has spent nothing."""
    alone = replace(policy, ledger=folder / "budget.ledger", ledger_database=None, head=None)
    ledger = Ledger.open(alone, account_terms(alone), store=store_in_memory(alone))
    charged = analyst if analyst in policy.analysts else DATASET
    try:
        answered = 0
        for number, charge in _charges(found, epsilon):
            try:
                ledger.reserve(charged, f"{number:064x}", charge)
            except BudgetExceeded as refused:
                return BudgetTried(float(epsilon), answered, f"question {number}: {refused}")
            answered += 1
        return BudgetTried(float(epsilon), answered)
    finally:
        ledger.close()


def _charges(found: Sequence[_Found], epsilon: Fraction) -> Iterator[tuple[int, Charge]]:
    for each in found:
        if epsilon in each.charges:
            yield each.told.number, each.charges[epsilon]
