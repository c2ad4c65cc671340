"""The definitions of privacy, each a checker that returns the tight parameter and a witness."""

from sanql.theory.definitions.finding import Finding

__all__ = ["Finding"]
