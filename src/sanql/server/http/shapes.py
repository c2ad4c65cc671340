"""The shapes of what is sent and received, as JSON Schema: all that can be said of each without data."""

from __future__ import annotations

from typing import Any

Shape = dict[str, Any]

TEXT: Shape = {"type": "string"}
COUNT: Shape = {"type": "integer", "minimum": 0}
PLACE: Shape = {"type": "integer", "minimum": 0, "maximum": 10**15}
SWITCH: Shape = {"type": "boolean"}
OBJECT: Shape = {"type": "object"}
REAL: Shape = {"type": "number"}
NUMBER: Shape = {"type": ["number", "string"], "examples": [0.1]}
"""A number that is typed: exact as JSON, or as text."""


def listed(items: Shape) -> Shape:
    """Return the shape of a list of things of one shape."""
    return {"type": "array", "items": items}


def shaped(_optional: tuple[str, ...] = (), **properties: Shape) -> Shape:
    """Return the shape of an object that has some properties, and may have more."""
    needed = [name for name in properties if name not in _optional]
    return {"type": "object", "required": needed, "properties": properties}


def closed(_needed: tuple[str, ...] = (), **properties: Shape) -> Shape:
    """Return the shape of an object that is sent, and has nothing but what is known.

    What is not needed may be null, which is as if it were not there.
    """
    return {
        "type": "object",
        "required": [*_needed],
        "additionalProperties": False,
        "properties": {
            name: shape if name in _needed else _or_null(shape)
            for name, shape in properties.items()
        },
    }


def _or_null(shape: Shape) -> Shape:
    if "anyOf" in shape:
        return shape | {"anyOf": [*shape["anyOf"], {"type": "null"}]}
    kinds = shape["type"] if isinstance(shape["type"], list) else [shape["type"]]
    return shape | {"type": [*kinds, "null"]}


def ref(name: str) -> Shape:
    """Return the shape that is described under a name."""
    return {"$ref": f"#/components/schemas/{name}"}


