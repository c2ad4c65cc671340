"""Text: nothing that is put together may grow without limit, whatever the rows hold."""

from __future__ import annotations

from fractions import Fraction

from sanql.errors import Refused
from sanql.functions.facts import (
    Rule,
    any_nullable,
    constant_integer,
    constant_text,
    need,
    number_facts,
)
from sanql.functions.patterns import PATTERN_LENGTH_MAX, TEXT, TEXT_BYTES_MAX
from sanql.functions.table import Function
from sanql.question import Expr, Facts, Type

LENGTH_MAX = 2**32
PADDED_MAX = 1_000
CODEPOINT_MAX = 0x10FFFF
INTEGER = frozenset({Type.INTEGER})


def _text(name: str, constants: int = 0) -> Rule:
    """Return the rule of a function that makes a text of texts; the last ones are constants."""

    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, TEXT, name)
        for arg in args[len(args) - constants :] if constants else ():
            constant_text(arg, f"the last operand of {name}", PATTERN_LENGTH_MAX)
        return Facts(Type.TEXT, nullable=any_nullable(args))

    return rule


def _trimmed(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, TEXT, name)
        if len(args) == 2:
            constant_text(args[1], f"what {name} takes away", PATTERN_LENGTH_MAX)
        return Facts(Type.TEXT, nullable=any_nullable(args))

    return rule


def _length(name: str, most: int = LENGTH_MAX) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, TEXT, name)
        return number_facts(Type.INTEGER, (Fraction(0), Fraction(most)), any_nullable(args))

    return rule


def _cut(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args[:1], TEXT, name)
        need(args[1:], INTEGER, f"the place in {name}")
        return Facts(Type.TEXT, nullable=any_nullable(args))

    return rule


def _found(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, TEXT, name)
        constant_text(args[1], f"what {name} looks for", PATTERN_LENGTH_MAX)
        return number_facts(Type.INTEGER, (Fraction(0), Fraction(LENGTH_MAX)), any_nullable(args))

    return rule


def _contains(args: tuple[Expr, ...]) -> Facts:
    need(args, TEXT, "CONTAINS")
    constant_text(args[1], "what CONTAINS looks for", PATTERN_LENGTH_MAX)
    return Facts(Type.BOOLEAN, nullable=any_nullable(args))


def _edge(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, TEXT, name)
        return Facts(Type.BOOLEAN, nullable=any_nullable(args))

    return rule


def _joined(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, TEXT, name)
        return Facts(Type.TEXT, nullable=True)

    return rule


def _padded(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need((args[0], args[2]), TEXT, name)
        constant_integer(args[1], f"{name}'s length", 0, PADDED_MAX)
        if not constant_text(args[2], f"{name}'s filling", PATTERN_LENGTH_MAX):
            raise Refused(
                "constant_needed", f"{name} cannot fill with ''", f"write {name}(x, 5, ' ')"
            )
        return Facts(Type.TEXT, nullable=any_nullable(args))

    return rule


def _repeated(args: tuple[Expr, ...]) -> Facts:
    need(args[:1], TEXT, "REPEAT")
    constant_integer(args[1], "REPEAT's number of times", 0, PADDED_MAX)
    return Facts(Type.TEXT, nullable=True)


def _replaced(args: tuple[Expr, ...]) -> Facts:
    need(args, TEXT, "REPLACE")
    for arg, what in zip(args[1:], ("what REPLACE looks for", "REPLACE's new text"), strict=True):
        constant_text(arg, what, PATTERN_LENGTH_MAX)
    return Facts(Type.TEXT, nullable=True)


def _split(args: tuple[Expr, ...]) -> Facts:
    need(args[:2], TEXT, "SPLIT_PART")
    need(args[2:], INTEGER, "the place in SPLIT_PART")
    if not constant_text(args[1], "SPLIT_PART's separator", PATTERN_LENGTH_MAX):
        raise Refused(
            "constant_needed", "SPLIT_PART cannot split at ''", "write SPLIT_PART(x, ',', 1)"
        )
    return Facts(Type.TEXT, nullable=any_nullable(args))


def _code(name: str, least: int) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, TEXT, name)
        return number_facts(
            Type.INTEGER, (Fraction(least), Fraction(CODEPOINT_MAX)), any_nullable(args)
        )

    return rule


def _letter(args: tuple[Expr, ...]) -> Facts:
    need(args, INTEGER, "CHR")
    return Facts(Type.TEXT, nullable=True)


def _capitals(args: tuple[Expr, ...]) -> Facts:
    need(args, TEXT, "INITCAP")
    return Facts(Type.TEXT, nullable=True)


