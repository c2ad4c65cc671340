"""Everything that follows from a guarantee, with the tightest known numbers.

A breadth-first closure over the edges. Within one kind only guarantees that no other one dominates
are kept, so cycles end by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sanql.theory.implications import differential_privacy, semantics, worlds
from sanql.theory.implications.edges import Edge, Here
from sanql.theory.implications.guarantees import Guarantee, Setting, refuse_beyond
from sanql.theory.implications.operations import CLOSURES

EDGES: tuple[Edge, ...] = (*differential_privacy.EDGES, *semantics.EDGES, *worlds.EDGES)
_DEPTH = 4


@dataclass(frozen=True)
class Implied:
    """A guarantee that follows, the edges that lead to it, and the last edge as printed.

    Where the last theorem is false in general as printed, `printed_here` says whether the printed
    conclusion follows all the same from what was given.
    """

    guarantee: Guarantee
    path: tuple[Edge, ...]
    printed: Guarantee | None
    printed_here: Here | None = None

    @property
    def source(self) -> str:
        """The citations along the path."""
        return " then ".join(edge.source for edge in self.path)

    @property
    def verdict(self) -> str:
        """The verdict on the last step as printed."""
        return self.path[-1].verdict if self.path else "holds"

    def to_dict(self) -> dict[str, object]:
        """Return plain data."""
        return {
            "guarantee": str(self.guarantee),
            "kind": self.guarantee.kind,
            "parameters": dict(self.guarantee.parameters),
            "meaning": self.guarantee.meaning,
            "source": self.source,
            "path": [edge.name for edge in self.path],
            "verdict": self.verdict,
            "printed": None if self.printed is None else str(self.printed),
            "printed_here": self.printed_here,
            "remark": self.path[-1].remark if self.path else "",
        }


def implications(given: Guarantee, setting: Setting | None = None) -> tuple[Implied, ...]:
    """Return everything that follows, strongest first found, without vacuous conclusions.

    An epsilon whose e^epsilon is beyond the floats is refused; where one is only reached on the
    way, it is listed and nothing further is drawn from it.

    >>> from sanql.theory.implications.guarantees import guarantee
    >>> found = implications(guarantee("pure_dp", epsilon=1))
    >>> {item.guarantee.kind: round(item.guarantee["tau"], 4) for item in found
    ...  if item.guarantee.kind in ("semantic", "prior_posterior")}
    {'prior_posterior': 0.2449, 'semantic': 0.4621}
    """
    known = Setting() if setting is None else setting
    refuse_beyond(dict(given.parameters).get("epsilon", 0.0), f"epsilon of {given.kind}")
    kept = [Implied(given, (), None)]
    frontier = list(kept)
    for _ in range(_DEPTH):
        found = [step for item in frontier for step in _steps(item, known)]
        frontier = [item for item in found if _add(kept, item)]
        frontier = [item for item in frontier if item in kept]
    return tuple(item for item in kept if item.path)


def blocked(
    given: Guarantee, setting: Setting | None = None
) -> tuple[tuple[Edge, tuple[str, ...]], ...]:
    """Return the edges that start here but lack a hypothesis, with what they lack."""
    known = Setting() if setting is None else setting
    return tuple(
        (edge, edge.unmet(given, known)) for edge in starts(given) if edge.unmet(given, known)
    )


def starts(given: Guarantee) -> tuple[Edge, ...]:
    """Return the edges that start from a guarantee, whatever they need."""
    return tuple(edge for edge in EDGES if edge.premise == given.kind)


def closures(given: Guarantee) -> tuple[str, ...]:
    """Return the operations that leave the guarantee as it is."""
    return tuple(name for name, kinds in CLOSURES.items() if given.kind in kinds)


def edge_named(name: str) -> Edge:
    """Return one edge of the table."""
    return next(edge for edge in EDGES if edge.name == name)


def _steps(item: Implied, setting: Setting) -> Iterable[Implied]:
    if item.guarantee.is_beyond:
        return
    for edge in EDGES:
        if edge.premise != item.guarantee.kind or edge.unmet(item.guarantee, setting):
            continue
        reached = edge.apply(item.guarantee, setting)
        if not reached.is_vacuous:
            printed = None if edge.printed is None else edge.printed(item.guarantee, setting)
            yield Implied(reached, (*item.path, edge), printed, _here(item, edge, setting))


def _here(item: Implied, edge: Edge, setting: Setting) -> Here | None:
    """What is known of the printed step; a mechanism that breaks it may lack an earlier premise."""
    here = edge.printed_here(item.guarantee, setting)
    return "not known" if here == "fails" and item.path else here


def _add(kept: list[Implied], new: Implied) -> bool:
    """Keep the new one unless dominated; drop what it dominates."""
    if any(old.guarantee.is_at_most(new.guarantee) for old in kept):
        return False
    kept[:] = [old for old in kept if not new.guarantee.is_at_most(old.guarantee)]
    kept.append(new)
    return True
