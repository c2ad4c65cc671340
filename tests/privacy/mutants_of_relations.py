"""Rules of joins, subqueries and windows: see `mutants`."""

from __future__ import annotations

from privacy.mutation import Mutant

APART = "privacy/test_relations.py::test_two_people_with_one_order_number_never_meet"
ORDER = "privacy/test_units_apart.py::test_the_order_of_rows_is_nothing"
PLAIN = "privacy/test_relation_breaches.py::test_an_answer_without_noise_is_that_of_plain_duckdb"
REFUSED = "privacy/test_relation_breaches.py::test_what_would_mean_something_else_is_refused"
ONCE = "privacy/test_relation_breaches.py::"
NEW = "privacy/test_relations.py::"
EQUAL = "privacy/test_equal_values.py::"
TIED = "privacy/test_ties_in_windows.py::test_pairs_of_places_are_the_units_own"
INSIDE = "privacy/test_aggregates_stay_inside.py::test_an_aggregate_of_the_asking_row_is_refused"
NOTED = "privacy/test_statistics_decide.py::"
PROMISES = "privacy/test_what_conditions_promise.py::"
PRUNED = "plan/test_pruned_keys.py::"
ATTACKED = "compile/test_functions_attacked.py::"
DIGESTS = "plan/test_golden_digests.py::"

