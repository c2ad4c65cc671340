"""The rows of the three shapes: few, the same every time, with what real data have.

There are missing values, rows that are alike, both ends of every bound, and rows of nobody: without
a unit, or with a foreign key that leads to none. `remove_rows_of_nobody` is for the oracle, because
San does not count them; otherwise the oracle reads the very same rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

import duckdb

Table = tuple[str, list[tuple[Any, ...]]]
Tables = dict[str, Table]

# What says whose a row is and must be there: the unit's own column, or a foreign key to the row that
# says it (column, table, its column).
OWNERS: Mapping[str, Mapping[str, tuple[str, str, str] | str]] = {
    "hospital": {
        "people": "person_id",
        "visits": "person_id",
        "diagnoses": ("visit_id", "visits", "visit_id"),
    },
    "retail": {
        "customers": "customer_id",
        "orders": "customer_id",
        "items": ("order_id", "orders", "order_id"),
    },
    "census": {"dwellings": "household_id", "members": "household_id"},
}


def fill(connection: duckdb.DuckDBPyConnection, shape: str) -> None:
    """Create the tables of a shape."""
    for name, (columns, rows) in SHAPES[shape]().items():
        connection.execute(f"CREATE TABLE {name} ({columns})")
        kinds = [column.split(" ")[1] for column in columns.split(", ")]
        listed = ", ".join(f"unnest(?::{kind}[])" for kind in kinds)
        values = [list(column) for column in zip(*rows, strict=True)]
        connection.execute(f"INSERT INTO {name} SELECT {listed}", values)


def remove_rows_of_nobody(connection: duckdb.DuckDBPyConnection, shape: str) -> None:
    """Remove the rows that lead to no unit, parents first."""
    for table, owner in OWNERS[shape].items():
        if isinstance(owner, str):
            connection.execute(f"DELETE FROM {table} WHERE {owner} IS NULL")
        else:
            column, parent, key = owner
            connection.execute(
                f"DELETE FROM {table} WHERE {column} IS NULL "
                f"OR {column} NOT IN (SELECT {key} FROM {parent})"
            )


def _maybe(rng: random.Random, value: Any, missing: float = 0.06) -> Any:
    return None if rng.random() < missing else value


def hospital() -> Tables:
    """Return people, visits, diagnoses, wards and cities."""
    rng = random.Random(1)
    wards = [
        ("cardiology", 2, 30, "medical"),
        ("surgery", 3, 40, "surgical"),
        ("emergency", 0, 25, "medical"),
        ("maternity", 1, 20, "medical"),
        ("oncology", 4, 0, "medical"),
        ("archive", 9, 0, None),
    ]
    cities = [
        ("Rome", "centre", 2800000),
        ("Oslo", "north", 700000),
        ("Bergen", "north", 290000),
        ("Milan", "south", 1400000),
        ("Ghost Town", "north", 0),
    ]
    names = ["Ada Berg", "bo Li", "Cy O'Neil", "Dora  Ek", "Åsa Öst", "Eve", " Finn Ray "]
    people = []
    for number in range(1, 121):
        person = number
        name = rng.choice(names)
        height = rng.choice([40.0, 220.0, *(round(rng.uniform(140, 200), 1) for _ in range(8))])
        people.append(
            (
                person,
                _maybe(rng, name),
                _maybe(rng, f"user{number % 40}@{rng.choice(['mail.example', 'post.test'])}", 0.1),
                rng.choice(["F", "F", "M", "M", "X", None]),
                rng.choice(["Rome", "Rome", "Oslo", "Bergen", "Milan", None]),
                _maybe(rng, rng.choice(["A+", "A-", "B+", "0+"])),
                rng.choice(
                    [
                        date(1920, 1, 1),
                        date(2024, 12, 31),
                        date(1988, 2, 29),
                        None,
                        *(date(1930 + rng.randrange(90), rng.randint(1, 12), 15) for _ in range(6)),
                    ]
                ),
                _maybe(rng, height),
                _maybe(rng, rng.choice([2.0, 200.0, 70.5, 82.25, 64.125, 91.75])),
                _maybe(rng, rng.choice([0.0, 200000.0, 31250.5, 48000.25, 72500.75, 18999.99])),
                rng.choice([True, False, False, None]),
            )
        )
    people += [(None, "No One", None, "F", "Rome", "A+", None, 170.0, 70.5, 1.0, True)] * 2
    visits: list[tuple[Any, ...]] = []
    diagnoses: list[tuple[Any, ...]] = []
    doctors = ["Dr. Ahl", "Dr. Bek", "dr. ahl", "Dr. Cruz"]
    notes = ["stable", "Stable.", "fever 39.5", "code:A1|done", "", "needs follow-up; 2 weeks"]
    for person in range(1, 121):
        for _ in range(rng.choice([0, 0, 1, 1, 2, 3, 5])):
            visit = 1000 + len(visits)
            arrived = datetime(2023, 1, 1) + timedelta(
                days=rng.randrange(730), minutes=rng.randrange(1440)
            )
            arrived = rng.choice([arrived] * 9 + [datetime(2024, 12, 31, 23, 59, 59)])
            stay = timedelta(hours=rng.choice([1, 5, 26, 49, 120]))
            visits.append(
                (
                    visit,
                    person,
                    rng.choice(
                        ["cardiology", "surgery", "emergency", "emergency", "maternity", None]
                    ),
                    _maybe(rng, rng.choice(doctors)),
                    _maybe(rng, arrived, 0.04),
                    _maybe(rng, arrived + stay, 0.15),
                    _maybe(rng, rng.choice([0.0, 10000.0, 120.5, 480.25, 999.99, 2500.0])),
                    _maybe(rng, rng.randint(1, 5)),
                    rng.choice([True, False, None]),
                    _maybe(rng, rng.choice(notes)),
                )
            )
            for _ in range(rng.choice([0, 1, 1, 2, 3])):
                diagnoses.append(
                    (
                        visit,
                        _maybe(rng, rng.choice(["I10.0", "I10.9", "E11.2", "J45.0", "O80"])),
                        rng.choice([True, False]),
                        _maybe(rng, rng.choice([-10, -3, 0, 2, 7, 10])),
                        _maybe(rng, arrived.date() + timedelta(days=rng.randrange(20)), 0.1),
                    )
                )
    visits += [(9001, None, "surgery", "Dr. Bek", None, None, 10.0, 1, True, "lost")]
    visits += [(9002, 7777, "surgery", "Dr. Bek", None, None, 10.0, 1, True, "unknown person")]
    diagnoses += [(None, "I10.0", True, 1, None), (8888, "I10.0", True, 1, None)]
    diagnoses += [(9001, "I10.0", True, 1, None), (9002, "E11.2", True, 1, None)]
    return {
        "people": (
            "person_id BIGINT, name VARCHAR, email VARCHAR, sex VARCHAR, city VARCHAR, "
            "blood VARCHAR, born DATE, height DECIMAL(5,1), weight DOUBLE, income DECIMAL(10,2), "
            "smoker BOOLEAN",
            people,
        ),
        "visits": (
            "visit_id BIGINT, person_id BIGINT, ward VARCHAR, doctor VARCHAR, arrived TIMESTAMP, "
            "discharged TIMESTAMP, cost DECIMAL(10,2), severity INTEGER, urgent BOOLEAN, "
            "notes VARCHAR",
            visits,
        ),
        "diagnoses": (
            "visit_id BIGINT, code VARCHAR, main BOOLEAN, score INTEGER, noted DATE",
            diagnoses,
        ),
        "wards": ("ward VARCHAR, floor INTEGER, beds INTEGER, kind VARCHAR", list(wards)),
        "cities": ("city VARCHAR, region VARCHAR, population BIGINT", list(cities)),
    }


def retail() -> Tables:
    """Return customers, orders, items, products and stores."""
    rng = random.Random(2)
    products: list[tuple[Any, ...]] = [
        ("TV-100", "electronics", "Sonic", 499.99, 12000),
        ("TV-200", "electronics", "Sonic", 500.0, 15000),
        ("PH-1", "electronics", "Bell", 199.5, 180),
        ("CH-7", "furniture", "Oak", 89.9, 7000),
        ("DE-9", "furniture", "Oak", 250.0, 20000),
        ("PEN", "office", None, 1.25, 12),
        ("PAPER", "office", "Leaf", 4.5, 2500),
        ("GONE", "office", "Leaf", 0.0, 0),
    ]
    stores: list[tuple[Any, ...]] = [
        ("north-1", "north", date(2005, 5, 1)),
        ("north-2", "north", date(2019, 1, 15)),
        ("south-1", "south", date(2000, 1, 1)),
        ("online", "nowhere", date(2012, 12, 12)),
        ("closed", "south", None),
    ]
    customers: list[tuple[Any, ...]] = []
    for number in range(1, 101):
        customers.append(
            (
                number,
                _maybe(rng, rng.choice(["IT", "NO", "DE", "de"])),
                rng.choice(["consumer", "consumer", "corporate", "home office", None]),
                _maybe(rng, date(2020, 1, 1) + timedelta(days=rng.randrange(1827))),
                _maybe(rng, rng.choice([18, 90, 33, 45, 27, 61])),
                rng.choice([True, False, None]),
                _maybe(
                    rng, f"+{rng.choice(['39', '47', '49'])}-{number:03d}-{number * 37 % 1000:04d}"
                ),
            )
        )
    customers.append((None, "IT", "consumer", None, 20, True, None))
    orders: list[tuple[Any, ...]] = []
    items: list[tuple[Any, ...]] = []
    for customer in range(1, 101):
        for _ in range(rng.choice([0, 0, 1, 1, 2, 3, 6])):
            order = f"o-{len(orders) + 1}"
            ordered = date(2023, 1, 1) + timedelta(days=rng.randrange(731))
            orders.append(
                (
                    order,
                    customer,
                    rng.choice(["north-1", "north-2", "south-1", "online", "online", None]),
                    _maybe(rng, ordered, 0.03),
                    _maybe(rng, ordered + timedelta(days=rng.choice([0, 1, 2, 5, 30])), 0.12),
                    rng.choice(["web", "web", "shop", "phone", None]),
                    rng.choice(["delivered", "delivered", "returned", "lost", None]),
                    _maybe(rng, rng.choice([0.0, 50.0, 4.99, 12.5])),
                    rng.choice([None, None, "SAVE10", "save10", "WELCOME-2024", "VIP_5"]),
                )
            )
            for _ in range(rng.choice([0, 1, 2, 2, 4])):
                sku, _, _, listed, _ = rng.choice(products[:-1])
                items.append(
                    (
                        order,
                        _maybe(rng, sku, 0.04),
                        _maybe(rng, rng.choice([1, 1, 2, 3, 10])),
                        _maybe(rng, rng.choice([listed, round(listed * 0.9, 2), 0.0])),
                        _maybe(rng, rng.choice([0.0, 0.125, 0.25, 0.5])),
                        rng.choice([True, False, False, None]),
                    )
                )
    orders += [("o-lost", 9999, "online", None, None, "web", "lost", 1.0, None)]
    items += [("o-lost", "PEN", 1, 1.0, 0.0, False), (None, "PEN", 1, 1.0, 0.0, False)]
    return {
        "customers": (
            "customer_id BIGINT, country VARCHAR, segment VARCHAR, joined DATE, age INTEGER, "
            "newsletter BOOLEAN, phone VARCHAR",
            customers,
        ),
        "orders": (
            "order_id VARCHAR, customer_id BIGINT, store VARCHAR, ordered DATE, shipped DATE, "
            "channel VARCHAR, status VARCHAR, shipping DECIMAL(8,2), coupon VARCHAR",
            orders,
        ),
        "items": (
            "order_id VARCHAR, sku VARCHAR, quantity INTEGER, price DECIMAL(8,2), "
            "discount DOUBLE, returned BOOLEAN",
            items,
        ),
        "products": (
            "sku VARCHAR, category VARCHAR, brand VARCHAR, list_price DECIMAL(8,2), "
            "weight_grams INTEGER",
            products,
        ),
        "stores": ("store VARCHAR, region VARCHAR, opened DATE", stores),
    }


def census() -> Tables:
    """Return persons, dwellings, members and regions."""
    rng = random.Random(3)
    regions: list[tuple[Any, ...]] = [
        (1, "Lazio", "Italy", 17232.0),
        (2, "Veneto", "Italy", 18345.0),
        (3, "Oslo", "Norway", 454.0),
        (4, "Vestland", "Norway", 33870.9),
        (99, "Nowhere", None, 0.0),
    ]
    persons: list[tuple[Any, ...]] = []
    for _ in range(260):
        age = rng.choice([0, 110, *(rng.randrange(1, 95) for _ in range(10))])
        persons.append(
            (
                _maybe(rng, age),
                rng.choice(["F", "M", "F", "M", None]),
                rng.choice([1, 1, 2, 3, 4, None]),
                rng.choice(["none", "school", "school", "college", "university", None]),
                _maybe(
                    rng, rng.choice(["nurse", "Nurse", "teacher", "farm worker", "clerk (bank)"])
                ),
                _maybe(rng, rng.choice([0.0, 300000.0, 21000.5, 35500.0, 52000.75, 88000.0])),
                _maybe(rng, rng.choice([0, 100, 20, 38, 40])),
                _maybe(rng, rng.choice([0.0, 240.0, 12.5, 33.75, 61.125])),
                rng.choice([True, False, None]),
                _maybe(
                    rng, date(1915 + rng.randrange(110), rng.randint(1, 12), rng.randint(1, 28))
                ),
                _maybe(
                    rng,
                    datetime(2024, 3, 1)
                    + timedelta(days=rng.randrange(91), seconds=rng.randrange(86400)),
                ),
                _maybe(
                    rng, rng.choice(["Rome, Italy", "Oslo, Norway", "Łódź, Poland", "rome, italy"])
                ),
            )
        )
    dwellings: list[tuple[Any, ...]] = []
    members: list[tuple[Any, ...]] = []
    for number in range(1, 91):
        dwellings.append(
            (
                f"h{number}",
                rng.choice([1, 2, 3, 4, None]),
                _maybe(rng, rng.choice([1, 12, 2, 3, 4, 5])),
                _maybe(rng, rng.choice([0.0, 5000.0, 640.5, 980.0, 1200.25]), 0.2),
                rng.choice([True, False, None]),
                _maybe(rng, rng.choice([1800, 2024, 1955, 1968, 1990, 2003])),
                rng.choice(["gas", "oil", "heat pump", None]),
            )
        )
        for place in range(rng.choice([1, 1, 2, 3, 4, 6])):
            role = ["head", "partner", "child", "child", "other", None][place]
            age = rng.randrange(0, 18) if role == "child" else rng.choice([110, 25, 41, 67, 80])
            members.append(
                (
                    f"h{number}",
                    role,
                    _maybe(rng, age),
                    rng.choice(["F", "M", None]),
                    None if role == "child" else rng.choice([0.0, 200000.0, 27000.5, 41000.0]),
                    rng.choice(["primary", "High", None]) if role == "child" else None,
                    _maybe(rng, date(1950 + rng.randrange(75), rng.randint(1, 12), 28)),
                )
            )
    dwellings.append((None, 1, 3, 700.0, True, 1990, "gas"))
    members.append((None, "head", 40, "F", 100.0, None, None))
    return {
        "persons": (
            "age INTEGER, sex VARCHAR, region_code INTEGER, education VARCHAR, "
            "occupation VARCHAR, income DECIMAL(10,2), hours INTEGER, commute DOUBLE, "
            "married BOOLEAN, born DATE, interviewed TIMESTAMP, birthplace VARCHAR",
            persons,
        ),
        "dwellings": (
            "household_id VARCHAR, region_code INTEGER, rooms INTEGER, rent DECIMAL(8,2), "
            "owned BOOLEAN, built INTEGER, heating VARCHAR",
            dwellings,
        ),
        "members": (
            "household_id VARCHAR, role VARCHAR, age INTEGER, sex VARCHAR, wage DECIMAL(10,2), "
            "school VARCHAR, moved_in DATE",
            members,
        ),
        "regions": ("code INTEGER, region VARCHAR, country VARCHAR, area DECIMAL(10,1)", regions),
    }


SHAPES: Mapping[str, Callable[[], Tables]] = {
    "hospital": hospital,
    "retail": retail,
    "census": census,
}
