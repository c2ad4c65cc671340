"""MAP_ESTIMATE and SHARE_AT_LEAST: verdicts, which are answered exactly where an owner declares them.

Neither has a noisy form of its own: a share is compared with a number around an average, and the value
most rows have is MODE.
"""

from __future__ import annotations

from sanql.errors import Refused
from sanql.question import Aggregate, Facts, Literal, Type
from sanql.statistics.collector import Collector
from sanql.statistics.statistic import Estimate, Operand, Statistic, Written

FRACTION_DIGITS = 10**6


class MapFit(Statistic):
    """MAP_ESTIMATE(x, 'family'): which of the laws that the owner declares fits the values best."""

    name = "map estimate"
    spellings = ("MAP_ESTIMATE",)
    operands = (Operand.VALUE, Operand.VALUE)
    written = "`MAP_ESTIMATE(x, 'family')`, exactly"
    found = (
        "the declared law under which the values are most likely, and a record hardly ever decides "
        "([exact answers](exact.md#verdicts))"
    )
    needs_bounds = False

    def ask(self, written: Written) -> Aggregate:
        family = written.arguments[1]
        if not isinstance(family, Literal) or not isinstance(family.value, str):
            raise Refused(
                "map_family",
                f"{written.text} does not name a declared family of laws",
                "write its name as a text, MAP_ESTIMATE(x, 'family'): [exact.family] in the policy",
            )
        return Aggregate(self.name, written.arguments, Facts(Type.TEXT), written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        raise exact_only(aggregate, "MODE(x) with an epsilon tells the value that most rows have")


class ShareTest(Statistic):
    """SHARE_AT_LEAST(x, 0.5): whether at least this share of the rows has a true x."""

    name = "share at least"
    spellings = ("SHARE_AT_LEAST",)
    operands = (Operand.VALUE, Operand.FRACTION)
    written = "`SHARE_AT_LEAST(x, 0.5)`, exactly"
    found = (
        "whether at least this share of the records is true ([exact answers](exact.md#verdicts))"
    )
    needs_bounds = False

    def ask(self, written: Written) -> Aggregate:
        share = written.fraction
        if share is None or not 0 < share <= 1 or share.denominator > FRACTION_DIGITS:
            raise Refused(
                "share_invalid",
                f"{written.text} needs a constant above 0 and at most 1, of at most six digits",
                "write, for example, SHARE_AT_LEAST(x, 0.5)",
            )
        if written.argument.facts.type is not Type.BOOLEAN:
            raise Refused(
                "share_invalid",
                f"{written.text} is about a yes/no column",
                "name a boolean column",
            )
        facts = Facts(Type.BOOLEAN)
        return Aggregate(self.name, (written.argument,), facts, written.text, fraction=share)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        raise exact_only(
            aggregate, "compare a noisy average: AVG(CASE WHEN x THEN 1 ELSE 0 END) >= 0.5"
        )


def exact_only(aggregate: Aggregate, instead: str) -> Refused:
    """Return the refusal of a statistic that has no noisy form."""
    return Refused(
        "exact_only",
        f"{aggregate.text} is answered exactly where the owner declares it, and has no noisy form",
        f"ask exactly; or {instead}",
    )
