"""Which texts may be questions over statistics, before they are read as such."""

from __future__ import annotations

from sanql.parse.text.parameters import QuestionText

NODES_MAX = 1_200
"""Of trees that are looked at in all: parts may stand within parts, and be read again."""


def may_be_over_statistics(asked: QuestionText) -> bool:
    """Return whether a text may have what questions over statistics are made of; one too long is none.

    It is asked of every text, and so looks at letters alone: are there windows, or a second SELECT?
    """
    letters = asked.sql.upper()
    if len(asked.tokens) > NODES_MAX:
        return False
    return "OVER" in letters or "PIVOT" in letters or letters.count("SELECT") > 1
