"""Cells from two executors beside those of this machine, by the thousand.

`make soak-spark`, or `PYTHONPATH=.. python -m spark.comparing --generated 1000` in tests/. Every question
of the fixtures, TPC-H, and so many generated ones are sent to a cluster and to the engine of one machine;
each cell must be the same to the bit. While every tenth is asked, an executor is killed at some moment.
A world in which no layout can be (an order of two people) is drawn anew. With `--record FILE` it goes on
from where it was ended; the page is of all that the record has.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

from bench.tpch.__main__ import HERE as TPCH
from bench.tpch.__main__ import generate, questions

from privacy.additivity import Violation, check_same
from privacy.examination import ask
from privacy.kernel import write_database
from privacy.stages import STAGES
from questions.asking import Shape, open_shape
from questions.cases import Case, cases
from questions.test_in_parts import levels
from sanql.catalog import PreparedSource
from sanql.compile import compile_plan
from sanql.engines import Pool, engine_of, open_engine, prepare
from sanql.engines.spark import server as spark_server
from sanql.errors import PolicyError, Refused, SanqlError
from sanql.kernel import Statement
from sanql.kernel.buckets import own_versions
from sanql.plan.level import Level
from sanql.policy import Policy, load
from sanql.policy.model import Neighbours
from spark.campaign import Found, Record, all_found, note_found, table
from spark.conftest import executors, kill_an_executor
from support.on_buckets import on_spark, spread

SECRET = 7
BUCKETS = 4
KILLED = 10  # in every so many questions
AT_ONCE = 3  # questions that are asked side by side
AT_A_TIME = 40  # of the fixtures, before what came of them is written down
QUESTIONS_PER_WORLD = 50
GENERATED = "generated: "
LARGE = 0.35  # of the worlds
ORDERS: tuple[Neighbours, ...] = ("add-remove", "change-one")
NOBODYS = {"q02", "q03", "q10", "q11", "q16", "q18"}  # of public tables, or of individuals
Pair = tuple[PreparedSource, Pool]
Sent = Sequence[tuple[Level, Statement]] | str
Asks = Callable[[PreparedSource], Sent]


class Comparison:
    """One session of Spark, and everything that is compared on it."""

    def __init__(self, master: str, seed: int, until: float, record: Record) -> None:
        self.record = record
        self._found = Found()  # of the part that is compared
        self._master, self._until = master, until
        self._chance = random.Random(f"kills {seed} {len(record.parts)}")
        self._counting, self._asked = threading.Lock(), self.compared()

    @property
    def late(self) -> bool:
        """Whether no more is to be asked."""
        return time.monotonic() > self._until

    def compared(self, beginning: str = "") -> int:
        """Return how many questions have been, of places that begin so."""
        known = all_found(self.record).compared
        return sum(number for place, number in known.items() if place.startswith(beginning))

    def run(self, part: str, compare: Callable[[], object]) -> None:
        """Compare a part that is not on record, and put it there; not one for which it was too late."""
        if part in self.record.parts or self.late:
            return
        self._found, began = Found(), time.monotonic()
        compare()
        found = self._found
        found.seconds = time.monotonic() - began
        found.kernels[own_versions().kernel] += found.compared.total()
        if found.wrong or not self.late:
            note_found(self.record, part, found)
            print(f"{part}: {self.compared()} questions, {found.seconds:.0f} s", flush=True)

    def fixtures(self, name: str) -> None:
        """Compare all questions of a shape, some at a time."""
        asked = [case for case in cases(refused=False) if case.shape == name]
        parts = {
            f"{name} from {n}": asked[n : n + AT_A_TIME] for n in range(0, len(asked), AT_A_TIME)
        }
        if self.late or parts.keys() <= self.record.parts.keys():
            return
        with tempfile.TemporaryDirectory() as folder:
            shape = open_shape(name, Path(folder))
            here = replace(shape.san.session.data.open().source, parts=1)  # before there is a copy
            there = self._on_cluster(shape.policy, Path(folder) / "layout")
            for part, some in parts.items():
                self.run(
                    part, partial(self._compare_cases, shape, some, (here, shape.engine), there)
                )
            there[1].close()
            shape.close()

    def _compare_cases(self, shape: Shape, some: list[Case], here: Pair, there: Pair) -> None:
        self._compare_all(
            (
                f"tests/questions/{case.shape}",
                case.sql,
                partial(_compiled, levels(shape, case)),
                here,
                there,
            )
            for case in some
        )

    def tpch(self) -> None:
        """Compare the questions of TPC-H."""
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            generate(folder / "data", "0.01")
            text = (TPCH / "policy.toml").read_text(encoding="utf-8")
            (folder / "policy.toml").write_text(text.replace('memory = "8GB"', 'memory = "1GB"'))
            policy = load(folder / "policy.toml")
            here, there = _here(policy), self._on_cluster(policy, folder / "layout")
            self._compare_all(
                ("TPC-H, scale 0.01", sql, partial(_asked, sql, policy, None), here, there)
                for name, sql in questions().items()
                if name not in NOBODYS
            )
            here[1].close()
            there[1].close()

    def world(self, seed: int, number: int) -> None:
        """Compare so many generated questions over a world that is drawn, if it can be in buckets."""
        rng = random.Random(f"spark {seed}")
        # every other world as if there were many buckets: parts are added up in two steps
        spark_server._BUCKETS_MERGED_AT_ONCE = 2 if seed % 2 else BUCKETS
        stage = STAGES[seed % len(STAGES)]
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            policy = stage.policy(folder, rng.choice(ORDERS), rng)
            large = rng.random() < LARGE
            split = stage.draw(rng, large)
            write_database(policy.ledger.parent / str(policy.source), stage.schema, split.whole)
            here = _here(policy)
            try:
                there = self._on_cluster(policy, folder / "layout")
            except PolicyError:
                self._found.refused["a world that can be in no buckets"] += 1
                return
            asks, done = stage.asks(rng), 0
            place = f"{GENERATED}{stage.name}, {'large' if large else 'small'}"
            while done < number and not self.late:
                drawn = [(asks(), rng.choice([None, None, 1, 2])) for _ in range(number - done)]
                done += self._compare_all(
                    (place, sql, partial(_asked, sql, policy, groups), here, there)
                    for sql, groups in drawn
                )
            here[1].close()
            there[1].close()

    def _on_cluster(self, policy: Policy, folder: Path) -> Pair:
        own = on_spark(policy, folder, self._master)
        own = replace(own, engine=replace(own.engine, deadline_seconds=600, workers=AT_ONCE))
        source = spread(own, BUCKETS)
        return source, Pool(source, own.engine, engine_of(own.engine))

    def _compare_all(self, asked: Iterable[tuple[str, str, Asks, Pair, Pair]]) -> int:
        """Compare the cells of questions, a few at a time; return how many had any."""
        with ThreadPoolExecutor(AT_ONCE) as several:
            return sum(several.map(lambda each: self._compare(*each), list(asked)))

    def _compare(self, place: str, sql: str, asked: Asks, here: Pair, there: Pair) -> bool:
        """Compare the cells of a question; return whether it has any that buckets can have."""
        if self.late:
            return False
        try:
            one, other = asked(here[0]), asked(there[0])
            expected = [] if isinstance(one, str) else [here[1].run(sent) for _, sent in one]
        except SanqlError as fault:
            self._leave_out(f"one machine: {fault.code}")
            return False
        if isinstance(one, str) or isinstance(other, str):
            self._leave_out(str(other if isinstance(other, str) else one))
            return False
        killing = self._kill_meanwhile() if other else None
        cells, wrong = 0, []
        for (level, sent), cells_here in zip(other, expected, strict=True):
            try:
                got = there[1].run(sent)
                check_same(level, cells_here, got)
                cells += got.num_rows * got.num_columns
            except (Violation, SanqlError) as fault:
                wrong.append(f"{place}: {sql}\n{fault}")
                print("WRONG", wrong[-1], flush=True)
        if killing is not None:
            killing.join()
        with self._counting:
            found = self._found
            found.levels += len(other)
            found.cells += cells
            found.wrong += wrong
            found.compared[place] += bool(other)
        return bool(other)

    def _leave_out(self, why: str) -> None:
        with self._counting:
            self._found.refused[why] += 1

    def _kill_meanwhile(self) -> threading.Thread | None:
        with self._counting:
            self._asked += 1
            if self._asked % KILLED or not executors():
                return None

        def kill() -> None:
            with suppress(ProcessLookupError):
                kill_an_executor(self._chance.randrange(2))
                with self._counting:
                    self._found.kills += 1

        killing = threading.Timer(self._chance.uniform(0, 0.8), kill)
        killing.start()
        return killing


def _here(policy: Policy) -> Pair:
    engine = open_engine("in_process")
    source = replace(prepare(policy, engine=engine), parts=1)
    return source, Pool(source, policy.engine, engine)


def _compiled(planned: Sequence[Level], source: PreparedSource) -> Sent:
    """Return levels as they are sent, or in a word why they are not."""
    try:
        return [(level, compile_plan(level, source, SECRET)) for level in planned]
    except Refused as refused:
        return refused.code


def _asked(sql: str, policy: Policy, groups: int | None, source: PreparedSource) -> Sent:
    """Return a question as it is sent, or in a word why it is not."""
    asked = ask(sql, policy, source, groups, SECRET)
    if isinstance(asked, str):
        return asked
    return asked.large or list(asked.levels)


def main() -> int:
    """Compare, and write down what came of it; the exit code is 1 where a cell differs."""
    read = argparse.ArgumentParser()
    read.add_argument("--generated", type=int, default=1000)
    read.add_argument("--master", default="local-cluster[2,1,1024]")
    read.add_argument("--seed", type=int, default=18)
    read.add_argument("--minutes", type=float, default=120)
    read.add_argument("--record", type=Path, help="goes on from what is there")
    read.add_argument("--summary", type=Path)
    given = read.parse_args()
    until = time.monotonic() + 60 * given.minutes
    comparison = Comparison(given.master, given.seed, until, Record(given.record))
    comparison.run("TPC-H", comparison.tpch)
    for name in ("retail", "census", "hospital"):
        comparison.fixtures(name)
    for seed in count(given.seed):
        left = given.generated - comparison.compared(GENERATED)
        if left <= 0 or comparison.late:
            break
        some = min(left, QUESTIONS_PER_WORLD)
        comparison.run(f"world {seed}", partial(comparison.world, seed, some))
    found = all_found(comparison.record)
    text = summary(found, given.master)
    print(text)
    if given.summary is not None:
        given.summary.write_text(text, encoding="utf-8")
    return 1 if found.wrong else 0


def summary(found: Found, master: str) -> str:
    """Return the page of a comparison."""
    lines = [
        "# Cells from executors beside those of one machine",
        "",
        "Written by `python -m spark.comparing` in tests/: the same statements through "
        f"`{master}` and through the engine of one machine, over {BUCKETS} buckets.",
        "",
        f"- **{found.compared.total():,} questions**, {found.levels:,} statements, "
        f"{found.cells:,} cells compared to the bit",
        f"- **{found.kills:,} executors killed**, one while every tenth question was asked",
        f"- **{len(found.wrong)} differences**",
        f"- {found.seconds / 60:.0f} minutes",
        "",
        *table("questions of", found.compared),
        "",
        *table("left out", found.refused),
        "",
        *table("with the kernel", found.kernels),
        "",
        *(f"```\n{each}\n```" for each in found.wrong[:20]),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    sys.exit(main())
