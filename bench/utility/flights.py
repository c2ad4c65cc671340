"""A year of flights from New York, always the same: 4,043 planes, some with hundreds of rows.

A look-alike of the public `nycflights13` table: as many flights, planes, airlines and destinations, each
plane on some of its airline's routes and in some months only, with delays that depend on airline,
month and hour. Where SANQL_FLIGHTS_CSV names the real file, its rows are taken instead.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.utility.timetable import (
    AIRLINES,
    AIRPORTS,
    FLIGHTS,
    HOURS,
    LATE_BY_MONTH,
    MONTHS,
    ORIGINS,
    PLANES,
)

REAL = "SANQL_FLIGHTS_CSV"
SEED = 2013
NO_PLANE = 2_512  # flights without a tail number, all of them cancelled
CANCELLED = 8_255
DIVERTED = 1_175
COLUMNS = (
    "month, day, hour, carrier, tailnum, origin, dest, dep_delay, arr_delay, air_time, distance"
)
DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


def write_flights(folder: Path) -> None:
    """Write `flights.parquet` and the public `airlines.parquet` into a folder."""
    named = pa.table(
        {"carrier": list(AIRLINES), "name": [airline.name for airline in AIRLINES.values()]}
    )
    with duckdb.connect() as connection:
        connection.register("named", named)
        connection.execute(f"COPY (FROM named) TO '{folder / 'airlines.parquet'}'")
        made = _real() or "made"
        if made == "made":
            connection.register("made", make_flights())
        connection.execute(f"COPY (SELECT {COLUMNS} FROM {made}) TO '{folder / 'flights.parquet'}'")


def _real() -> str | None:
    """Return how the real table is read, where there is one."""
    path = os.environ.get(REAL)
    return path and f"read_csv('{path}', nullstr = ['NA', ''])"


def make_flights() -> pa.Table:
    """Return the look-alike."""
    random = np.random.default_rng(SEED)
    airline, dest = _routes(random)
    month = random.permutation(np.repeat(np.arange(12), MONTHS))
    day = 1 + np.floor(random.random(FLIGHTS) * np.array(DAYS)[month]).astype(np.int64)
    hour = _draw(random, np.array(list(HOURS.values())), FLIGHTS) + min(HOURS)
    origin = _origins(random, airline, dest)
    plane = _planes(random, airline, dest, month)
    departed, arrived = _delays(random, airline, month, hour)
    cancelled, diverted = _missing(random, airline, month)
    unknown = random.choice(np.flatnonzero(cancelled), NO_PLANE, replace=False)
    _see_every_plane(plane, np.setdiff1d(np.arange(FLIGHTS), unknown))
    nobody = np.zeros(FLIGHTS, dtype=bool)
    nobody[unknown] = True
    miles = np.array([airport.miles for airport in AIRPORTS.values()])[dest]
    miles = np.maximum(17, miles + np.array([-12, 6, 0])[origin])
    in_air = np.maximum(20, np.round(18 + miles / 7.9 + random.normal(0, 9, FLIGHTS))).astype(int)
    return pa.table(
        {
            "month": month + 1,
            "day": day,
            "hour": hour,
            "carrier": pa.array(np.array(list(AIRLINES))[airline]),
            "tailnum": pa.array(np.char.add("N", (plane + 10_000).astype(str)), mask=nobody),
            "origin": pa.array(np.array(ORIGINS)[origin]),
            "dest": pa.array(np.array(list(AIRPORTS))[dest]),
            "dep_delay": pa.array(departed, mask=cancelled),
            "arr_delay": pa.array(arrived, mask=cancelled | diverted),
            "air_time": pa.array(in_air, mask=cancelled | diverted),
            "distance": miles,
        }
    )


def _routes(random: np.random.Generator) -> tuple[Ints, Ints]:
    """Return airline and destination of every flight: totals of both fitted to each other."""
    names = list(AIRLINES)
    wanted = np.array([airport.flights for airport in AIRPORTS.values()], dtype=float)
    of_airlines = np.array([each.flights for each in AIRLINES.values()], dtype=float)
    table = np.zeros((len(names), len(wanted)))
    for column, airport in enumerate(AIRPORTS.values()):
        for place, name in enumerate(airport.airlines):
            table[names.index(name), column] = AIRLINES[name].flights / (1 + place)
    for _ in range(200):
        table *= (of_airlines / table.sum(axis=1))[:, None]
        table *= wanted / table.sum(axis=0)
    airline, dest = [], []
    for column, count in enumerate(wanted.astype(int)):
        ends = np.round(np.cumsum(table[:, column]) / table[:, column].sum() * count).astype(int)
        airline.append(np.repeat(np.arange(len(names)), np.diff(ends, prepend=0)))
        dest.append(np.full(count, column))
    mixed = random.permutation(FLIGHTS)
    return np.concatenate(airline)[mixed], np.concatenate(dest)[mixed]


def _origins(random: np.random.Generator, airline: Ints, dest: Ints) -> Ints:
    shares = np.array([each.origins for each in AIRLINES.values()], dtype=float)
    steps = np.cumsum(shares / shares.sum(axis=1)[:, None], axis=1)
    origin = np.minimum((random.random(FLIGHTS)[:, None] > steps[airline]).sum(axis=1), 2)
    to_itself = np.array([ORIGINS.index(code) if code in ORIGINS else -1 for code in AIRPORTS])
    return np.where(origin == to_itself[dest], 0, origin)


def _planes(random: np.random.Generator, airline: Ints, dest: Ints, month: Ints) -> Ints:
    """Return the plane of every flight: skewed sizes, some routes each, and months of service."""
    plane = np.zeros(FLIGHTS, dtype=np.int64)
    first = 0
    for number, each in enumerate(AIRLINES.values()):
        busy = each.flights > 200 * each.planes  # a small fleet that flies all the time
        size = 4.0 * busy + random.beta(1.2, 1.2, each.planes)
        liked = random.lognormal(0, 0.4, (each.planes, len(AIRPORTS)))
        liked *= random.random(liked.shape) < 0.55
        begins = random.integers(0, 12, each.planes)
        months = np.where(random.random(each.planes) < 0.6, 12, random.integers(5, 11, each.planes))
        flown = np.flatnonzero(airline == number)
        slot = dest[flown] * 12 + month[flown]
        order = np.argsort(slot, kind="stable")
        bounds = np.searchsorted(slot[order], np.arange(len(AIRPORTS) * 12 + 1))
        for key in np.unique(slot):
            there = flown[order[bounds[key] : bounds[key + 1]]]
            serving = (key % 12 - begins) % 12 < months
            weights = size * liked[:, key // 12] * serving
            weights = weights if weights.sum() else size
            plane[there] = first + _draw(random, weights, len(there))
        first += each.planes
    return plane


def _see_every_plane(plane: Ints, known: Ints) -> None:
    """Give each plane without a flight one of that plane of its airline that has most of them."""
    counts = np.bincount(plane[known], minlength=PLANES)
    ends = np.cumsum([each.planes for each in AIRLINES.values()])
    for missing in np.flatnonzero(counts == 0):
        end = int(ends[np.searchsorted(ends, missing, side="right")])
        begin = int(max((each for each in ends if each < end), default=0))
        most = begin + int(np.argmax(counts[begin:end]))
        moved = known[np.argmax(plane[known] == most)]
        plane[moved] = missing
        counts[most] -= 1
        counts[missing] += 1


def _delays(
    random: np.random.Generator, airline: Ints, month: Ints, hour: Ints
) -> tuple[Ints, Ints]:
    usual = np.array([each.delay for each in AIRLINES.values()])
    late = (usual + 4.6) / 44.3
    chance = late[airline] * np.array(LATE_BY_MONTH)[month] * (0.42 + 0.074 * (hour - 5))
    is_late = random.random(FLIGHTS) < np.clip(chance, 0.05, 0.9)
    delay = 1 + random.lognormal(2.9, 1.22, FLIGHTS)
    early = -random.gamma(2.2, 2.1, FLIGHTS)
    departed = np.round(np.clip(np.where(is_late, delay, early), -40, 1300)).astype(np.int64)
    arrived = departed + np.round(random.normal(-5.7, 17, FLIGHTS)).astype(np.int64)
    return departed, np.clip(arrived, -86, 1300)


def _missing(
    random: np.random.Generator, airline: Ints, month: Ints
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which flights were cancelled, and which landed elsewhere."""
    usual = np.array([each.delay for each in AIRLINES.values()])[airline]
    weights = usual * np.where(month == 1, 2.5, 1.0)
    chosen = random.choice(FLIGHTS, CANCELLED + DIVERTED, replace=False, p=weights / weights.sum())
    cancelled, diverted = np.zeros(FLIGHTS, dtype=bool), np.zeros(FLIGHTS, dtype=bool)
    cancelled[chosen[:CANCELLED]] = True
    diverted[chosen[CANCELLED:]] = True
    return cancelled, diverted


def _draw(random: np.random.Generator, weights: NDArray[Any], count: int) -> Ints:
    steps = np.cumsum(weights) / np.sum(weights)
    return np.minimum(np.searchsorted(steps, random.random(count), side="right"), len(weights) - 1)
