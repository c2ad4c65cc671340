"""The clause `WITH DIFFERENTIAL_PRIVACY OPTIONS(…)` that travels inside a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sanql.errors import Refused
from sanql.parse.places import place_of_token

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

# what each option of the clause means; those named in docs/sql.md have their story there
OPTIONS = {
    "epsilon": "the question's price, as passed beside it",
    "delta": "the chance that selecting keys may fail, as passed beside the question",
    "max_groups_contributed": "in how many groups one unit may count, no more than the policy allows; "
    "also `kappa`",
    "privacy_unit_column": "checked: the policy decides the unit",
    "release": "`'exact'` for an answer without noise where the owner declares one (exact.md), or "
    "`'noisy'`",
    "group_selection_strategy": "`LAPLACE_THRESHOLD` is what happens to keys that are not public; "
    "`PUBLIC_GROUPS` is refused unless they are",
    "other": "the name of one row more, which adds up the groups that do not appear",
    "nonnegative": "`TRUE` shows counts, and sums that cannot be negative, as 0 where noise took them "
    "below",
    "rounded": "counts and sums are shown to a multiple of this",
}
KNOWN = tuple(OPTIONS)


@dataclass(frozen=True)
class Options:
    """What a question asks of its own privacy, as typed; numbers are judged later, once."""

    epsilon: str | None = None
    delta: str | None = None
    max_groups_contributed: str | None = None
    privacy_unit_column: str | None = None
    release: str | None = None
    group_selection_strategy: str | None = None
    other: str | None = None
    nonnegative: str | None = None
    rounded: str | None = None


def split_options(sql: str, tokens: list[Token]) -> tuple[list[Token], Options]:
    """Return the words of a question without its clause, and the clause's options.

    >>> from sanql.parse.guard import tokens_within_limits
    >>> text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) COUNT(*) FROM people"
    >>> split_options(text, tokens_within_limits(text))[1].epsilon
    '0.5'
    """
    words = [token.text.upper() for token in tokens[:3]]
    if words != ["SELECT", "WITH", "DIFFERENTIAL_PRIVACY"]:
        return tokens, Options()
    if len(tokens) < 5 or tokens[3].text.upper() != "OPTIONS" or tokens[4].text != "(":
        return [tokens[0], *tokens[3:]], Options()
    end = next((i for i, token in enumerate(tokens[5:], 5) if _is_sign(token, ")")), None)
    if end is None:
        raise _malformed().at(place_of_token(tokens[1]))
    found = _pairs(sql, tokens[5:end])
    return [tokens[0], *tokens[end + 1 :]], Options(**found)


def _pairs(sql: str, tokens: list[Token]) -> dict[str, str]:
    found: dict[str, str] = {}
    while tokens:
        stop = next((i for i, token in enumerate(tokens) if _is_sign(token, ",")), len(tokens))
        try:
            name, value = _pair(sql, tokens, stop, found)
        except Refused as refused:
            raise refused.at(place_of_token(tokens[0])) from None
        found[name] = value
        tokens = tokens[stop + 1 :]
    return found


def _pair(sql: str, tokens: list[Token], stop: int, found: dict[str, str]) -> tuple[str, str]:
    """Return the first option of a list, which ends at `stop`."""
    if len(tokens) < 3 or tokens[1].text not in ("=", "=>"):
        raise _malformed()
    name = tokens[0].text.lower()
    name = "max_groups_contributed" if name == "kappa" else name
    if name not in KNOWN:
        raise Refused(
            "option_unknown",
            f"the privacy option {tokens[0].text} is not known",
            f"the options are {', '.join(KNOWN)}",
        )
    if name in found:
        raise Refused("option_twice", f"the privacy option {name} is given twice", "give it once")
    if name == "other" and [*map(_is_text, tokens[2:stop])] != [True]:
        raise Refused(
            "other_invalid",
            "the privacy option other names a row, and is not one text in quotes",
            "write, for example, other = '(other)'",
        )
    return name, _as_typed(sql, tokens[2:stop])


def _is_sign(token: Token, sign: str) -> bool:
    return str(token.text) == sign and not _is_text(token)


def _is_text(token: Token) -> bool:
    return bool(token.token_type.name == "STRING")


def _as_typed(sql: str, tokens: list[Token]) -> str:
    """Return a value as it stands in the text, so that `1 2` is not read as 12."""
    if not tokens:
        raise _malformed()
    if len(tokens) == 1:
        return str(tokens[0].text)
    return sql[tokens[0].start : tokens[-1].end + 1]


def _malformed() -> Refused:
    return Refused(
        "options_malformed",
        "the clause WITH DIFFERENTIAL_PRIVACY OPTIONS(…) cannot be read",
        "write it as SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-6) …",
    )
