"""What a suggested question asks that was not asked: said beside it, and never too much.

A rewriter may leave out a condition, a table or a DISTINCT, add one, or count where something else was
asked for. That is a guess worth showing only if whoever reads it sees what has become of their question.
And some guesses are worth nothing: rows of one table beside all rows of another, and a column that equals
itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sqlglot import exp

from sanql.teach.nearest.meaning import FAMILIES

LETTERS_MAX = 60
CHANGES_MAX = 3


def changes(asked: exp.Expr, shown: exp.Expr) -> list[str]:
    """Return what a question asks that another does not, in words that go behind "with".

    >>> import sqlglot
    >>> asked, shown = "SELECT MIN(url) FROM t WHERE a > 1", "SELECT COUNT(DISTINCT url) FROM t"
    >>> changes(*map(sqlglot.parse_one, (asked, shown)))
    ['every row in place of those where a > 1', 'COUNT(DISTINCT url) in place of MIN(url)']
    """
    lost_tests, new_tests = _other_tests(asked, shown)
    found = [*lost_tests, *_lost_tables(asked, shown), *_lost_frames(asked, shown)]
    found += _other_rows(asked, shown)
    found += [*_other_statistics(asked, shown), *_lost_distinct(asked, shown)]
    found += [*new_tests, *_no_rows(asked, shown), *_lost_windows(asked, shown)]
    found += [*_new_keys(asked, shown), *_read_as(asked, shown)]
    return list(dict.fromkeys(found))[:CHANGES_MAX]


def means_nothing(shown: exp.Expr, asked: exp.Expr | None) -> bool:
    """Return whether a question asks if a column is itself, or pairs all rows of more tables."""
    parts = list(shown.find_all(exp.EQ, exp.Select))
    for node in parts:
        same = isinstance(node, exp.EQ) and isinstance(node.this, exp.Column)
        if same and node.this == node.expression:
            return True
    loose = sum(_loose(part) for part in parts if isinstance(part, exp.Select))
    return loose > 0 and asked is not None and loose > sum(map(_loose, asked.find_all(exp.Select)))


def _loose(select: exp.Select) -> int:
    """Return how many tables stand beside others of a FROM with nothing that ties them to each other."""
    bare = [
        str(join.this.alias_or_name).lower()
        for join in select.args.get("joins") or ()
        if not any(join.args.get(name) for name in ("on", "using", "method"))
    ]
    where = select.args.get("where")
    tied = _tables_tied(where) if bare and where is not None else set()
    return sum(name not in tied for name in bare)


def _tables_tied(where: exp.Expr) -> set[str]:
    """Return the tables that a comparison of two tables names; of an unqualified one nobody knows."""
    tied: set[str] = set()
    for test in where.find_all(exp.Predicate):
        named = {str(column.table).lower() for column in test.find_all(exp.Column)}
        if len(named) > 1:
            tied |= named
    return tied


def _tests(tree: exp.Expr) -> list[str]:
    """Return the conditions of a question, wherever they stand."""
    clauses = [node.this for node in tree.find_all(exp.Where, exp.Having)]
    clauses += [join.args["on"] for join in tree.find_all(exp.Join) if join.args.get("on")]
    found = []
    for clause in clauses:
        parts = clause.flatten() if isinstance(clause, exp.And) else [clause]
        found += [_text(part) for part in parts]
    return found


def _other_tests(asked: exp.Expr, shown: exp.Expr) -> tuple[list[str], list[str]]:
    """Return conditions that are gone, or those that come on top; as many are the same in other words."""
    before, after = _tests(asked), _tests(shown)
    if len(after) < len(before):
        gone = [test for test in before if test not in after]
        return [f"every row in place of those where {test}" for test in gone], []
    new = [test for test in after if test not in before] if len(after) > len(before) else []
    return [], [f"only rows where {test}" for test in new]


def _other_rows(asked: exp.Expr, shown: exp.Expr) -> Iterator[str]:
    """Yield which rows of a table are read now: all of them, or those that there are today."""
    for kind, said in (
        (exp.TableSample, "all rows in place of a sample"),
        (exp.Version, "rows as they are in place of earlier ones"),
    ):
        if any(asked.find_all(kind)) and not any(shown.find_all(kind)):
            yield said
    first = [node for node in asked.find_all(exp.Distinct) if node.args.get("on")]
    if first and not any(node.args.get("on") for node in shown.find_all(exp.Distinct)):
        yield "groups in place of the first row of each"


def _no_rows(asked: exp.Expr, shown: exp.Expr) -> Iterator[str]:
    if _shows_rows(asked) and not _shows_rows(shown):
        yield "statistics in place of the rows"


def _shows_rows(tree: exp.Expr) -> bool:
    """Return whether a question shows rows as they are: it has no statistic, and no group."""
    if not isinstance(tree, exp.Select) or tree.args.get("group") or tree.args.get("distinct"):
        return False
    inside = [node for item in tree.expressions for node in item.find_all(exp.AggFunc)]
    return all(isinstance(node.parent, exp.Window) for node in inside)


def _lost_windows(asked: exp.Expr, shown: exp.Expr) -> Iterator[str]:
    after = {_text(node) for node in shown.find_all(exp.Window)}
    windows = list(asked.find_all(exp.Window))
    if len(after) < len(windows) and not _shows_rows(asked):
        for node in windows:
            if _text(node) not in after:
                yield f"nothing in place of {_text(node)}"


def _new_keys(asked: exp.Expr, shown: exp.Expr) -> Iterator[str]:
    """Yield what groups are made by that was not asked for, and what they are made by no more."""
    before, after = _keys(asked), _keys(shown)
    new, lost = ([key for key in keys if key not in others] for keys, others in
                 ((after, before), (before, after)))  # fmt: skip
    if before and len(after) > len(before):
        yield from (f"a group for each {key}" for key in new)
    elif len(after) < len(before):
        yield from (f"no group for each {key}" for key in lost)
    elif lost and set(lost) & {_text(column) for column in shown.find_all(exp.Column)}:
        yield f"a group for each {', '.join(new)} in place of each {', '.join(lost)}"


def _keys(tree: exp.Expr) -> list[str]:
    group = tree.args.get("group")
    return [_text(item) for item in group.expressions] if group is not None else []


def _read_as(asked: exp.Expr, shown: exp.Expr) -> Iterator[str]:
    """Yield what is read as another type than it has."""
    before = {_text(node) for node in asked.find_all(exp.Cast)}
    for node in shown.find_all(exp.Cast):
        text = _text(node)
        if text not in before and not isinstance(node.this, exp.Literal):
            yield f"{_text(node.this)} read as {node.to.sql(dialect='duckdb')}"


def _lost_tables(asked: exp.Expr, shown: exp.Expr) -> Iterator[str]:
    before = {str(table.name).lower() for table in asked.find_all(exp.Table)}
    after = {str(table.name).lower() for table in shown.find_all(exp.Table)}
    for table in asked.find_all(exp.Table) if len(after) < len(before) else ():
        if str(table.name).lower() not in after:
            yield f"nothing of {str(table.name)[:LETTERS_MAX]}"


def _lost_frames(asked: exp.Expr, shown: exp.Expr) -> Iterator[str]:
    before, after = (len(list(tree.find_all(exp.WindowSpec))) for tree in (asked, shown))
    if after < before:
        yield "all rows up to the current one in place of the frame"


def _other_statistics(asked: exp.Expr, shown: exp.Expr) -> Iterator[str]:
    """Yield statistics that are there no more: none of their kind is, or fewer of it than there were."""
    before = [node for node in asked.find_all(exp.AggFunc) if not _of_window(node)]
    after = [node for node in shown.find_all(exp.AggFunc) if not _of_window(node)]
    known, kept = {_text(node) for node in before}, {_text(node) for node in after}
    of_kind = Counter(map(_family, after))
    fewer = {
        kind for kind, number in Counter(map(_family, before)).items() if of_kind[kind] < number
    }
    new = [_text(node) for node in after if _text(node) not in known]
    for node in before:
        if _family(node) in fewer and _text(node) not in kept:
            yield f"{new[0] if new else 'nothing'} in place of {_text(node)}"


def _of_window(node: exp.Expr) -> bool:
    return isinstance(node.parent, exp.Window)


def _lost_distinct(asked: exp.Expr, shown: exp.Expr) -> Iterator[str]:
    for node in asked.find_all(exp.AggFunc):
        inside = node.this
        if not isinstance(inside, exp.Distinct) or isinstance(node, exp.Count):
            continue
        after = [each for each in shown.find_all(type(node)) if isinstance(each.this, exp.Distinct)]
        if not after and any(shown.find_all(type(node))):
            yield f"every value in place of each different one in {_text(node)}"


def _family(node: exp.Expr) -> str:
    return FAMILIES.get(type(node)) or str(node.key).upper()


def _text(node: exp.Expr) -> str:
    typed = node.meta.get("fragment") or node.sql(dialect="duckdb", comments=False)
    text = " ".join(str(typed).split())
    return text if len(text) <= LETTERS_MAX else f"{text[:LETTERS_MAX]} …"
