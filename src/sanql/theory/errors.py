"""The one error of the theory: an input that is not what the mathematics needs.

It names what is wrong, the offending value, the rule it breaks and the remedy, so that a person can
act on it without reading the source.
"""

from __future__ import annotations


class TheoryError(ValueError):
    """An input that no definition or theorem accepts: a code, a message and a remedy.

    >>> error = TheoryError("mass_sum", "the masses sum to 9/10, they must sum to 1", "add 1/10")
    >>> error.code
    'mass_sum'
    >>> print(error)
    the masses sum to 9/10, they must sum to 1
      remedy: add 1/10
    """

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n  remedy: {self.remedy}"

    def to_dict(self) -> dict[str, dict[str, str]]:
        """Return the JSON shape of the error."""
        return {"error": {"code": self.code, "message": self.message, "remedy": self.remedy}}