_PRICE = shaped(epsilon=REAL, delta=REAL)
_EXACTLY = shaped(epsilon=REAL, delta=REAL, epsilon_exact=TEXT, delta_exact=TEXT)
_REMAINING = shaped(epsilon=REAL, delta=REAL, accounts=OBJECT)
PROBLEM_SHAPE = shaped(
    ("nearest", "fill_in", "place"),
    type=TEXT,
    title=TEXT,
    status={"type": "integer", "minimum": 400, "maximum": 599},
    detail={"type": "string", "description": "What, the value typed, the rule."},
    code={"type": "string", "description": "Stable; docs/refusals.md lists them."},
    kind={"enum": ["refused", "budget", "unavailable", "ledger", "policy", "people", "server"]},
    remedy=TEXT,
    nearest={"type": "string", "description": "A question that would be answered."},
    fill_in=TEXT,
    place=shaped(line=COUNT, column=COUNT),
)
ANSWER = shaped(
    columns=listed(shaped(name=TEXT, type=TEXT)),
    rows=listed({"type": "array"}),
    intervals={
        "type": "object",
        "additionalProperties": listed(listed({"type": ["number", "null"]})),
    },
    confidence=REAL,
    noise=OBJECT,
    charge=_PRICE,
    remaining=_REMAINING,
    certificate=OBJECT,
    cached=SWITCH,
    version=COUNT,
    footer=listed(TEXT),
    dataset=TEXT,
)
STATE = shaped(
    ("answer", "error"),
    id=TEXT,
    dataset=TEXT,
    status={"enum": ["queued", "running", "answered", "failed", "cancelled"]},
    progress=TEXT,
    answer={"anyOf": [ref("Answer"), ref("Batch")]},
    error=ref("Problem"),
)
EXPLANATION = shaped(
    ("charge", "certificate"),
    charge=_PRICE,
    remaining=_REMAINING,
    fits=SWITCH,
    cached=SWITCH,
    certificate=OBJECT,
    text=TEXT,
    dataset=TEXT,
)
BATCH = shaped(answers=listed(ref("Answer")), dataset=TEXT)
BATCH_EXPLANATION = shaped(
    charge=_PRICE,
    remaining=_REMAINING,
    fits=SWITCH,
    cached=SWITCH,
    questions=listed(shaped(sql=TEXT, measured=TEXT, expected=listed(OBJECT))),
    gain=REAL,
    text=TEXT,
    dataset=TEXT,
)
_COUNTED = shaped(up_to=listed(COUNT), units=listed({"type": "integer"}), noise=TEXT)
_BY_COLUMN: Shape = {"type": "object", "additionalProperties": _COUNTED}
PROFILES = shaped(
    ("charge",),
    dataset=TEXT,
    charge=_PRICE,
    profiles=listed(
        shaped(
            table=TEXT,
            version=COUNT,
            time=TEXT,
            epsilon=REAL,
            rows={"anyOf": [_COUNTED, {"type": "null"}]},
            groups=_BY_COLUMN,
            norms=_BY_COLUMN,
            sizes=OBJECT,
            ranges=OBJECT,
            text=TEXT,
        )
    ),
)
SUGGESTION = shaped(
    table=TEXT,
    by={"type": ["string", "null"]},
    limits=OBJECT,
    charge=_PRICE,
    cached=SWITCH,
    toml=TEXT,
    text=TEXT,
    dataset=TEXT,
)
DATASETS = shaped(
    person=TEXT,
    datasets=listed(shaped(name=TEXT, role={"enum": ["analyst", "owner", "officer"]})),
)
SCHEMA = shaped(
    dataset=TEXT,
    neighbours=TEXT,
    tables=listed(
        shaped(
            name=TEXT,
            public=SWITCH,
            privacy_unit=TEXT,
            limits={"type": "object", "additionalProperties": COUNT},
            columns=listed(shaped(name=TEXT, type=TEXT)),
        )
    ),
)
_OF_SOME_ACCOUNTS = (
    "protects",
    "open_epsilon",
    "open_epsilon_exact",
    "tranche_epsilon_exact",
    "per",
)
BUDGET = shaped(
    dataset=TEXT,
    accounts=listed(
        shaped(
            _OF_SOME_ACCOUNTS,
            account=TEXT,
            kind={"enum": ["dataset", "analyst", "coalition"]},
            protects=TEXT,
            open_epsilon={"type": "number"},
            open_epsilon_exact=TEXT,
            tranche_epsilon_exact=TEXT,
            per=TEXT,
            budget=_EXACTLY,
            spent_upper=_EXACTLY,
            remaining_lower=_EXACTLY,
            reserved=COUNT,
        )
    ),
)
HISTORY = shaped(
    dataset=TEXT,
    questions=listed(
        shaped(
            id=COUNT,
            time=TEXT,
            sql={"type": ["string", "null"]},
            parameters={"description": "Values passed with it; erased along with its text."},
            price=_EXACTLY,
            outcome=TEXT,
        )
    ),
)
_OR_NOT: Shape = {"type": ["string", "null"]}
_LISTED_QUESTION = shaped(
    analyst=TEXT,
    time=TEXT,
    door=_OR_NOT,
    price=_EXACTLY,
    outcome={"enum": ["answered", "open", "void"]},
    reason=_OR_NOT,
    exact=SWITCH,
    purpose=TEXT,
    sql={"type": ["string", "null"], "description": "What was typed, unless it was erased."},
    erased=SWITCH,
)
RECORDS = shaped(
    dataset=TEXT,
    records=listed(
        shaped(
            ("question",),
            sequence=COUNT,
            kind=TEXT,
            body=OBJECT,
            hash=TEXT,
            previous=TEXT,
            question=_LISTED_QUESTION,
        )
    ),
)
VERIFICATION = shaped(
    dataset=TEXT,
    sound=SWITCH,
    records=COUNT,
    accounts=listed(shaped(kind=TEXT, name=TEXT, charges=COUNT, epsilon=REAL, delta=REAL)),
)
ERASED = shaped(dataset=TEXT, erased=listed(COUNT), recorded=SWITCH, left=TEXT)
VERSION = shaped(dataset=TEXT, version=COUNT)
RELOADED = shaped(policies={"type": "object", "additionalProperties": TEXT})
STATUS = shaped(status=TEXT)

PARAMETER: Shape = {
    "description": "Dates, timestamps and decimals are objects that say so.",
    "anyOf": [
        {"type": ["null", "boolean", "integer", "number", "string"]},
        closed(("date",), date={"type": "string", "format": "date"}),
        closed(("timestamp",), timestamp={"type": "string", "format": "date-time"}),
        closed(
            ("decimal",),
            decimal={
                "type": "string",
                "pattern": r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$",
                "maxLength": 100,
            },
        ),
    ],
}
OPTION_SHAPES: dict[str, Shape] = {
    "accuracy": {
        "type": ["number", "string", "object"],
        "additionalProperties": NUMBER,
        "examples": ["2% of 10000"],
    },
    "max_groups_contributed": {"type": "integer", "minimum": 1, "maximum": 9_999_999},
    "max_rows_contributed": {"type": "integer", "minimum": 1, "maximum": 9_999_999},
    "max_values_contributed": {"type": "integer", "minimum": 1, "maximum": 9_999_999},
    "min_privacy_units_per_group": {"type": "integer", "minimum": 1, "maximum": 9_999_999},
    "stage_weights": {"type": "string", "minLength": 1, "maxLength": 1000, "examples": ["1:3"]},
    "other": {"type": "string", "minLength": 1, "maxLength": 100},
}
SUGGEST = closed(
    ("table",), table=TEXT, by=TEXT, epsilon=NUMBER, typical_epsilon=NUMBER, dataset=TEXT
)
PROFILE = closed(
    ("epsilon",), tables=listed(TEXT), columns=listed(TEXT), epsilon=NUMBER, dataset=TEXT
)
ERASE = closed(dataset=TEXT, numbers=listed(PLACE), analyst=TEXT, before=TEXT)
REFRESH = closed(dataset=TEXT)
NOTHING = closed()
