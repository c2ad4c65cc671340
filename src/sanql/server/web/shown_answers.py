"""Answers and explanations as pages show them: rows with intervals, charts, prices, guarantees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from sanql.numbers import show_upper
from sanql.results import Answer, ExactCertificate, ExactExplanation, Explanation
from sanql.server.web.chart import charts_of, statistics_of
from sanql.visible import visible

ROWS_SHOWN = 500


@dataclass(frozen=True)
class ShownAnswer:
    """What a template needs of an answer, all of it text; `charts` alone are written as it is."""

    columns: list[str]
    numbers: list[bool]  # which columns are aligned as numbers
    rows: list[list[str]]
    more: int
    warnings: list[str]  # what is read before the rows are
    footer: list[str]
    charts: list[Markup]
    certificate: list[str]
    address: str


def shown_answer(answer: Answer, address: str) -> ShownAnswer:
    """Return an answer as it is shown, with the address that downloads begin with."""
    cells = answer.cells()
    statistics = statistics_of(answer)
    return ShownAnswer(
        columns=[visible(name) for name in answer.columns],
        numbers=[name in statistics for name in answer.columns],
        rows=cells[:ROWS_SHOWN],
        more=max(0, len(cells) - ROWS_SHOWN),
        warnings=_warnings(answer),
        footer=answer.footer(),
        charts=charts_of(answer),
        certificate=certificate_in_words(answer),
        address=address,
    )


def _warnings(answer: Answer) -> list[str]:
    """Return what may be missing from the numbers: facts of policy and question, never of the data."""
    if isinstance(answer.certificate, ExactCertificate) or not answer.certificate.limits_may_cut:
        return []
    return [visible(answer.certificate.limits_may_cut)]


def certificate_in_words(answer: Answer) -> list[str]:
    """Return the guarantee of an answer in sentences: what it means first, then why it holds."""
    certificate = answer.certificate
    if isinstance(certificate, ExactCertificate):
        return [visible(line) for line in certificate.sentences()]
    if answer.free:
        return ["Nothing in this answer depends on anybody, so that there is nothing to protect."]
    meaning: Mapping[str, object] = certificate.meaning
    lines = [
        str(meaning["words"]),
        f"Guarantee: {certificate.definition}, epsilon {show_upper(certificate.epsilon)}, delta"
        f" {show_upper(certificate.delta)}, for {certificate.unit} ({certificate.neighbours}).",
        f"Mechanism: {certificate.mechanism}; {certificate.theorem}.",
        f"Keys: {certificate.keys}.",
        *(f"Assumes: {each}." for each in certificate.assumptions),
    ]
    return [visible(line.replace("..", ".")) for line in lines]


@dataclass(frozen=True)
class ShownExplanation:
    """What a template needs of an explanation: the price, how exact the columns will be, and the rest."""

    headline: str
    expected: list[str]
    more: list[str]


def shown_explanation(explanation: Explanation | ExactExplanation) -> ShownExplanation:
    """Return an explanation as it is shown: its own lines, the usual ones first."""
    headline, *lines = [line.strip() for line in str(explanation).splitlines()]
    named = explanation.expected if isinstance(explanation, Explanation) else ()
    starts = tuple(f"{visible(each.column)}: " for each in named)
    expected = [line for line in lines[: len(named) + 1] if starts and line.startswith(starts)]
    return ShownExplanation(headline, expected, [line for line in lines if line not in expected])
