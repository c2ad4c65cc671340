"""Whether a text asks about the catalogue, as database tools do, and nothing that needs San.

It is told by what is on a list: one SELECT whose tables are all of PostgreSQL's catalogue, or which has
none, and in which every word before a bracket is known. Whatever else there is, is a question for San.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType

from sanql.errors import Refused
from sanql.parse.text.grammar import ReadingLimit
from sanql.parse.text.guard import check_text, tokens_within_limits

_SCHEMAS = frozenset({"pg_catalog", "information_schema"})
_LISTED = """
    all and any array as between by case cast count distinct else end exists extract filter from group
    having in intersect except is join lateral like limit not on operator or order over partition select
    some then union using values when where with within
    bit bpchar char character decimal float interval numeric time timestamp timestamptz varbit varchar
    abs array_agg array_length array_lower array_ndims array_position array_remove array_to_string
    array_upper bool_and bool_or btrim cardinality coalesce concat concat_ws dense_rank first_value
    generate_series generate_subscripts greatest initcap json_agg json_build_object json_object_agg
    jsonb_agg jsonb_build_object last_value least left length lower ltrim max md5 min mod nullif now
    position quote_ident quote_literal rank regexp_match regexp_matches regexp_replace
    regexp_split_to_array regexp_split_to_table replace reverse right round row row_number row_to_json
    rtrim split_part starts_with string_agg string_to_array strpos substr substring sum to_char to_json
    to_jsonb translate trim unnest upper xmlagg
    aclexplode acldefault col_description current_database current_schema current_schemas
    current_setting format_type has_any_column_privilege has_column_privilege has_database_privilege
    has_foreign_data_wrapper_privilege has_function_privilege has_language_privilege
    has_schema_privilege has_sequence_privilege has_server_privilege has_table_privilege
    has_tablespace_privilege has_type_privilege inet_client_addr inet_client_port inet_server_addr
    inet_server_port makeaclitem obj_description oidvectortypes set_config shobj_description to_regclass
    to_regnamespace to_regproc to_regrole to_regtype txid_current version
    pg_advisory_unlock_all pg_backend_pid pg_char_to_encoding pg_client_encoding
    pg_collation_is_visible pg_column_is_updatable pg_conf_load_time pg_conversion_is_visible
    pg_describe_object pg_encoding_to_char pg_function_is_visible pg_get_constraintdef pg_get_expr
    pg_get_function_arg_default pg_get_function_arguments pg_get_function_identity_arguments
    pg_get_function_result pg_get_function_sqlbody pg_get_functiondef pg_get_indexdef pg_get_keywords
    pg_get_partition_constraintdef pg_get_partkeydef pg_get_ruledef pg_get_serial_sequence
    pg_get_statisticsobjdef pg_get_statisticsobjdef_columns pg_get_triggerdef pg_get_userbyid
    pg_get_viewdef pg_has_role pg_index_column_has_property pg_index_has_property
    pg_indexam_has_property pg_is_in_recovery pg_is_other_temp_schema pg_my_temp_schema
    pg_opclass_is_visible pg_operator_is_visible pg_opfamily_is_visible pg_options_to_table
    pg_postmaster_start_time pg_relation_filenode pg_relation_is_publishable pg_relation_is_updatable
    pg_relation_size pg_size_pretty pg_statistics_obj_is_visible pg_table_is_visible pg_table_size
    pg_tablespace_location pg_total_relation_size pg_ts_config_is_visible pg_ts_dict_is_visible
    pg_ts_parser_is_visible pg_ts_template_is_visible pg_type_is_visible pg_typeof
    _pg_char_max_length _pg_char_octet_length _pg_datetime_precision _pg_expandarray
    _pg_index_position _pg_interval_type _pg_numeric_precision _pg_numeric_precision_radix
    _pg_numeric_scale _pg_truetypid _pg_truetypmod
"""
_WORDS = frozenset(_LISTED.split())
_TEXTS = frozenset({TokenType.STRING, TokenType.BYTE_STRING})
_LINE_FEEDS = re.compile(r"[eE]'[^'\\]*(?:\\n[^'\\]*)*'")
_OTHER_QUOTES = frozenset(
    {
        TokenType.HEREDOC_STRING, TokenType.UNICODE_STRING, TokenType.RAW_STRING,
        TokenType.NATIONAL_STRING, TokenType.BIT_STRING, TokenType.HEX_STRING,
    }
)  # fmt: skip
_CHANGING = (
    exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter, exp.Copy, exp.Into,
    exp.Command, exp.Set,
)  # fmt: skip


def asks_the_catalogue(sql: str) -> bool:
    """Return whether a text is about the catalogue alone.

    >>> asks_the_catalogue("SELECT relname FROM pg_catalog.pg_class"), asks_the_catalogue("SELECT 1")
    (True, True)
    >>> asks_the_catalogue("SELECT COUNT(*) FROM people"), asks_the_catalogue("SELECT pg_sleep(9)")
    (False, False)
    """
    lower = sql.lower()
    if "from" in lower and "pg_" not in lower and "information_schema" not in lower:
        return False  # as most questions are
    try:
        check_text(sql, "the question")
        tokens_within_limits(sql)
        tokens = _Grammar().tokenize(sql)
        if not _is_read_alike(sql, tokens) or not _calls_only_known(tokens):
            return False
        statements = [each for each in _Grammar().parser().parse(tokens, sql) if each is not None]
    except (sqlglot.errors.SqlglotError, Refused, RecursionError):
        return False
    if len(statements) != 1 or not isinstance(statements[0], exp.Select | exp.SetOperation):
        return False
    (statement,) = statements
    if any(isinstance(node, _CHANGING) for node in statement.walk()):
        return False
    named = {each.alias.lower() for each in statement.find_all(exp.CTE)}
    return all(_is_of_catalogue(table, named) for table in statement.find_all(exp.Table))


class _Grammar(Postgres):
    class Parser(ReadingLimit, PostgresParser):
        """PostgreSQL's grammar, which is not read for ever either."""


def _is_read_alike(sql: str, tokens: Sequence[Token]) -> bool:
    """Return whether PostgreSQL cuts a text into the same words: no other quotes than the plain ones.

    Of texts with escapes tools write those with line feeds. Two texts in a row are one for
    PostgreSQL, whose rules for escapes then hold for both.
    """
    for token in tokens:
        if token.token_type in _OTHER_QUOTES:
            return False
        escaped = token.token_type is TokenType.BYTE_STRING
        if escaped and _LINE_FEEDS.fullmatch(sql[token.start : token.end + 1]) is None:
            return False
    for before, token in pairwise(tokens):
        if {before.token_type, token.token_type} <= _TEXTS:
            return False
        if before.text == "$" and token.token_type is not TokenType.NUMBER:
            return False
    return not tokens or tokens[-1].text != "$"


def _is_of_catalogue(table: exp.Table, named: set[str]) -> bool:
    if not isinstance(table.this, exp.Identifier):
        return True  # a function, whose name was looked at
    schema, name = str(table.db).lower(), str(table.name).lower()
    if schema:
        return schema in _SCHEMAS
    return name.startswith("pg_") or name in named


def _calls_only_known(tokens: Sequence[Token]) -> bool:
    """Return whether every word that stands before a bracket is on the list, quoted or not."""
    called = [before.text.lower() for before, after in pairwise(tokens) if after.text == "("]
    return all(word in _WORDS or not any(letter.isalnum() for letter in word) for word in called)
