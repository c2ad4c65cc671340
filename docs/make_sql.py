"""Writes docs/refusals.md, and the tables in docs/sql.md, from what the program itself follows.

Run it after a statistic, an option, a clause or a refusal has changed: `python docs/make_sql.py`. A test
compares. (The list of functions is written by make_functions.py.)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from sqlglot import exp

from sanql.errors import SanqlError
from sanql.options import OPTIONS
from sanql.parse.expressions.refusals import NAMED, REASONS, REMEDIES, SIGNS
from sanql.parse.relations.reader import EXPRESSIONS_MAX, ITEMS_MAX, UNSUPPORTED
from sanql.parse.statistics.aggregates import AGGREGATES, described
from sanql.parse.text.guard import BYTES_MAX
from sanql.parse.text.proportions import NESTING_MAX, OPERATORS_MAX, SELECTS_MAX, WORDS_MAX
from sanql.teach.rules import NOT_YET, RULES

# refused only where they stand, not for what they are
MISPLACED = {
    *AGGREGATES, exp.Subquery, exp.Select, exp.Exists, exp.Window, exp.Star, exp.Interval, exp.Parameter,
}  # fmt: skip
HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src" / "sanql"
# what no question meets: the owner's policy, the textbook and the commands around questions
ELSEWHERE = ("theory", "policy", "mechanisms", "audit", "demo", "cli", "errors.py")
INTRODUCTION = """# Refusals

Everything San can refuse a question with, by the rule it holds: written by `docs/make_sql.py` from the
program's sources. A refusal is decided before any row is read. It names what was typed and says at which
line and column that stands; it has a remedy and, where one is found, ends with the nearest question that
would be answered, which has been read and planned before it is shown. That question has no statistic that
was not asked for but counts. Where it has numbers or dates that nobody asked for, such as bounds,
`fill_in` says what to write instead of them. `…` is what was typed. As JSON:

```json
{"error": {"code": "bounds_missing", "message": "…", "remedy": "…",
           "line": 1, "column": 8, "nearest": "SELECT …",
           "fill_in": "your own bounds instead of 0 and 100"}}
```
"""
AROUND = """## Around questions

What else can go wrong, by the code that a command exits with; in Python each is an error of its own, with
`code`, `message` and `remedy`. A command that did what was asked exits with 0.
"""
EXITS = {
    1: "`SanqlError`, what stands in a command's way",
    2: "`Refused` and `PolicyError`: all of the above, and what owners are told",
    3: "`BudgetExceeded`, more than is left",
    4: "`Unavailable`, no answer from the engine; the charge stays, if there was one",
    5: "`LedgerError`, the account cannot be trusted or is not this one; nothing is answered",
    6: "`LedgerUnreadable`, the account may not be read by this user, whether it is sound or not",
    130: (
        "interrupted (Ctrl-C); 143: ended by SIGTERM. The last line says what had been charged, which "
        "stays, or that nothing was; in Python it is a note of the KeyboardInterrupt"
    ),
    7: "`AccessDenied`, who asks is not known, or may not do this",
    8: "`ServerError`, a server cannot be started or asked, or not like this; nothing is charged",
}


def refusals() -> dict[str, list[tuple[str, str]]]:
    """Return what each code is said with, and its remedies, read from the sources."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] in ELSEWHERE and place.as_posix() != "cli/parameters.py":
            continue
        for code, message, remedy in _raised(ast.parse(path.read_text(encoding="utf-8"))):
            said = found.setdefault(code, [])
            if (message, remedy) not in said:
                said.append((message, remedy))
    return found