EVERY = "takes every text"
A_PART = "a part of x"
AS_LONG = "as many characters as x"
LIMITED = f"NULL where the result could exceed {TEXT_BYTES_MAX:,} bytes"
AT_MOST = f"at most {TEXT_BYTES_MAX:,} bytes"
LOOKED_FOR = "what is looked for is a constant"
LENGTHS = "0 to 2^32"
TRUTH = "true or false"
TEXTS = (
    Function("lower", "LOWER(x)", _text("LOWER"), EVERY, AS_LONG, ("LOWER", "LCASE")),
    Function("upper", "UPPER(x)", _text("UPPER"), EVERY, AS_LONG, ("UPPER", "UCASE")),
    Function("initcap", "INITCAP(x)", _capitals, LIMITED, AT_MOST, ("INITCAP",)),
    Function("reverse", "REVERSE(x)", _text("REVERSE"), EVERY, AS_LONG, ("REVERSE",)),
    Function(
        "strip_accents", "STRIP_ACCENTS(x)", _text("STRIP_ACCENTS"), EVERY, AS_LONG, ("STRIP_ACCENTS",)
    ),
    Function(
        "trim", "TRIM(x[, letters])", _trimmed("TRIM"), "letters are a constant", A_PART,
        ("TRIM", "BTRIM"), (1, 2),
    ),
    Function(
        "ltrim", "LTRIM(x[, letters])", _trimmed("LTRIM"), "letters are a constant", A_PART,
        ("LTRIM",), (1, 2),
    ),
    Function(
        "rtrim", "RTRIM(x[, letters])", _trimmed("RTRIM"), "letters are a constant", A_PART,
        ("RTRIM",), (1, 2),
    ),
    Function(
        "length", "LENGTH(x)", _length("LENGTH"), EVERY, LENGTHS,
        ("LENGTH", "LEN", "CHAR_LENGTH", "CHARACTER_LENGTH"),
    ),
    Function(
        "strlen", "STRLEN(x)", _length("STRLEN"), "the number of bytes", LENGTHS,
        ("STRLEN", "OCTET_LENGTH", "BYTE_LENGTH"),
    ),
    Function(
        "bit_length", "BIT_LENGTH(x)", _length("BIT_LENGTH", 8 * LENGTH_MAX), EVERY, "0 to 2^35",
        ("BIT_LENGTH",),
    ),
    Function(
        "substring", "SUBSTRING(x, start[, length])", _cut("SUBSTRING"),
        "places are held within a billion", A_PART, ("SUBSTRING", "SUBSTR", "MID"), (2, 3),
    ),
    Function(
        "left", "LEFT(x, n)", _cut("LEFT"), "n is held within a billion", A_PART, ("LEFT",), (2, 2)
    ),
    Function(
        "right", "RIGHT(x, n)", _cut("RIGHT"), "n is held within a billion", A_PART, ("RIGHT",), (2, 2)
    ),
    Function(
        "split_part", "SPLIT_PART(x, separator, n)", _split,
        "the separator is a constant; '' where there is no such part", A_PART, ("SPLIT_PART",), (3, 3),
    ),
    Function(
        "replace", "REPLACE(x, old, new)", _replaced, f"old and new are constants; {LIMITED}",
        AT_MOST + ", or no longer than x",
        ("REPLACE",), (3, 3),
    ),
    Function(
        "translate", "TRANSLATE(x, letters, others)", _text("TRANSLATE", 2),
        "letters and others are constants", "no more characters than x", ("TRANSLATE",), (3, 3),
    ),
    Function(
        "concat", "CONCAT(x, y, …)", _joined("CONCAT"), f"passes over NULL; {LIMITED}", AT_MOST,
        ("CONCAT",), (1, 1000),
    ),
    Function("join", "x || y", _joined("||"), f"NULL where an operand is; {LIMITED}", AT_MOST),
    Function(
        "concat_ws", "CONCAT_WS(separator, x, y, …)", _joined("CONCAT_WS"),
        f"passes over NULL after the separator; {LIMITED}", AT_MOST, ("CONCAT_WS",), (2, 1000),
    ),
    Function(
        "lpad", "LPAD(x, length[, filling])", _padded("LPAD"),
        "length (up to 1,000) and filling are constants", "at most 1,000 characters", ("LPAD",), (2, 3),
    ),
    Function(
        "rpad", "RPAD(x, length[, filling])", _padded("RPAD"),
        "length (up to 1,000) and filling are constants", "at most 1,000 characters", ("RPAD",), (2, 3),
    ),
    Function(
        "repeat", "REPEAT(x, times)", _repeated, f"a constant up to 1,000; {LIMITED}", AT_MOST,
        ("REPEAT",), (2, 2),
    ),
    Function(
        "starts_with", "STARTS_WITH(x, y), x ^@ y", _edge("STARTS_WITH"), EVERY, TRUTH,
        ("STARTS_WITH", "STARTSWITH", "PREFIX"), (2, 2),
    ),
    Function(
        "ends_with", "ENDS_WITH(x, y)", _edge("ENDS_WITH"), EVERY, TRUTH,
        ("ENDS_WITH", "ENDSWITH", "SUFFIX"), (2, 2),
    ),
    Function("contains", "CONTAINS(x, part)", _contains, LOOKED_FOR, TRUTH, ("CONTAINS",), (2, 2)),
    Function(
        "strpos", "STRPOS(x, part), POSITION(part IN x)", _found("STRPOS"), LOOKED_FOR, LENGTHS,
        ("STRPOS", "INSTR", "POSITION", "CHARINDEX", "LOCATE"), (2, 2),
    ),
    Function(
        "ascii", "ASCII(x)", _code("ASCII", 0), "0 for ''", "0 to 1,114,111", ("ASCII",)
    ),
    Function(
        "unicode", "UNICODE(x)", _code("UNICODE", -1), "-1 for ''", "-1 to 1,114,111",
        ("UNICODE", "ORD"),
    ),
    Function(
        "chr", "CHR(n)", _letter, "NULL where n is the number of no character", "one character", ("CHR",)
    ),
)  # fmt: skip
