"""`sanql theory choose`: from what an attacker may learn to epsilon, noise and accuracy."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sanql.cli.saying import say, say_json

if TYPE_CHECKING:
    from sanql.theory.choose import Attacker

_BETA = "0.1"
_EXACT_DELTA = Fraction(1, 10**9)


def choose(attacker: Attacker, known: int, form: str) -> None:
    """Print what keeps the attacker to what was stated."""
    from sanql.theory.choose import laplace_count
    from sanql.theory.exact import shown_lower
    from sanql.theory.implications import implications
    from sanql.theory.implications.guarantees import guarantee

    epsilon, delta = attacker.epsilon, attacker.delta_of_one
    deviation, error = laplace_count(epsilon)
    stated = (
        guarantee("approximate_dp", epsilon=epsilon, delta=delta)
        if delta > 0
        else guarantee("pure_dp", epsilon=epsilon)
    )
    found = implications(stated)
    content: dict[str, Any] = {
        "attacker": attacker.sentence(),
        "epsilon": epsilon,
        "delta": delta,
        "neighbours": "change-one",
        "epsilon_add_remove": epsilon / 2,
        "count": {
            "noise": "discrete Laplace",
            "scale": 1 / epsilon,
            "deviation": deviation,
            "error_19_of_20": error,
        },
        "exact": _exact(epsilon, known),
        "implies": [str(item.guarantee) for item in found],
    }
    if form == "json":
        say_json(content, indent=2)
        return
    say(f"asked: {content['attacker']}")
    say(
        f"epsilon {shown_lower(epsilon)}, delta {shown_lower(delta)}, where neighbours differ in one "
        "person's data"
    )
    say(
        f'with neighbours = "add-remove", where a change is two steps: epsilon {shown_lower(epsilon / 2)}'
    )
    say(
        f"a count then has discrete Laplace noise of scale {1 / epsilon:.4g} (deviation "
        f"{deviation:.4g}), and is off by at most {error} 19 times of 20"
    )
    say(content["exact"])
    for item in found:
        say(f"implies {item.guarantee}: {item.guarantee.meaning}")


def _exact(epsilon: float, known: int) -> str:
    """Return which exact count has the same epsilon, in words."""
    from sanql.errors import Refused
    from sanql.mechanisms.noiseless import CountAdversary, others_min
    from sanql.theory.exact import shown_lower

    asked = f"sanql certify count --beta {_BETA} --known {known}"
    try:
        others = others_min(
            CountAdversary(known + 1, Fraction(_BETA), known), Fraction(epsilon), _EXACT_DELTA
        )
    except Refused:
        return (
            f"no exact count of declared coins (beta {_BETA}) reaches it with {known} known records"
        )
    return (
        f"or no noise: an exact count of {others + 1} or more records, {known} of them known and "
        f"nobody surer than 90 % of another, has it at delta 1e-9 against that class ({asked} "
        f"--records {others} --epsilon {shown_lower(epsilon)})"
    )