def _raised(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    for node in ast.walk(tree):
        named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if named and node.func.id == "Refused" and len(node.args) >= 3:
            code, message, remedy = (_text(part) for part in node.args[:3])
            for each in _codes(node.args[0], code):
                yield each, message, remedy


def _codes(node: ast.expr, text: str) -> list[str]:
    """Return the codes an expression can be: a constant, or one of several."""
    if isinstance(node, ast.IfExp):
        return [each for part in (node.body, node.orelse) for each in _codes(part, _text(part))]
    return [text] if re.fullmatch(r"[a-z_]+", text) else []


def _text(node: ast.expr) -> str:
    """Return a message as its source has it, with … for what is filled in."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values):
            return "".join(_text(value) for value in values)
        case ast.BinOp(left, ast.Add(), right):
            return _text(left) + _text(right)
        case ast.IfExp(_, body, _):
            return _text(body)
        case _:
            return "…"


def page() -> str:
    """Return docs/refusals.md."""
    known = refusals()
    parts = [INTRODUCTION]
    for rule in RULES:
        rows = [
            f"| `{code}` | {_cell(message)} | {_cell(remedy)} |"
            for code in rule.codes
            for message, remedy in sorted(known.get(code, ()))
        ]
        head = "| code | says | remedy |\n|---|---|---|"
        parts.append(
            f"## {rule.name}\n\n{_sentence(rule.why)}\n\n{head}\n" + "\n".join(rows) + "\n"
        )
    return "\n".join([*parts, *_errors()])


def errors() -> dict[int, dict[str, list[tuple[str, str]]]]:
    """Return by exit code what else is said: of accounts, of the engine, and by the owner's commands."""
    exits = {kind.__name__: kind.exit_code for kind in (SanqlError, *_kinds(SanqlError))}
    questions = refusals()
    found: dict[int, dict[str, list[tuple[str, str]]]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] == "theory":  # has an error of its own
            continue
        for kind, arguments in _made(ast.parse(path.read_text(encoding="utf-8"))):
            code, message, remedy = (_text(part) for part in arguments[:3])
            if kind not in exits or not re.fullmatch("[a-z_]+…?", code) or code in questions:
                continue
            said = found.setdefault(exits[kind], {}).setdefault(code, [])
            if (message, remedy) not in said:
                said.append((message, remedy))
    return found


def _kinds(kind: type[SanqlError]) -> Iterator[type[SanqlError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _kinds(each)


def _made(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, list[ast.expr]]]:
    """Yield the class of each error that is made, or whose class gives its words, with the words."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call) and len(node.args) >= 3:
            match node.func:
                case ast.Name(name):
                    yield name, node.args
                case ast.Attribute(attr="__init__") if inside:
                    yield inside, node.args
        yield from _made(node, node.name if isinstance(node, ast.ClassDef) else inside)


def _errors() -> list[str]:
    known = errors()
    parts = [AROUND]
    for code in sorted(EXITS):
        rows = [
            f"| `{name}` | {_cell(message)} | {_cell(remedy)} |"
            for name, said in sorted(known.get(code, {}).items())
            for message, remedy in sorted(said)
        ]
        head = "| code | says | remedy |\n|---|---|---|\n"
        table = f"\n{head}" + "\n".join(rows) + "\n" if rows else ""
        parts.append(f"### Exit code {code}: {EXITS[code]}\n{table}")
    return parts


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _cell(text: str) -> str:
    return re.sub(r"(… ?)+", "… ", text.replace("\n", " ")).replace("|", "\\|").strip() or "…"


def aggregates() -> str:
    """Return the list of statistics."""
    rows = [f"| {written} | {found} |" for written, found in described()]
    return "\n".join(["| what | how it is found |", "|---|---|", *rows])


def options() -> str:
    """Return the list of options."""
    rows = [f"| `{option.name}` | {option.clause} |" for option in OPTIONS if option.clause]
    return "\n".join(["| option | means |", "|---|---|", *rows])


def refused() -> str:
    """Return what is refused for good and why, then what is not there yet."""
    rules = [f"| {rule.name.lower()} | {rule.why} |" for rule in RULES if rule.stays]
    clauses = [
        f"| {what} | {why} | {remedy} |"
        for what, why, remedy in UNSUPPORTED.values()
        if why != "not there yet"
    ]
    named: dict[tuple[str, str], list[str]] = {}
    for kind, why in REASONS.items():
        if kind not in MISPLACED:
            remedy = REMEDIES.get(kind, "leave it out")
            named.setdefault((why, remedy), []).extend(_names(kind))
    for name, (why, remedy) in NAMED.items():
        named.setdefault((why, remedy), []).append(f"`{name}`")
    functions = [
        f"| {' '.join(dict.fromkeys(names))} | {_cell(why)} | {_cell(remedy)} |"
        for (why, remedy), names in named.items()
    ]
    limits = (
        f"Texts have at most {BYTES_MAX // 1024} KB, {WORDS_MAX:,} words and signs (a list of 1,000 "
        f"values fits, or 300 statistics with\nnames), {NESTING_MAX} levels of brackets and CASE, "
        f"{OPERATORS_MAX} operators one in another, {SELECTS_MAX} SELECTs, and {ITEMS_MAX} tables and\n"
        "subqueries with "
        f"{EXPRESSIONS_MAX:,} expressions, counting those in `WITH` as often as they are used. What the "
        "engine cannot plan in a quarter\nof its deadline and half of its memory is refused "
        "(`query_too_complex`) before anything is charged."
    )
    return "\n".join(
        [
            "| the rule | why |",
            "|---|---|",
            *rules,
            "",
            "So these have no place in a question:",
            "",
            "| what | why | instead |",
            "|---|---|---|",
            *(row.replace("\n", " ") for row in [*clauses, *functions]),
            "",
            limits,
            "",
            f"Not yet: {'; '.join(NOT_YET)}.",
        ]
    )


def _names(kind: type) -> list[str]:
    """Return what analysts call a node of the grammar."""
    if kind in SIGNS:
        return [f"`{SIGNS[kind]}`"]
    return [f"`{name}`" for name in getattr(kind, "sql_names", lambda: [kind.__name__.upper()])()]


TABLES = {"aggregates": aggregates, "options": options, "refused": refused}


def with_tables(text: str) -> str:
    """Return docs/sql.md with the tables of today."""
    for name, make in TABLES.items():
        start, end = f"<!-- {name}: written by make_sql.py -->", f"<!-- end of {name} -->"
        before, rest = text.split(start)
        _, after = rest.split(end)
        text = f"{before}{start}\n{make()}\n{end}{after}"
    return text


if __name__ == "__main__":
    (HERE / "refusals.md").write_text(page(), encoding="utf-8")
    sql = HERE / "sql.md"
    sql.write_text(with_tables(sql.read_text(encoding="utf-8")), encoding="utf-8")
