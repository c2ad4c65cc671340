"""Every claim, theorem and corollary of the sources as an edge between guarantees, with numbers."""

from sanql.theory.implications.guarantees import Guarantee, Setting, guarantee, parse
from sanql.theory.implications.search import Implied, implications

__all__ = ["Guarantee", "Implied", "Setting", "guarantee", "implications", "parse"]
