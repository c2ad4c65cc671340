"""Noisy cells on record → the answer that they are, certified and in the form that was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from sanql.account import packed, total_charge
from sanql.answer import MeasuredContent, noise_by_column, show_levels
from sanql.ask.bounded_question import BoundedQuestion, with_bounds_certified
from sanql.ask.helping_epsilon import AnswerPriced
from sanql.ask.measure import RecordedCells
from sanql.ask.nothing_told import nothing_told
from sanql.ask.price import is_at_least_price
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.certificate import certify
from sanql.computed_once import computed_once
from sanql.mechanisms import ExactSampler, Noise, SymmetricNoise, drawn_noise
from sanql.plan import Plan, as_chosen
from sanql.profile import Profile
from sanql.results import Answer, Certificate


@dataclass(frozen=True)
class Certifying:
    """What an answer needs besides its cells, computed while the engine is busy."""

    plan: Plan
    request: Request
    question: BoundedQuestion
    profiles: Mapping[str, Profile]
    chosen: tuple[str, ...] = ()

    @computed_once
    def certificate(self) -> Certificate:
        words = (*self.request.display.in_words(), *self.chosen)
        certificate = certify(self.plan, words, self.profiles)
        return with_bounds_certified(certificate, self.plan, self.question)

    def of(self, cells: RecordedCells) -> Certifying:
        """Return what the answer needs once its cells are there: what was chosen privately is in them."""
        plan = as_chosen(self.plan, cells.levels)
        return self if plan is self.plan else replace(self, plan=plan)

    def make(self) -> bytes:
        """Compute all of it; wheels and quantiles are remembered, draws made here thrown away.

        Returns the certificate as the ledger keeps it: it depends on the plan, and on profiles that
        were charged for themselves. What is chosen privately is on record in the cells beside it.
        """
        for noise in set(self.plan.noises):
            _prepare(noise, self.request.options.confidence)
        return packed(self.certificate.to_dict())


@lru_cache(maxsize=64)
def _prepare(noise: Noise, confidence: Fraction) -> None:
    ExactSampler().sample(drawn_noise(noise), 1)
    if isinstance(noise, SymmetricNoise):
        noise.half_width(confidence)


def show_recorded(
    session: Session, request: Request, certifying: Certifying, cells: RecordedCells
) -> Answer:
    """Return the answer that noisy cells on record are, in the form that was asked for."""
    certifying = certifying.of(cells)
    plan = certifying.plan
    shown = show_levels(plan, cells.cells, request.options.confidence, request.display)
    options = request.options
    asked = AnswerPriced(plan, options.confidence, certifying.profiles, options.rows_guessed)
    return Answer(
        content=MeasuredContent(shown.table, shown.intervals),
        confidence=request.options.confidence,
        noise=noise_by_column(plan),
        charge=total_charge([*certifying.question.paid, plan.charge]),
        remaining=session.balances(request.analyst) if cells.remaining is None else cells.remaining,
        certificate=certifying.certificate,
        cached=cells.cached,
        without_interval=shown.without,
        nothing_told=nothing_told(plan, shown, asked),
        version=cells.version,
        raised=is_at_least_price(session.policy, request, plan),
    )