RELATIONS = (
    # ---- joins
    Mutant(
        "what a condition promises of a subquery's column is enforced where it is read",
        "compile/relations.py",
        "if (facts.low, facts.high) == (known.low, known.high):",
        "if True:",
        f"{PROMISES}test_a_row_that_where_leaves_out_is_computed_with_safely",
    ),
    Mutant(
        "a group of NULL is one more that a unit may be in",
        "plan/keys.py",
        "len(self.values) + self.null",
        "len(self.values)",
        "plan/test_keys.py::test_null_is_one_group_more_that_a_unit_may_be_in",
    ),
    Mutant(
        "rows without a match of an outer join are in the group of NULL",
        "plan/lookups.py",
        "absent = not tests and reading.is_missing(component)",
        "absent = False",
        "ask/test_null_groups.py::test_groups_are_those_of_sql",
    ),
    Mutant(
        "questions with a group of NULL have names of their own",
        "plan/digest.py",
        'null = {"null": True} if column.null else {}',
        "null: dict[str, bool] = {}",
        "ask/test_null_groups.py::test_one_question_with_and_without_it_are_two",
    ),
    Mutant(
        "keys compared with real numbers are compared as the engine does",
        "plan/chosen_keys.py",
        "if kind is Type.INTEGER and any(isinstance(choice, Fraction) for choice in listed):",
        "if False:",
        f"{PRUNED}test_every_key_that_has_rows_is_left",
    ),
    Mutant(
        "a number with decimals that is no key may be rounded to one",
        "plan/chosen_keys.py",
        "named = exact or set(listed) <= {*values, None}",
        "named = True",
        f"{PRUNED}test_every_key_that_has_rows_is_left",
    ),
    Mutant(
        "keys are compared with constants of their own kind",
        "plan/chosen_keys.py",
        "if not all(choice is None or _is_of_kind(choice, kind) for choice in listed):",
        "if False:",
        f"{PRUNED}test_every_key_that_has_rows_is_left",
    ),
    Mutant(
        "an operand that is always NULL has a type",
        "compile/expressions/emitter.py",
        "if facts.type is not Type.BOOLEAN and _takes_null(args):",
        "if False:",
        f"{ATTACKED}test_an_operand_that_is_always_null_is_understood_by_the_engine",
    ),
    Mutant(
        "how units are read is part of a question's name",
        "plan/digest.py",
        "identifying.setdefault(table, set()).update(columns)",
        "identifying.setdefault(table, set())",
        f"{DIGESTS}test_how_long_a_text_may_be_to_be_somebodys_is_part_of_the_name",
    ),
    Mutant(
        "a join of two private relations pairs rows of one unit only",
        "compile/relations.py",
        "if None not in units and units[0] != units[1]:",
        "if False:",
        APART,
    ),
    Mutant(
        "a row that a FULL JOIN keeps is whoever's side is there",
        "compile/units.py",
        'return f"coalesce({known[0]}, {known[1]})"',
        "return known[0]",
        PLAIN,
    ),
    Mutant(
        "a row that a RIGHT JOIN keeps is the right side's",
        "compile/units.py",
        "known.reverse()",
        "pass",
        PLAIN,
    ),
    Mutant(
        "rows that belong to nobody are left out after every join",
        "compile/relations.py",
        'conditions = [f"{unit} IS NOT NULL"] if unit is not None else []',
        "conditions = []",
        f"{NEW}test_a_public_row_without_a_match_is_nobodys",
    ),
    Mutant(
        "a row whose foreign key leads nowhere is left out",
        "compile/tables.py",
        """shown = ", ".join(["o.u AS u", *(f"s.{column}" for column in named.values())])
                return (
                    f"(SELECT {shown} FROM (SELECT {', '.join(own)} FROM {relation}) AS s "
                    f"JOIN""",
        """shown = ", ".join(
                    ["coalesce(o.u, 0) AS u", *(f"s.{column}" for column in named.values())]
                )
                return (
                    f"(SELECT {shown} FROM (SELECT {', '.join(own)} FROM {relation}) AS s "
                    f"LEFT JOIN""",
        f"{NEW}test_a_row_whose_key_leads_nowhere_is_nobodys",
    ),
    Mutant(
        "a unit is found through a join only where its table is alone on that side",
        "compile/foreign_keys.py",
        "if sum(scan.private for scan in scans(side)) != 1:",
        "if False:",
        PLAIN,
    ),
    Mutant(
        "an outer join finds the unit of a child only on the side it does not keep",
        "compile/foreign_keys.py",
        "case JoinKind.LEFT:\n                yield from self._led(own, source.right, left)",
        "case JoinKind.LEFT:\n                yield from self._led(own, source.left, right)",
        f"{NEW}test_a_child_whose_parent_a_join_lacks_keeps_its_unit",
    ),
    Mutant(
        "identifiers of different types are not compared",
        "compile/tables.py",
        "return first == second or (first in INTEGERS and second in INTEGERS)",
        "return True",
        f"{NEW}test_units_stored_as_different_types_are_not_compared",
    ),
    Mutant(
        "a protected row is matched by one public row",
        "compile/tables.py",
        "if table.public and table.key is not None and matched_once:",
        "if False:",
        f"{ONCE}test_a_protected_row_is_matched_once_whatever_a_public_table_repeats",
    ),
    Mutant(
        "which public row that is does not depend on the order of rows",
        "compile/tables.py",
        "f\"ORDER BY {', '.join([place, *read])})\"",
        'f"ORDER BY {place})"',
        f"{ONCE}test_which_of_several_public_rows_is_matched_depends_on_them_alone",
    ),
    Mutant(
        "a join that could repeat a protected row is refused",
        "parse/relations/joins.py",
        "    if not keyed:\n",
        "    if False:\n",
        f"{ONCE}test_a_join_that_could_repeat_a_protected_row_is_refused",
    ),
    Mutant(
        "private relations without a link are not joined",
        "parse/relations/joins.py",
        "if not any(_links(condition, *sides) for condition in own):",
        "if False:",
        f"{NEW}test_what_looks_at_two_units_is_refused",
    ),
    Mutant(
        "statistics of public rows that match nobody are refused",
        "parse/question.py",
        "if not is_null_without(aggregate.argument, missing):",
        "if False:",
        f"{NEW}test_what_looks_at_two_units_is_refused",
    ),
    # ---- subqueries
    Mutant(
        "EXISTS looks at the asking row's unit",
        "compile/subqueries.py",
        "tie = _tie(writer, rows, outer)",
        "tie = _tie(writer, rows, None)",
        APART,
    ),
    Mutant(
        "IN, and EXISTS over groups, look at the asking row's unit",
        "compile/subqueries.py",
        'conditions = [f"{name}.u = {outer}"] if outer is not None else []',
        "conditions: list[str] = []",
        APART,
    ),
    Mutant(
        "a subquery's value is about the asking row's unit",
        "compile/subqueries.py",
        'return f"({writer.grouped(rows, _tie(writer, rows, outer))})"',
        'return f"({writer.grouped(rows, _tie(writer, rows, None))})"',
        APART,
    ),
    Mutant(
        "an identifier that is missing is in no list",
        "compile/subqueries.py",
        'conditions.append(f"{name}.i0 IS NOT NULL")',
        "pass",
        f"{NEW}test_a_missing_identifier_is_in_no_list_and_out_of_none",
    ),
    Mutant(
        "a missing identifier is not out of a list either",
        "compile/relations.py",
        'return f"(CASE WHEN {self._leaf(asked.operand)} IS NOT NULL THEN {text} END)"',
        "pass",
        f"{NEW}test_a_missing_identifier_is_in_no_list_and_out_of_none",
    ),
    Mutant(
        "groups of a subquery have the unit among their keys",
        "compile/relations.py",
        "inner += f\" GROUP BY {', '.join(str(place + 1) for place in range(len(grouped)))}\"",
        'inner = inner.replace(f"{unit} AS u", f"system.main.min({unit}) AS u", 1)\n'
        "            places_ = range(1 if unit else 0, len(grouped))\n"
        "            inner += f\" GROUP BY {', '.join(str(p + 1) for p in places_) or 'ALL'}\"",
        APART,
    ),
    Mutant(
        "DISTINCT in a subquery keeps one of equal rows",
        "compile/relations.py",
        "        if rows.distinct:\n",
        "        if False:\n",
        f"{NEW}test_distinct_and_union_keep_one_of_a_units_equal_rows",
    ),
    Mutant(
        "UNION keeps one of equal rows",
        "compile/relations.py",
        "{'' if rows.distinct else 'ALL '}",
        "ALL ",
        f"{NEW}test_distinct_and_union_keep_one_of_a_units_equal_rows",
    ),
    Mutant(
        "a count inside is no more than the rows that may count",
        "compile/unit_aggregates.py",
        'return f"system.main.least(system.main.count({counted}){over}, {aggregate.facts.high})"',
        'return f"system.main.count({counted}){over}"',
        f"{NEW}test_numbers_inside_are_held_within_what_was_proved",
    ),
    Mutant(
        "sums inside run over whole steps, so the order of rows is nothing",
        "compile/unit_aggregates.py",
        'steps = on_grid(f"({clamp_or_nan(text, real(low), real(high))})", grid)',
        'steps, grid = f"({clamp_or_nan(text, real(low), real(high))})", Fraction(1)',
        f"{NEW}test_sums_inside_do_not_depend_on_the_order_of_rows",
    ),
    Mutant(
        "of the two zeros one is read",
        "compile/tables.py",
        "return without_negative_zero(text) if column and TYPES[column.type] is Type.REAL else text",
        "return text",
        f"{EQUAL}test_no_expression_tells_the_zeros_apart",
    ),
    Mutant(
        "an aggregate inside that is grouped by no unit is refused",
        "parse/relations/subqueries.py",
        "if private and nodes and not any(map(always_there, identities)):",
        "if False:",
        REFUSED,
    ),
    Mutant(
        "IN never meets an identifier that an outer join leaves out",
        "parse/relations/asking.py",
        "if linked and field.identity.facts.nullable:  # type: ignore[union-attr]",
        "if False:",
        REFUSED,
    ),
    Mutant(
        "a subquery that is not tied to the asking row is refused",
        "parse/relations/asking.py",
        "if scope.source is None or not is_private(scope.source) or not linked:",
        "if scope.source is None:",
        f"{NEW}test_what_looks_at_two_units_is_refused",
    ),
    Mutant(
        "rows that are units are not put together by UNION",
        "parse/relations/unions.py",
        "if any(by_row(branch, reader) for branch in branches):",
        "if False:",
        f"{NEW}test_what_looks_at_two_units_is_refused",
    ),
    Mutant(
        "an identifier is not computed with, also not where it is a key",
        "parse/expressions/binder.py",
        "            self._check_value(key, node)\n",
        "",
        f"{NEW}test_an_identifier_is_not_computed_with_where_it_is_a_key",
    ),
    # ---- windows
    Mutant(
        "a window is partitioned by the unit",
        "compile/windows.py",
        "partition = [unit] if unit is not None else []",
        "partition: list[str] = []",
        APART,
    ),
    Mutant(
        "a window's order has no ties",
        "compile/windows.py",
        "order += [TIES] if is_placed(window) else []",
        "pass",
        ORDER,
    ),
    Mutant(
        "no operator makes the other zero",
        "compile/expressions/emitter.py",
        "if facts.type is Type.REAL and op not in ZERO_KEPT:",
        "if False:",
        f"{EQUAL}test_no_expression_tells_the_zeros_apart",
    ),
    Mutant(
        "equal rows have one number in all windows",
        "compile/relations.py",
        'listed.append(f"t{slot}.d")',
        "pass",
        TIED,
    ),
    Mutant(
        "an aggregate is about the rows of its own query",
        "parse/relations/subqueries.py",
        "check_own_rows(bound.argument, scope.source, as_typed(node))",
        "pass",
        INSIDE,
    ),
    Mutant(
        "inside a function a column is hidden from what the engine notes of it",
        "compile/expressions/emitter.py",
        "return hidden(text, expression.facts) if around and _bare(expression) else text",
        "return text",
        f"{NOTED}test_a_function_is_computed_for_every_row",
    ),
    Mutant(
        "a window without the unit in PARTITION BY is refused",
        "parse/relations/windows.py",
        "if is_private(source) and all(identity.facts.nullable for identity in known):",
        "if False:",
        REFUSED,
    ),
)
