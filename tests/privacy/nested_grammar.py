"""A seeded generator of questions that join, nest and aggregate the tables of `chains`.

It keeps track of what each part of a question shows (columns with their types, and the identifiers
that link them), so most of what it writes is accepted. A *plain* grammar writes only what DuckDB by
itself answers too: nothing that overflows, fails to cast or depends on the order of equal rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from privacy.nested_values import COMPARED, MAKERS, Part, Shape, Values

PERSON, ROW, PUBLIC = "person", "row", "public"
UNIT, ORDER = "unit", "order"
KEEPING = ["JOIN", "LEFT JOIN"]  # the rows of the private table, which comes first
JOINS = ["JOIN", "INNER JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]

TABLES = {
    "people": Shape(
        PERSON,
        (("age", "integer"), ("income", "real"), ("city", "text"), ("sex", "text"),
         ("code", "integer"), ("born", "date")),
        (("person", UNIT),),
    ),
    "orders": Shape(
        PERSON,
        (("amount", "real"), ("status", "text"), ("code", "integer"), ("big", "integer"),
         ("day", "date"), ("urgent", "boolean")),
        (("person", UNIT), ("order_id", ORDER)),
    ),
    "items": Shape(
        PERSON,
        (("quantity", "integer"), ("price", "real"), ("product", "text"), ("code", "integer")),
        (("order_id", ORDER),),
    ),
    "returns": Shape(
        PERSON,
        (("quantity", "integer"), ("product", "text"), ("late", "boolean")),
        (("order_id", ORDER),),
    ),
    "notes": Shape(
        PERSON, (("score", "real"), ("word", "text"), ("u", "integer")), (("person", UNIT),)
    ),
    "readings": Shape(
        ROW, (("code", "integer"), ("word", "text"), ("level", "integer"), ("temp", "real"))
    ),
    "places": Shape(
        PUBLIC, (("code", "integer"), ("place", "text"), ("size", "integer"), ("area", "real"))
    ),
    "labels": Shape(PUBLIC, (("word", "text"), ("code", "integer"), ("weight", "real"))),
}  # fmt: skip
FRAMES = [
    ("1 PRECEDING", "CURRENT ROW"), ("UNBOUNDED PRECEDING", "1 PRECEDING"),
    ("1 FOLLOWING", "2 FOLLOWING"), ("2 PRECEDING", "1 PRECEDING"),
    ("CURRENT ROW", "2 FOLLOWING"), ("CURRENT ROW", "UNBOUNDED FOLLOWING"),
]  # fmt: skip
KEYS = {"places": "code", "labels": "word"}


class NestedGrammar(Values):
    """Writes questions from a seeded random number generator."""

    def __init__(self, rng: random.Random, plain: bool = False) -> None:
        super().__init__(rng, plain)
        self._names = 0
        self._with: list[tuple[str, str, Shape]] = []

    def question(self) -> str:
        """Return one SELECT with an aggregate over joined and nested relations."""
        rng = self._rng
        self._names, self._with = 0, []
        whose = rng.choice([PERSON, PERSON, PERSON, PERSON, ROW])
        text, parts, links = self._source(whose, rng.choice([0, 1, 1, 1, 2]))
        conditions = [*links, *self._conditions(parts, rng.choice([0, 0, 1, 1, 2]), 2)]
        keys = list(dict.fromkeys(self._key(parts) for _ in range(rng.choice([0, 0, 1, 1, 2]))))
        outputs = [f"{key} AS key{i}" for i, key in enumerate(keys)]
        measured = [self._statistic(parts) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        outputs += [f"{each} AS out{i}" for i, each in enumerate(measured)]
        if self._plain:
            outputs.append("COUNT(*) AS n")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        body = f"SELECT {', '.join(outputs)} FROM {text}{where}{self._grouping(len(keys))}"
        return f"{self._named_before(body)}{body}"

    def _named_before(self, text: str) -> str:
        """Return WITH and what it names, if the text or a later one of them reads it."""
        read: list[str] = []
        for name, body, _ in reversed(self._with):
            if any(f" {name} AS " in other for other in (text, *read)):
                read.insert(0, f" {name} AS ({body})")
        return f"WITH{','.join(read)} " if read else ""

    def _grouping(self, count: int) -> str:
        """Return GROUP BY over the first columns of SELECT; at times several sets of them."""
        listed = ", ".join(str(place + 1) for place in range(count))
        if not count or self._plain or self._rng.random() < 0.85:
            return f" GROUP BY {listed}" if count else ""
        sets = [f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS (({listed}), ())"]
        if count > 1:
            sets += ["GROUPING SETS ((1), (2))", "1, ROLLUP (2)"]
        return f" GROUP BY {self._rng.choice(sets)}"

    def other_asked(self) -> bool:
        """Return whether groups that do not appear are asked for as one row."""
        return self._rng.random() < 0.15

    def groups_asked(self) -> int | None:
        """Return a max_groups_contributed, or none."""
        return self._rng.choice([None, None, None, 1, 2])

    def _fresh(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"

    # ---- FROM

    def _source(self, whose: str, depth: int) -> tuple[str, list[Part], list[str]]:
        """Return FROM's text, its parts, and what WHERE must say to link them."""
        rng = self._rng
        text, part = self._item(whose, depth)
        parts, links = [part], []
        for _ in range(rng.choice([0, 1, 1, 1, 2, 3] if depth else [0, 0, 1])):
            other = PUBLIC if whose != PERSON or rng.random() < 0.3 else PERSON
            if whose == PUBLIC and rng.random() < 0.7:
                break
            joined = self._join(text, parts, other, whose, depth)
            if joined is not None:
                text, parts, more = joined
                links += more
            if links and rng.random() < 0.9:  # what follows a comma sees nothing before it
                break
        return text, parts, links

    def _join(
        self, text: str, parts: list[Part], whose: str, root: str, depth: int
    ) -> tuple[str, list[Part], list[str]] | None:
        rng = self._rng
        right, part = self._item(whose, depth - 1)
        if root == ROW:
            return self._join_by_key(text, parts, right, part)
        linked = self._link(parts, part) if whose == PERSON else self._same(parts, part)
        if linked is None:
            return None
        if whose == PERSON and rng.random() < 0.15:  # a bracket of two on the right
            more, other = self._item(PERSON, 0)
            inner = self._link([part], other)
            if inner is not None:
                right = f"({right} {rng.choice(JOINS)} {more} ON {inner[0]})"
                return (
                    f"{text} {rng.choice(JOINS)} {right} ON {linked[0]}",
                    [*parts, part, other],
                    [],
                )
        kind = rng.choice(JOINS if whose == PERSON or rng.random() < 0.2 else KEEPING)
        condition, name = linked
        if rng.random() < 0.1:
            filtering = rng.choice(["SEMI JOIN", "ANTI JOIN"])
            return f"{text} {filtering} {right} ON {condition}", parts, []
        form = rng.random()
        if form < 0.15:
            return f"{text}, {right}", [*parts, part], [condition]
        if form < 0.35 and name is not None and (kind != "FULL JOIN" or whose == PUBLIC):
            return f"{text} {kind} {right} USING ({name})", [*parts, part], []
        if form < 0.4 and len(parts) == 1 and _shares_name(parts[0], part):
            return f"{text} NATURAL {kind} {right}", [*parts, part], []
        more_conditions = self._conditions([*parts, part], rng.choice([0, 0, 0, 1]), 0)
        on = " AND ".join([condition, *more_conditions])
        if rng.random() < 0.1 and parts[0].shape.whose != PUBLIC and len(parts) == 1:
            return f"{right} {kind} {text} ON {on}", [part, *parts], []
        return f"{text} {kind} {right} ON {on}", [*parts, part], []

    def _join_by_key(
        self, text: str, parts: list[Part], right: str, part: Part
    ) -> tuple[str, list[Part], list[str]] | None:
        """Join a public table to protected rows: mostly on its key, sometimes on something else."""
        rng = self._rng
        name = rng.choice(["code", "word"])
        for table, key in KEYS.items():
            if part.shape is TABLES[table] and rng.random() < 0.9:
                name = key
        if name not in dict(part.shape.columns):
            return None
        theirs = [p for p in parts if name in dict(p.shape.columns)]
        if not theirs:
            return None
        on = f"{part.alias}.{name} = {rng.choice(theirs).alias}.{name}"
        if rng.random() < 0.2:
            return (
                f"{right} {rng.choice(['JOIN', 'RIGHT JOIN'])} {text} ON {on}",
                [part, *parts],
                [],
            )
        if rng.random() < 0.2:
            return f"{text}, {right}", [*parts, part], [on]
        more = self._conditions([*parts, part], rng.choice([0, 0, 1]), 0)
        kind = rng.choice([*KEEPING * 3, "CROSS JOIN"])
        if kind == "CROSS JOIN":
            return f"{text} CROSS JOIN {right}", [*parts, part], rng.choice([[on], []])
        return f"{text} {kind} {right} ON {' AND '.join([on, *more])}", [*parts, part], []

    def _link(self, parts: Sequence[Part], part: Part) -> tuple[str, str | None] | None:
        """Return a condition that two private relations share an identifier, and its common name."""
        pairs = [
            (f"{p.alias}.{a} = {part.alias}.{b}", a if a == b else None)
            for p in parts
            for a, entity in p.shape.links
            for b, other in part.shape.links
            if entity == other
        ]
        return self._rng.choice(pairs) if pairs else None

    def _same(self, parts: Sequence[Part], part: Part) -> tuple[str, str | None] | None:
        """Return a condition on values, for a public relation."""
        pairs = [
            (f"{p.alias}.{a} {self._rng.choice(['=', '=', '=', '<'])} {part.alias}.{b}", None)
            for p in parts
            for a, kind in p.shape.columns
            for b, other in part.shape.columns
            if kind == other and kind in ("integer", "text")
        ]
        named = [
            (f"{p.alias}.{a} = {part.alias}.{a}", a)
            for p in parts
            for a, _ in p.shape.columns
            if a in dict(part.shape.columns)
        ]
        return self._rng.choice([*pairs, *named, *named]) if pairs or named else None

    def _item(self, whose: str, depth: int) -> tuple[str, Part]:
        rng = self._rng
        alias = self._fresh("t")
        if depth > 0 and rng.random() < 0.6:
            known = [each for each in self._with if each[2].whose == whose]
            if known and rng.random() < 0.5:
                name, _, shape = rng.choice(known)
                return f"{name} AS {alias}", Part(alias, shape)
            body, shape = self._rows(whose, depth - 1)
            if rng.random() < 0.35:
                name = self._fresh("w")
                self._with.append((name, body, shape))
                return f"{name} AS {alias}", Part(alias, shape)
            return f"({body}) AS {alias}", Part(alias, shape)
        if whose == PUBLIC and rng.random() < 0.2:
            return self._listed(alias)
        table = rng.choice([name for name, shape in TABLES.items() if shape.whose == whose])
        return f"{table} AS {alias}", Part(alias, TABLES[table])

    def _listed(self, alias: str) -> tuple[str, Part]:
        """Return rows that are written in the question, two of them alike at times."""
        rng = self._rng
        if rng.random() < 0.4:
            codes = ", ".join(str(rng.randint(0, 4)) for _ in range(3))
            form = rng.choice([f"UNNEST([{codes}])", "generate_series(0, 3)", "range(4)"])
            return f"{form} AS {alias}(code)", Part(alias, Shape(PUBLIC, (("code", "integer"),)))
        rows = [
            f"({rng.randint(0, 4)}, '{rng.choice(['red', 'Rome', 'x'])}', 0.5)" for _ in range(3)
        ]
        shape = Shape(PUBLIC, (("code", "integer"), ("word", "text"), ("weight", "real")))
        return f"(VALUES {', '.join(rows)}) AS {alias}(code, word, weight)", Part(alias, shape)

    # ---- subqueries

    def _rows(self, whose: str, depth: int) -> tuple[str, Shape]:
        rng = self._rng
        if whose == ROW:
            return rng.choice([self._selected, self._star])(whose, depth)
        makers: list[Callable[[str, int], tuple[str, Shape]]] = [
            self._selected, self._star, self._distinct, self._grouped, self._grouped, self._union,
            self._windowed,
        ]  # fmt: skip
        return rng.choice(makers)(whose, depth)

    def _star(self, whose: str, depth: int) -> tuple[str, Shape]:
        item, part = self._item(whose, depth)
        conditions = self._conditions([part], self._rng.choice([0, 1]), depth)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT * FROM {item}{where}", part.shape

    def _pieces(
        self, whose: str, depth: int
    ) -> tuple[str, list[Part], list[tuple[str, str, str]], str]:
        """Return FROM, its parts, identifiers as (text, name, entity), and WHERE."""
        text, parts, links = self._source(whose, depth)
        conditions = [*links, *self._conditions(parts, self._rng.choice([0, 0, 1]), depth)]
        found = [(f"{p.alias}.{n}", n, entity) for p in parts for n, entity in p.shape.links]
        self._rng.shuffle(found)
        chosen: dict[str, tuple[str, str, str]] = {}
        for each in found:
            chosen.setdefault(each[2], each)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return text, parts, list(chosen.values()), where

    def _named(self, parts: list[Part], count: int) -> list[tuple[str, str, str]]:
        """Return values as (text, name, type); a bare column often keeps its name."""
        found = []
        for _ in range(count):
            kind = self._rng.choice(MAKERS)
            bare = [(p.alias, n) for p in parts for n, k in p.shape.columns if k == kind]
            if bare and self._rng.random() < 0.6:
                alias, name = self._rng.choice(bare)
                free = name not in {each[1] for each in found}
                shown = name if free and self._rng.random() < 0.7 else self._fresh("c")
                found.append((f"{alias}.{name}", shown, kind))
            else:
                found.append((self._value(parts, kind), self._fresh("c"), kind))
        return found

    def _selected(self, whose: str, depth: int) -> tuple[str, Shape]:
        text, parts, links, where = self._pieces(whose, depth)
        values = self._named(parts, self._rng.randint(1, 3))
        listed = [f"{t} AS {n}" for t, n, _ in (*links, *values)]
        before = [name for _, name, kind in values if kind == "integer" and name[0] == "c"]
        if before and self._rng.random() < 0.2:  # a name that SELECT itself has given
            name = self._rng.choice(before)
            values.append((f"{name} % 5", self._fresh("c"), "integer"))
            listed.append(" AS ".join(values[-1][:2]))
        shape = Shape(
            whose,
            tuple((name, kind) for _, name, kind in values),
            tuple((name, entity) for _, name, entity in links),
        )
        return f"SELECT {', '.join(listed)} FROM {text}{where}", shape

    def _distinct(self, whose: str, depth: int) -> tuple[str, Shape]:
        body, shape = self._selected(whose, depth)
        if whose == PUBLIC or UNIT in dict(shape.links).values():
            body = body.replace("SELECT ", "SELECT DISTINCT ", 1)
        return body, shape

    def _grouped(self, whose: str, depth: int) -> tuple[str, Shape]:
        rng = self._rng
        text, parts, links, where = self._pieces(whose, depth)
        links = links[: rng.choice([1, 1, 2])]
        keys = self._named(parts, rng.choice([0, 0, 1]) if links else 1)
        values = [
            (*self._unit_aggregate(parts), self._fresh("a")) for _ in range(rng.randint(1, 2))
        ]
        listed = [f"{t} AS {n}" for t, n, _ in (*links, *keys)]
        listed += [f"{t} AS {n}" for t, _, n in values]
        grouping = ", ".join(t for t, _, _ in (*links, *keys))
        having = ""
        if rng.random() < 0.25:
            having = f" HAVING COUNT(*) {rng.choice(COMPARED)} {rng.randint(0, 3)}"
            if links and rng.random() < 0.2:
                tested = rng.choice([" IS NOT NULL", " <> 'x'", " <> 1"])
                having += f" AND {links[0][0]}{tested}"
        shape = Shape(
            whose,
            (*((n, kind) for _, n, kind in keys), *((n, kind) for _, kind, n in values)),
            tuple((name, entity) for _, name, entity in links),
        )
        return f"SELECT {', '.join(listed)} FROM {text}{where} GROUP BY {grouping}{having}", shape

    def _unit_aggregate(self, parts: list[Part]) -> tuple[str, str]:
        rng = self._rng
        kind = rng.choice(["count", "count", "sum", "sum", "avg", "min", "max", "any", "if"])
        number = rng.choice(["integer", "real"])
        if kind == "count":
            of = ["*", self._value(parts, rng.choice(MAKERS))]
            links = [f"{p.alias}.{n}" for p in parts for n, _ in p.shape.links]
            of += [f"DISTINCT {self._value(parts, 'integer')}", *links]
            return f"COUNT({rng.choice(of)})", "integer"
        if kind == "any":
            return (
                f"{rng.choice(['BOOL_OR', 'BOOL_AND'])}({self._value(parts, 'boolean')})",
                "boolean",
            )
        if kind == "if":
            return f"COUNT(*) FILTER (WHERE {self._value(parts, 'boolean')})", "integer"
        if kind in ("min", "max"):
            some = rng.choice(["integer", "real", "text", "date"])
            return f"{kind.upper()}({self._value(parts, some)})", some
        value = self._bounded(parts, number)
        return f"{kind.upper()}({value})", "real" if kind == "avg" else number

    def _union(self, whose: str, depth: int) -> tuple[str, Shape]:
        rng = self._rng
        kinds = [rng.choice(MAKERS) for _ in range(rng.randint(1, 2))]
        entity = rng.choice([UNIT, UNIT, ORDER])
        names = [self._fresh("c") for _ in kinds]
        bodies = []
        for _ in range(2):
            text, parts, links, where = self._pieces(whose, depth)
            own = [link for link in links if link[2] == entity] or links[:1]
            listed = [f"{t} AS id" for t, _, _ in own[:1]]
            listed += [f"{self._value(parts, k)} AS {n}" for k, n in zip(kinds, names, strict=True)]
            bodies.append((f"SELECT {', '.join(listed)} FROM {text}{where}", own[:1]))
        shared = [own[0][2] for _, own in bodies if own]
        links = (("id", shared[0]),) if len(set(shared)) == 1 and len(shared) == 2 else ()
        kept = whose == PUBLIC or (links and links[0][1] == UNIT)
        between = " UNION " if kept and rng.random() < 0.7 else " UNION ALL "
        joined = between.join(body for body, _ in bodies)
        return joined, Shape(whose, tuple(zip(names, kinds, strict=True)), links)

    def _windowed(self, whose: str, depth: int) -> tuple[str, Shape]:
        rng = self._rng
        text, parts, links, where = self._pieces(whose, depth)
        values = self._named(parts, rng.randint(1, 2))
        kind = rng.choice(MAKERS)
        shown = self._value(parts, kind)
        order = f" ORDER BY {self._value(parts, 'integer')}{rng.choice(['', ' DESC'])}"
        placed = [("RANK()", "integer"), ("DENSE_RANK()", "integer")]
        if not self._plain:
            placed += [
                ("ROW_NUMBER()", "integer"),
                (f"LAG({shown})", kind),
                (f"LEAD({shown}, 2)", kind),
            ]
            placed += [(f"FIRST_VALUE({shown})", kind), (f"LAST_VALUE({shown})", kind)]
        loose = [("COUNT(*)", "integer"), (f"COUNT({shown})", "integer")]
        loose += [(f"{f}({shown})", kind) for f in ("MIN", "MAX") if kind != "boolean"]
        function, type_ = rng.choice([*placed, *loose])
        ordered = (function, type_) in placed or rng.random() < 0.5
        partition = ", ".join(t for t, _, _ in links[: rng.choice([1, 2])])
        over = f"PARTITION BY {partition}" if partition else ""
        over += order if ordered else ""
        if ordered and (function, type_) in loose and rng.random() < 0.5:
            # DuckDB by itself chooses which of two equal rows comes first
            kinds = ["GROUPS"] if self._plain else ["ROWS", "ROWS", "GROUPS"]
            start, end = rng.choice(FRAMES)
            over += f" {rng.choice(kinds)} BETWEEN {start} AND {end}"
        name = self._fresh("c")
        listed = [f"{t} AS {n}" for t, n, _ in (*links, *values)]
        listed.append(f"{function} OVER ({over.strip()}) AS {name}")
        qualify = ""
        if rng.random() < 0.3 and partition:
            qualify = f" QUALIFY RANK() OVER (PARTITION BY {partition}{order}) = 1"
        shape = Shape(
            whose,
            (*((n, k) for _, n, k in values), (name, type_)),
            tuple((n, entity) for _, n, entity in links),
        )
        return f"SELECT {', '.join(listed)} FROM {text}{where}{qualify}", shape

    # ---- conditions

    def _conditions(self, parts: list[Part], count: int, depth: int) -> list[str]:
        rng = self._rng
        found = []
        for _ in range(count):
            if depth > 0 and rng.random() < 0.6:
                asked = self._asking(parts, depth - 1)
                if asked is not None:
                    found.append(asked)
                    continue
            about = self._identified(parts) if rng.random() < 0.15 else None
            found.append(about or self._value(parts, "boolean"))
        return found

    def _identified(self, parts: list[Part]) -> str | None:
        """Return a condition on what identifies a row: a person is a number, an order a text."""
        rng = self._rng
        # notes declare the column of their person, with bounds: DuckDB does not know of these
        sure = [TABLES[table] for table in ("people", "orders", "items", "returns")]
        known = [
            (f"{p.alias}.{name}", kind)
            for p in parts
            for name, kind in p.shape.links
            if p.shape in sure or not self._plain
        ]
        if not known:
            return None
        name, kind = rng.choice(known)
        # where DuckDB is asked, each person has a twin with a number greater by ten, for groups of two
        if kind == ORDER:
            like = f"LIKE '%{rng.choice(['1.0', '2.0', '3.1'])}'"
            return f"{name} {rng.choice(['', 'NOT '])}{like}" if self._plain else f"{name} > 'o''2'"
        digit = " % 10" if self._plain or rng.random() < 0.3 else ""
        compared = [
            f"{rng.choice(COMPARED)} {rng.randint(0, 5)}",
            "IN (1, 2, 3)",
            "BETWEEN 1 AND 4",
        ]
        numbers = [n for n in self._columns(parts, "integer") if not n.endswith(".big")]
        compared += [f"= {number}" for number in numbers[:2]]
        return f"{name}{digit} {rng.choice(compared)}"

    def _asking(self, parts: list[Part], depth: int) -> str | None:
        """Return a condition that looks at other rows of the same unit, or at public ones."""
        rng = self._rng
        private = any(p.shape.whose == PERSON for p in parts)
        whose = PERSON if private and rng.random() < 0.8 else PUBLIC
        item, part = self._item(whose, depth)
        linked = self._link(parts, part) if whose == PERSON else self._same(parts, part)
        if linked is None:
            return None
        more = self._conditions([part, *parts], rng.choice([0, 0, 1]), depth)
        within = " AND ".join([linked[0], *more])
        no = rng.choice(["", "", "NOT "])
        form = rng.choice(["exists", "exists", "in", "value", "value", "member", "grouped"])
        if form == "exists":
            return f"{no}EXISTS (SELECT {rng.choice(['1', '*'])} FROM {item} WHERE {within})"
        if form == "value":
            aggregate, kind = self._unit_aggregate([part])
            compared = f"{rng.choice(COMPARED)} {self._value(parts, kind)}"
            return f"(SELECT {aggregate} FROM {item} WHERE {within}) {compared}"
        if form == "member" or whose == PUBLIC:
            kind = rng.choice(MAKERS)
            inner = self._value([part], kind)
            return f"{self._value(parts, kind)} {no}IN (SELECT {inner} AS v FROM {item} WHERE {within})"
        pairs = [
            (f"{p.alias}.{a}", f"{part.alias}.{b}")
            for p in parts
            for a, entity in p.shape.links
            for b, other in part.shape.links
            if entity == other
        ]
        ours, theirs = rng.choice(pairs)
        if form == "grouped":
            having = f"COUNT(*) {rng.choice(COMPARED)} {rng.randint(0, 3)}"
            return f"{ours} {no}IN (SELECT {theirs} FROM {item} GROUP BY {theirs} HAVING {having})"
        inside = self._conditions([part], rng.choice([0, 1]), depth)
        where = f" WHERE {' AND '.join(inside)}" if inside else ""
        if rng.random() < 0.15:  # both sides name a table by itself, or are refused
            also = f"{rng.choice(['INTERSECT', 'EXCEPT'])} SELECT {theirs} FROM {item}"
            return f"{ours} {no}IN (SELECT {theirs} FROM {item}{where} {also})"
        return f"{ours} {no}IN (SELECT {theirs} FROM {item}{where})"


def _shares_name(one: Part, other: Part) -> bool:
    """Return whether NATURAL JOIN has something to join two parts by."""
    shapes = one.shape, other.shape
    left, right = ({name for name, _ in (*s.columns, *s.links)} for s in shapes)
    return bool(left & right)
