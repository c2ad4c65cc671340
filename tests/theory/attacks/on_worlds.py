"""Attacks on what is said about coupled worlds, noiseless privacy and Pufferfish."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from sanql.theory.exact import float_upper, log_upper
from sanql.theory.implications.guarantees import Setting
from theory.attacks.engine import (
    Attack,
    Genome,
    Reached,
    conclude,
    delta_between,
    gamma_of,
    laws,
    level_gene,
    share_gene,
)

BITS = list(product((0, 1), repeat=2))
Joint = dict[tuple[int, int], Fraction]


def _setup(genome: Genome) -> tuple[list[list[Fraction]], list[list[Fraction]], Joint] | None:
    """Two bits, side information in {0, 1}, two outputs: rows, simulator rows, joint law."""
    rows, simulator = laws(genome[:8], 4, 2), laws(genome[8:16], 4, 2)
    joint = laws(genome[16:24], 1, 8)
    if rows is None or simulator is None or joint is None:
        return None
    cells = {(x, z): joint[0][2 * x + z] for x in range(4) for z in (0, 1)}
    return rows, simulator, cells


def _simulated(simulator: list[list[Fraction]], x: int, person: int) -> list[Fraction]:
    return simulator[2 * person + BITS[x][1 - person]]


def _conditions(
    rows: list[list[Fraction]], simulator: list[list[Fraction]], joint: Joint
) -> list[tuple[int, int, int, Fraction, list[Fraction], list[Fraction]]]:
    """(person, value, z, probability, real law, ideal law) of every condition that can happen."""
    found = []
    for person, value, z in product((0, 1), repeat=3):
        cells = [(x, joint[x, z]) for x in range(4) if BITS[x][person] == value and joint[x, z]]
        mass = sum((m for _, m in cells), Fraction(0))
        if mass:
            real = [sum(m * rows[x][t] for x, m in cells) / mass for t in (0, 1)]
            ideal = [
                sum(m * _simulated(simulator, x, person)[t] for x, m in cells) / mass
                for t in (0, 1)
            ]
            found.append((person, value, z, mass, real, ideal))
    return found


def _inference_failure(
    rows: list[list[Fraction]],
    simulator: list[list[Fraction]],
    joint: Joint,
    gamma: Fraction,
    slack: Fraction,
) -> Fraction:
    failed = Fraction(0)
    conditions = _conditions(rows, simulator, joint)
    for t, z in product((0, 1), repeat=2):
        chance = sum((joint[x, z] * rows[x][t] for x in range(4)), Fraction(0))
        if not chance:
            continue
        for person in (0, 1):
            here = [c for c in conditions if c[0] == person and c[2] == z]
            real = [c[3] * c[4][t] for c in here]
            ideal = [c[3] * c[5][t] for c in here]
            total = sum(ideal)
            if (
                not total
                or delta_between([a / sum(real) for a in real], [b / total for b in ideal], gamma)
                > slack
            ):
                failed += chance
                break
    return failed


def coupled_worlds_give_inference(genome: Genome) -> Reached | None:
    found = _setup(genome)
    if found is None:
        return None
    (rows, simulator, joint), gamma = found, level_gene(genome[24])
    delta = max(delta_between(c[4], c[5], gamma) for c in _conditions(rows, simulator, joint))
    slack = float(share_gene(genome[25])) if genome[25] % 2 else None
    setting = Setting(records=2, protections=2, delta_hat=slack)
    out = conclude("cw-thm-1", "ddp", gamma, setting, delta=delta)
    general = conclude("cw-thm-2", "coupled_worlds", gamma, setting, delta=delta)
    assert general["failure"] == out["failure"]
    top = Fraction(gamma_of(out))
    failed = _inference_failure(rows, simulator, joint, top, Fraction(out["delta_hat"]))
    return failed, out.exact("failure")


def privacy_gives_ddp_in_every_world(genome: Genome) -> Reached | None:
    found = _setup(genome)
    if found is None:
        return None
    rows, _, joint = found
    gamma = level_gene(genome[24])
    near = [(0, 1), (0, 2), (1, 3), (2, 3)]
    delta = max(delta_between(rows[x], rows[y], gamma) for x, y in near)
    inserted = [rows[BITS.index((0, v))] for v in (0, 1)] + [
        rows[BITS.index((v, 0))] for v in (0, 1)
    ]
    out = conclude("cw-dp-ddp", "approximate_dp", gamma, delta=delta)
    stated = Setting(record_protections=True)
    same = conclude("cw-ddp", "coupled_worlds", gamma, stated, delta=delta)
    assert same["delta"] == out["delta"]
    conditions = _conditions(rows, inserted, joint)
    return max(delta_between(c[4], c[5], gamma) for c in conditions), out.exact("delta")


def _noiseless(rows: list[list[Fraction]], joint: Joint, gamma: Fraction) -> Fraction:
    conditions = _conditions(rows, rows, joint)
    worst = Fraction(0)
    for a in conditions:
        for b in conditions:
            if a[0] == b[0] and a[2] == b[2]:
                worst = max(worst, delta_between(a[4], b[4], gamma))
    return worst


def close_simulations_give_noiseless_privacy(genome: Genome) -> Reached | None:
    found = _setup(genome)
    if found is None:
        return None
    rows, simulator, joint = found
    gamma, middle = level_gene(genome[24]), level_gene(genome[25])
    conditions = _conditions(rows, simulator, joint)
    delta = max(delta_between(c[4], c[5], gamma) for c in conditions)
    links = [
        delta_between(a[5], b[5], middle)
        for a in conditions
        for b in conditions
        if a[0] == b[0] and a[2] == b[2]
    ]
    setting = Setting(
        simulator_epsilon=log_upper(middle), simulator_delta=min(1.0, float_upper(max(links)))
    )
    out = conclude("cw-cor-1", "ddp", gamma, setting, delta=delta)
    secret = conclude("cw-thm-16", "coupled_worlds", gamma, setting, delta=delta)
    assert secret["delta"] == out["delta"]
    return _noiseless(rows, joint, Fraction(gamma_of(out))), out.exact("delta")


def independent_records_give_noiseless_privacy(genome: Genome) -> Reached | None:
    rows, simulator = laws(genome[:8], 4, 2), laws(genome[8:16], 4, 2)
    parts = laws(genome[16:24], 4, 2)
    side = laws(genome[24:26], 1, 2)
    if rows is None or simulator is None or parts is None or side is None:
        return None
    joint = {
        (x, z): side[0][z] * parts[2 * z][BITS[x][0]] * parts[2 * z + 1][BITS[x][1]]
        for x in range(4)
        for z in (0, 1)
    }
    gamma = level_gene(genome[26])
    delta = max(delta_between(c[4], c[5], gamma) for c in _conditions(rows, simulator, joint))
    out = conclude("cw-cor-2", "ddp", gamma, Setting(independent_records=True), delta=delta)
    return _noiseless(rows, joint, Fraction(gamma_of(out))), out.exact("delta")


def binary_secrets_are_hard_to_infer(genome: Genome) -> Reached | None:
    rows = laws(genome[:8], 2, 4)
    if rows is None:
        return None
    prior, gamma = share_gene(genome[8]), level_gene(genome[9])
    delta = delta_between(rows[0], rows[1], gamma)
    slack = float(share_gene(genome[10])) if genome[10] % 2 else None
    setting = Setting(binary_secrets=True, delta_hat=slack)
    out = conclude("cw-thm-7", "pufferfish", gamma, setting, delta=delta)
    failed = Fraction(0)
    for a, b in zip(*rows, strict=True):
        mass = prior * a + (1 - prior) * b
        if mass:
            after = prior * a / mass
            gap = delta_between([after, 1 - after], [prior, 1 - prior], Fraction(gamma_of(out)))
            failed += mass if gap > Fraction(out["delta_hat"]) else 0
    return failed, out.exact("failure")


def same_simulator_survives_processing_mixing_and_forgetting(genome: Genome) -> Reached | None:
    """Theorems 3, 4, 5: post-processing, convex combinations, less side information."""
    found = _setup(genome)
    other = laws(genome[24:32], 1, 8)
    kernel = laws(genome[32:36], 2, 2)
    if found is None or other is None or kernel is None:
        return None
    rows, simulator, joint = found
    second = {(x, z): other[0][2 * x + z] for x in range(4) for z in (0, 1)}
    gamma, share = level_gene(genome[36]), share_gene(genome[37])

    def delta(f: list[list[Fraction]], s: list[list[Fraction]], j: Joint) -> Fraction:
        return max(delta_between(c[4], c[5], gamma) for c in _conditions(f, s, j))

    allowed = max(delta(rows, simulator, joint), delta(rows, simulator, second))

    def processed(table: list[list[Fraction]]) -> list[list[Fraction]]:
        return [[sum(row[t] * kernel[t][u] for t in (0, 1)) for u in (0, 1)] for row in table]

    mixed = {cell: share * joint[cell] + (1 - share) * second[cell] for cell in joint}
    forgotten: Joint = {(x, z): Fraction(0) for x in range(4) for z in (0, 1)}
    for (x, z), mass in mixed.items():
        for less in (0, 1):
            forgotten[x, less] += mass * kernel[z][less]
    reached = max(
        delta(processed(rows), processed(simulator), joint),
        delta(rows, simulator, mixed),
        delta(rows, simulator, forgotten),
    )
    return reached, allowed


ATTACKS = [
    Attack(("cw-thm-1", "cw-thm-2"), 26, coupled_worlds_give_inference, 2_000, rows=8, row=2),
    Attack(("cw-dp-ddp", "cw-ddp"), 25, privacy_gives_ddp_in_every_world, 3_000, rows=4, row=2),
    Attack(
        ("cw-cor-1", "cw-thm-16"),
        26,
        close_simulations_give_noiseless_privacy,
        1_500,
        rows=8,
        row=2,
    ),
    Attack(("cw-cor-2",), 27, independent_records_give_noiseless_privacy, 2_000, rows=8, row=2),
    Attack(("cw-thm-7",), 11, binary_secrets_are_hard_to_infer, rows=2, row=4),
    Attack(
        ("theorems 3, 4, 5",),
        38,
        same_simulator_survives_processing_mixing_and_forgetting,
        1_000,
        rows=8,
        row=2,
    ),
]
