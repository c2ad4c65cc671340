"""Patterns: constants that are understood before the engine sees them.

The engine matches regular expressions in time linear in the text (RE2), but the size of what it
builds for a pattern is another matter: `((a{99}){99}){99}` is short and enormous, and what the
engine cannot read is an error at run time. So a pattern is read here first: a subset that RE2 takes
without exception, of bounded size, so that a letter of text costs a bounded number of steps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sanql.errors import Refused
from sanql.functions.facts import any_nullable, constant_integer, constant_text, need
from sanql.functions.table import Function
from sanql.question import Expr, Facts, Literal, Type

PATTERN_LENGTH_MAX = 200
PATTERN_SIZE_MAX = 200  # positions, with counted repetitions written out: steps for a letter
GROUPS_MAX = 9
TEXT_BYTES_MAX = 10_000  # of a text that is put together: a longer one is NULL
TEXT = frozenset({Type.TEXT})
_ESCAPES = frozenset("dDwWsSbBnrtfv")
_COUNTED = re.compile(r"\{(\d{1,3})(,(\d{0,3}))?\}", re.ASCII)
_GROUP = re.compile(r"\((\?(:|i\)|i:))?")


@dataclass
class _Reader:
    """Reads a pattern from left to right, without recursion; `at` is the place."""

    text: str
    at: int = 0
    groups: int = 0

    def read(self) -> int:
        """Return the size of the pattern, or refuse it."""
        pieces = [0]  # for every open group: the size so far
        last = 0  # the size of what a repetition would repeat; zero when there is nothing
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign == "(":
                opened = _GROUP.match(self.text, self.at)
                assert opened is not None  # noqa: S101  (the sign is a bracket)
                if opened[1] is None and self.text[self.at + 1 : self.at + 2] == "?":
                    raise self._refused("of the forms (?…), only (?:…) and (?i) are taken")
                self.groups += opened[1] is None
                self.at = opened.end()
                if opened[1] is None or opened[1].endswith(":"):
                    pieces.append(0)
                last = 0
            elif sign == ")":
                if len(pieces) == 1:
                    raise self._refused("a bracket closes that was not opened")
                last = max(1, pieces.pop())
                pieces[-1] += last
                self.at += 1
            elif sign in "*+?{":
                repeated = self._repetition(last)
                pieces[-1] += repeated - last
                last = 0
            elif sign in "|^$":
                last, self.at = 0, self.at + 1
            else:
                edge = self.text.startswith(("\\b", "\\B"), self.at)
                self._skip_one()
                last = 0 if edge else 1
                pieces[-1] += 1
            if sum(pieces) > PATTERN_SIZE_MAX:
                raise self._refused("its repetitions make it too large")
        if len(pieces) > 1:
            raise self._refused("a bracket is not closed")
        return pieces[0]

    def _repetition(self, last: int) -> int:
        if last == 0:
            raise self._refused("there is nothing to repeat")
        if self.text[self.at] == "{":
            counted = _COUNTED.match(self.text, self.at)
            if counted is None:
                raise self._refused("write { as \\{ where it is no repetition")
            least, most = int(counted[1]), int(counted[3] or 0)
            if counted[3] and most < least:
                raise self._refused("a repetition ends below its start")
            last *= max(1, least, most)
            self.at = counted.end()
        else:
            self.at += 1
        if self.text[self.at : self.at + 1] == "?":  # as few as possible
            self.at += 1
        return last

    def _skip_one(self) -> None:
        sign = self.text[self.at]
        if sign == "\\":
            self._skip_escape()
        elif sign == "[":
            self._skip_class()
        else:
            self.at += 1

    def _skip_escape(self) -> None:
        escaped = self.text[self.at + 1 : self.at + 2]
        if not escaped.isascii() or not (
            escaped in _ESCAPES or (escaped and not escaped.isalnum() and escaped.isprintable())
        ):
            raise self._refused("after \\ stands a sign, or one of d D w W s S b B n r t f v")
        self.at += 2

    def _skip_class(self) -> None:
        self.at += 1
        if self.text[self.at : self.at + 1] == "^":
            self.at += 1
        empty, before = True, ""
        while True:
            sign = self.text[self.at : self.at + 1]
            if sign in ("", "["):
                raise self._refused("a class […] is not closed, or holds a [ (write it \\[)")
            if sign == "]":
                if empty:
                    raise self._refused("a class […] is empty")
                self.at += 1
                return
            if sign == "-" and not empty and self.text[self.at + 1 : self.at + 2] != "]":
                after = self.text[self.at + 1 : self.at + 2]
                if not before or after in ("", "\\", "[") or after < before:
                    raise self._refused("a range in […] runs between two letters or digits")
                self.at += 2
                before = ""
            elif sign == "\\":
                if self.text[self.at + 1 : self.at + 2] in ("b", "B"):
                    raise self._refused("a class […] has no \\b")
                self._skip_escape()
                before = ""
            else:
                self.at += 1
                before = sign
            empty = False

    def _refused(self, why: str) -> Refused:
        return Refused(
            "pattern_invalid",
            f"the pattern {self.text!r} cannot be used: {why}",
            "letters, ., […], (…), |, *, +, ?, {2,5}, ^, $ and \\d \\w \\s \\b are taken",
        )


def read_pattern(pattern: Expr, what: str) -> int:
    """Return the number of groups of a constant pattern that is safe to match, or refuse it."""
    reader = _Reader(constant_text(pattern, f"{what}'s pattern", PATTERN_LENGTH_MAX))
    reader.read()
    if reader.groups > GROUPS_MAX:
        raise Refused(
            "pattern_invalid",
            f"the pattern has more than {GROUPS_MAX} groups",
            "write groups that are not used as (?:…)",
        )
    return reader.groups


def _options(arg: Expr, what: str, allowed: str) -> None:
    if set(constant_text(arg, f"{what}'s options", 4)) - set(allowed):
        listed = ", ".join(f"'{letter}'" for letter in allowed)
        raise Refused(
            "constant_needed", f"{what} takes the options {listed}", "leave the others out"
        )


def _matches(args: tuple[Expr, ...]) -> Facts:
    need(args, TEXT, "REGEXP_MATCHES")
    read_pattern(args[1], "REGEXP_MATCHES")
    if len(args) == 3:
        _options(args[2], "REGEXP_MATCHES", "ics")
    return Facts(Type.BOOLEAN, nullable=args[0].facts.nullable)


def _full_match(args: tuple[Expr, ...]) -> Facts:
    need(args, TEXT, "REGEXP_FULL_MATCH")
    read_pattern(args[1], "REGEXP_FULL_MATCH")
    if len(args) == 3:
        _options(args[2], "REGEXP_FULL_MATCH", "ics")
    return Facts(Type.BOOLEAN, nullable=args[0].facts.nullable)


def _extract(args: tuple[Expr, ...]) -> Facts:
    need(args[:2], TEXT, "REGEXP_EXTRACT")
    groups = read_pattern(args[1], "REGEXP_EXTRACT")
    constant_integer(args[2], "REGEXP_EXTRACT's group", 0, groups)
    return Facts(Type.TEXT, nullable=args[0].facts.nullable)


def _replace(args: tuple[Expr, ...]) -> Facts:
    need(args, TEXT, "REGEXP_REPLACE")
    groups = read_pattern(args[1], "REGEXP_REPLACE")
    replacement = constant_text(args[2], "REGEXP_REPLACE's replacement", PATTERN_LENGTH_MAX)
    named = re.sub(r"\\[0-9\\]", "", replacement)
    used = [int(digit) for digit in re.findall(r"\\([0-9])", replacement.replace("\\\\", ""))]
    if "\\" in named or max(used, default=0) > groups:
        raise Refused(
            "pattern_invalid",
            f"the replacement {replacement!r} names what the pattern has not",
            f"\\0 is the match, \\1 to \\{groups} its groups, and \\\\ one \\"
            if groups
            else "\\0 is the match, and \\\\ one \\",
        )
    if len(args) == 4:
        _options(args[3], "REGEXP_REPLACE", "gics")
    return Facts(Type.TEXT, nullable=True)


def replacement_growth(replacement: str) -> int:
    """Return how many bytes a byte of text can become when every match is replaced."""
    return 2 + len(replacement.encode())


def _like(args: tuple[Expr, ...]) -> Facts:
    need(args, TEXT, "LIKE")
    if not all(isinstance(arg, Literal) and isinstance(arg.value, str) for arg in args[1:]):
        raise Refused(
            "pattern_not_constant",
            "LIKE takes a constant pattern",
            "write the pattern as a string, for example city LIKE 'San %'",
        )
    if len(str(args[1].value)) > PATTERN_LENGTH_MAX:  # type: ignore[union-attr]
        raise Refused(
            "pattern_too_long",
            f"the pattern has more than {PATTERN_LENGTH_MAX} characters",
            "shorten it: matching long patterns takes time that depends on the rows",
        )
    if len(args) == 3 and _ends_escaping(args[1], args[2]):
        raise Refused(
            "pattern_invalid",
            "the pattern ends with its own escape character",
            "write a character after the escape, or leave ESCAPE out",
        )
    return Facts(Type.BOOLEAN, nullable=any_nullable(args))


def _ends_escaping(pattern: Expr, escape: Expr) -> bool:
    assert isinstance(pattern, Literal) and isinstance(escape, Literal)  # noqa: S101
    text, sign = str(pattern.value), str(escape.value)
    position = 0
    while position < len(text):
        if text[position] == sign and position == len(text) - 1:
            return True
        position += 2 if text[position] == sign else 1
    return False


SAFE = "a constant pattern of the safe subset (below)"
PATTERNS = (
    Function(
        "like", "x [NOT] LIKE pattern [ESCAPE sign]", _like, "a constant pattern", "true or false"
    ),
    Function(
        "ilike", "x [NOT] ILIKE pattern [ESCAPE sign]", _like, "a constant pattern", "true or false"
    ),
    Function(
        "regexp_matches",
        "REGEXP_MATCHES(x, pattern[, options]), x ~ pattern",
        _matches,
        SAFE,
        "true or false",
        ("REGEXP_MATCHES", "REGEXP_LIKE", "REGEXP_CONTAINS", "RLIKE"),
        (2, 3),
    ),
    Function(
        "regexp_full_match",
        "REGEXP_FULL_MATCH(x, pattern[, options]), x [NOT] SIMILAR TO pattern",
        _full_match,
        SAFE,
        "true or false",
        ("REGEXP_FULL_MATCH",),
        (2, 3),
    ),
    Function(
        "regexp_extract",
        "REGEXP_EXTRACT(x, pattern[, group])",
        _extract,
        SAFE + "; '' where nothing matches",
        "a part of x",
        ("REGEXP_EXTRACT", "REGEXP_SUBSTR"),
        (2, 3),
    ),
    Function(
        "regexp_replace",
        "REGEXP_REPLACE(x, pattern, replacement[, options])",
        _replace,
        SAFE + f"; NULL where the result could exceed {TEXT_BYTES_MAX:,} bytes",
        f"at most {TEXT_BYTES_MAX:,} bytes",
        ("REGEXP_REPLACE",),
        (3, 4),
    ),
)
