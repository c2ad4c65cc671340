"""The line of every key, however TOML lets it be written."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from sanql.policy.lines import KeyPath, find_lines


def test_keys_are_found_in_every_notation() -> None:
    text = '''# [not.a.section]
top = 1
[a.b]            # a comment with = and [
x = """
y = "not a key"
"""
"q.r" = 'its' #
z.deep = [
  1, # [nor.this]
  { inner = 2 }, "]",
]
w = { one = 1, two = { three = "}" } }
[[list]]
n = 1
["é"]
'''
    tomllib.loads(text)
    assert find_lines(text) == {
        ("top",): 2,
        ("a",): 3,
        ("a", "b"): 3,
        ("a", "b", "x"): 4,
        ("a", "b", "q.r"): 7,
        ("a", "b", "z"): 8,
        ("a", "b", "z", "deep"): 8,
        ("a", "b", "z", "deep", "inner"): 10,
        ("a", "b", "w"): 12,
        ("a", "b", "w", "one"): 12,
        ("a", "b", "w", "two"): 12,
        ("a", "b", "w", "two", "three"): 12,
        ("list",): 13,
        ("list", "n"): 14,
        ("é",): 15,
    }


SCALARS = st.sampled_from(
    [
        *("1", "-1.5e3", "true", "2024-01-01", "''", '""', '"\\"]}="', "'#'", "[]", "{}"),
        *('"""\n=\n"""', "'''\n[x]\n'''", "[1,\n[2, '=']\n]", '"""a""""', "'''b'''''"),
    ]
)
KEYS = st.sampled_from(["a", "b-1", "'c.d'", '"\\u0065"', "7", '""', "a.b", "'#'"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Return TOML-like text; the test keeps what the standard parser accepts."""
    lines = []
    for _ in range(draw(st.integers(0, 8))):
        key, value = draw(KEYS), draw(SCALARS)
        lines.append(
            draw(
                st.sampled_from(
                    [
                        f"{key} = {value}",
                        f"{key} = {{ {draw(KEYS)} = {value.replace(chr(10), '')} }}",
                        f"[ {key} ]",
                        f"[[{key}]]",
                        "# x = [",
                        "",
                    ]
                )
            )
        )
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines)


def paths_of(content: object, path: KeyPath = ()) -> Iterator[KeyPath]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield (*path, key)
            yield from paths_of(value, (*path, key))
    elif isinstance(content, list):
        for value in content:
            yield from paths_of(value, path)


@given(documents())
def test_exactly_the_keys_that_the_parser_sees_have_lines(text: str) -> None:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    lines = find_lines(text)
    assert set(lines) == set(paths_of(content))
    for path, line in lines.items():
        before = "\n".join(text.replace("\r\n", "\n").split("\n")[:line])
        # Up to that line, and not before it, the parser has the key as well.
        assert path in set(paths_of(_parse_start(before, text, line)))


def _parse_start(before: str, text: str, line: int) -> object:
    rest = text.replace("\r\n", "\n").split("\n")[line:]
    for extra in range(len(rest) + 1):  # a value may go on over the next lines
        try:
            return tomllib.loads("\n".join([before, *rest[:extra]]))
        except tomllib.TOMLDecodeError:
            continue
    raise AssertionError(text)
