"""Text as SQL: what is put together is measured first, and NULL where it would grow too long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.compile.expressions.values import (
    Emit,
    clamp_to_bounds,
    constant_value,
    counted,
    engine_function,
    whole,
)
from sanql.functions import TEXT_BYTES_MAX, replacement_growth
from sanql.question import Expr, Facts

if TYPE_CHECKING:
    from sanql.compile.expressions.emitter import Emitter

PLACE_MAX = 10**9  # the engine takes places up to four billion
# words, and what lies between them: together the whole text
_WORDS = r"[\pL\pN]+|[^\pL\pN]+"


def _limited(value: str, sizes: Sequence[str], factor: int = 1) -> str:
    """Return a text that is put together only where its parts are short enough."""
    total = " + ".join(f"coalesce(system.main.strlen({size}), 0)" for size in sizes)
    return f"CASE WHEN {total} <= {TEXT_BYTES_MAX // factor} THEN {value} END"


def _joined(name: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        texts = [emitter.sql(arg) for arg in args]
        sizes = texts
        if name == "concat_ws":
            sizes = [texts[0]] * (len(texts) - 2) + texts[1:]
        return _limited(f"system.main.{name}({', '.join(texts)})", sizes)

    return emit


def _pipe(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    texts = [emitter.sql(arg) for arg in args]
    return _limited(f"({' || '.join(texts)})", texts)


def _place(emitter: Emitter, arg: Expr) -> str:
    low, high = arg.facts.low, arg.facts.high
    text = emitter.sql(arg)
    near = isinstance(low, Fraction) and isinstance(high, Fraction)
    if near and low >= -PLACE_MAX and high <= PLACE_MAX:  # type: ignore[operator]
        return f"CAST({text} AS BIGINT)"
    held = clamp_to_bounds(text, whole(-PLACE_MAX), whole(PLACE_MAX), check_finite=False)
    return f"CAST({held} AS BIGINT)"


def _cut(name: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        written = [emitter.sql(args[0]), *(_place(emitter, arg) for arg in args[1:])]
        return f"system.main.{name}({', '.join(written)})"

    return emit


def _split(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    """Return one part of a text; a part that it does not have is empty."""
    text, mark, place = emitter.sql(args[0]), emitter.sql(args[1]), _place(emitter, args[2])
    part = f"system.main.string_split({text}, {mark})[{place}]"
    return f"CASE WHEN {text} IS NOT NULL AND {place} IS NOT NULL THEN coalesce({part}, '') END"


def _padded(name: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        text, filling = emitter.sql(args[0]), emitter.sql(args[2])
        return f"system.main.{name}({text}, {constant_value(args[1])}, {filling})"

    return emit


def _repeated(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    text, times = emitter.sql(args[0]), constant_value(args[1])
    assert isinstance(times, int)  # noqa: S101  (the rule checked it)
    return _limited(f"system.main.repeat({text}, {times})", [text], max(times, 1))


def _replaced(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    text, old, new = (emitter.sql(arg) for arg in args)
    before, after = (len(str(constant_value(arg)).encode()) for arg in args[1:])
    value = f"system.main.replace({text}, {old}, {new})"
    if after <= before:  # it cannot grow
        return value
    return _limited(value, [text], -(-after // max(1, before)) + 1)


def _matched(name: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        texts = [emitter.sql(arg) for arg in args[:2]]
        # checked letters: the engine wants its options as they are
        texts += [f"'{constant_value(arg)}'" for arg in args[2:]]
        return f"system.main.{name}({', '.join(texts)})"

    return emit


def _extracted(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    text, pattern = (emitter.sql(arg) for arg in args[:2])
    return f"system.main.regexp_extract({text}, {pattern}, {constant_value(args[2])})"


def _rewritten(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    text, pattern, new = (emitter.sql(arg) for arg in args[:3])
    options = "".join(f", '{constant_value(arg)}'" for arg in args[3:])
    value = f"system.main.regexp_replace({text}, {pattern}, {new}{options})"
    # one more than the text: an empty match may stand at its end too
    return _limited(value, [text, "'x'"], replacement_growth(str(constant_value(args[2]))))


def _like(word: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        texts = [emitter.sql(arg) for arg in args]
        escape = f" ESCAPE {texts[2]}" if len(texts) > 2 else ""
        return f"({texts[0]} {word} {texts[1]}{escape})"

    return emit


def _capitals(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    text = emitter.sql(args[0])
    words = f"system.main.regexp_extract_all(system.main.lower({text}), '{_WORDS}')"
    word = (
        "system.main.concat(system.main.upper(system.main.left(w, 1)), system.main.substring(w, 2))"
    )
    listed = f"system.main.list_transform({words}, lambda w: {word})"
    value = f"coalesce(system.main.list_aggregate({listed}, 'string_agg', ''), '')"
    return f"CASE WHEN system.main.strlen({text}) <= {TEXT_BYTES_MAX} THEN {value} END"


def _letter(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    code = emitter.sql(args[0])
    proper = f"{code} BETWEEN 0 AND 55295 OR {code} BETWEEN 57344 AND 1114111"
    return f"CASE WHEN {proper} THEN system.main.chr(TRY_CAST({code} AS INTEGER)) END"


TEXT_SQL: Mapping[str, Emit] = {
    **{
        name: engine_function(name)
        for name in ("lower", "upper", "reverse", "strip_accents", "translate")
    },
    **{
        name: engine_function(name)
        for name in ("trim", "ltrim", "rtrim", "contains", "starts_with")
    },
    "ends_with": engine_function("suffix"),
    **{name: counted(name) for name in ("length", "strlen", "bit_length", "strpos")},
    **{name: counted(name) for name in ("ascii", "unicode")},
    "initcap": _capitals,
    "substring": _cut("substring"),
    "left": _cut("left"),
    "right": _cut("right"),
    "split_part": _split,
    "replace": _replaced,
    "concat": _joined("concat"),
    "join": _pipe,
    "concat_ws": _joined("concat_ws"),
    "lpad": _padded("lpad"),
    "rpad": _padded("rpad"),
    "repeat": _repeated,
    "chr": _letter,
    "like": _like("LIKE"),
    "ilike": _like("ILIKE"),
    "regexp_matches": _matched("regexp_matches"),
    "regexp_full_match": _matched("regexp_full_match"),
    "regexp_extract": _extracted,
    "regexp_replace": _rewritten,
}
