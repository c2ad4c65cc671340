"""What the sources say beside their theorems, as numbers, each against its definition by brute force."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from itertools import product

import pytest
from click.testing import CliRunner

from sanql.cli.theory import theory
from sanql.theory.attackers import low_bits
from sanql.theory.channels import Channel, exact_statistic, from_function, randomised_response
from sanql.theory.crowd import crowd_blending, sampled_histogram, smallest_cells
from sanql.theory.definitions.dp import pure_dp
from sanql.theory.definitions.predicates import order_of_quantifiers
from sanql.theory.definitions.semantic import game_posterior
from sanql.theory.distributions import Distribution
from sanql.theory.divergences import indistinguishability_delta
from sanql.theory.errors import TheoryError
from sanql.theory.examples import EXAMPLES
from sanql.theory.harm import allowed_harm, denial, hardest_denial, harm_of
from sanql.theory.inverse_transform import laplace_from_uniform
from sanql.theory.leakage import leakage, min_entropy, shannon_entropy
from sanql.theory.metrics import METRICS, implied_gamma, largest_f_divergence, largest_move
from sanql.theory.neighbours import change_one
from sanql.theory.two_laws import variational

BITS = list(product((0, 1), repeat=2))


def a_law(rng: random.Random, size: int, *, zeros: bool = True) -> Distribution:
    weights = [
        rng.choice([0, 1, 2, 9, 10**6]) if zeros else rng.randint(1, 99) for _ in range(size)
    ]
    weights[rng.randrange(size)] += 1
    return Distribution.from_weights(dict(enumerate(weights)))


def a_channel(rng: random.Random, databases: list[tuple[int, ...]], size: int = 3) -> Channel:
    return Channel.of({x: a_law(rng, size) for x in databases})


def moved(name: str, prior: list[float], likelihood: list[float]) -> float:
    """Return the divergence of posterior and prior by its definition, in floats."""
    mean = sum(p * v for p, v in zip(prior, likelihood, strict=True))
    pairs = [(p, p * v / mean) for p, v in zip(prior, likelihood, strict=True) if p]
    if name == "statistical-difference":
        return sum(abs(b - a) for a, b in pairs) / 2
    if name == "hellinger":
        return 1 - sum(math.sqrt(a * b) for a, b in pairs)
    if name.startswith("kl"):
        return sum((b if name == "kl" else -a) * math.log(b / a) for a, b in pairs)
    if name.startswith("chi"):
        return sum((a - b) ** 2 / (a if name == "chi-squared" else b) for a, b in pairs)
    order = float(name.removeprefix("renyi-"))
    return math.log(sum(a * (b / a) ** order for a, b in pairs)) / (order - 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_no_prior_moves_further_in_any_metric_and_one_moves_as_far(name: str) -> None:
    rng = random.Random(name)
    for attempt in range(1500):
        ratio = Fraction(1) + Fraction(
            rng.choice([1, 7, 50, 10**3, 10**6]), rng.choice([1, 10, 100])
        )
        size = rng.randint(2, 4)
        likelihood = [1.0, float(ratio), *(rng.uniform(1, float(ratio)) for _ in range(size - 2))]
        weights = [rng.random() ** rng.choice([1, 20]) for _ in range(size)]
        prior = [weight / sum(weights) for weight in weights]
        most = largest_move(METRICS[name], ratio)
        assert moved(name, prior, likelihood) <= most * (1 + 1e-9) + 1e-12
        if attempt % 500 == 0:
            masses = [math.exp(-k / 40) for k in range(1, 1200)]
            assert max(moved(name, [1 - a, a], likelihood[:2]) for a in masses) >= 0.99 * most


def test_a_ratio_hardly_above_one_is_not_lost_in_rounding() -> None:
    for power in (3, 9, 15, 40, 200):
        small = Fraction(1, 10**power)
        for name, share in (("kl", 8), ("kl-of-prior", 8), ("chi-squared", 4), ("renyi-2", 4)):
            found = Fraction(largest_move(METRICS[name], 1 + small))
            assert found == pytest.approx(float(small**2 / share), rel=3 * float(small) + 1e-12)
        exact = small**2 / (4 * (1 + small))
        assert exact <= Fraction(largest_move(METRICS["chi-squared"], 1 + small))


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_a_bound_in_a_metric_implies_the_ratio_it_comes_from(name: str) -> None:
    for ratio in (Fraction(10**9 + 1, 10**9), Fraction(11, 10), Fraction(3), Fraction(10**5)):
        bound = largest_move(METRICS[name], ratio)
        assert (
            ratio
            <= Fraction(implied_gamma(METRICS[name], bound))
            <= ratio * (1 + Fraction(1, 10**6))
        )
        even = moved(name, [0.5, 0.5], [1.0, float(ratio)])
        if ratio > 1.01:
            remark = implied_gamma(METRICS[name], even * (1 + 1e-9), even=True)
            assert float(ratio) <= remark
            assert implied_gamma(METRICS[name], even, even=False) <= remark * (1 + 1e-6)
    assert implied_gamma(METRICS["statistical-difference"], "1/2", even=True) == math.inf
    assert implied_gamma(METRICS["hellinger"], 1) == math.inf
    assert implied_gamma(METRICS["statistical-difference"], "1/10") == pytest.approx((11 / 9) ** 2)


def test_branch_and_bound_encloses_the_named_metrics() -> None:
    for ratio in (2, 9, "101/100"):
        exact = Fraction(ratio)
        for f, name in (
            (lambda u: abs(u - 1) / 2, "statistical-difference"),
            (lambda u: (u - 1) ** 2, "chi-squared"),
            (lambda u: (u - 1) ** 2 / u, "chi-squared-of-prior"),
        ):
            low, high = largest_f_divergence(f, ratio, steps=200)  # type: ignore[arg-type]
            assert low <= largest_move(METRICS[name], exact)
            assert high >= largest_move(METRICS[name], exact) * (1 - 1e-12)
            assert high <= low * 1.05


@pytest.mark.slow
def test_no_mechanism_of_a_level_harms_more_than_it_allows_and_one_harms_as_much() -> None:
    rng = random.Random(1)
    for _ in range(300):
        channel = a_channel(rng, BITS)
        near = change_one(BITS)
        gamma = rng.choice([Fraction(1), Fraction(3, 2), Fraction(9)])
        delta = max(
            indistinguishability_delta(channel.row(x), channel.row(y), gamma) for x, y in near.pairs
        )
        for event in ([0], [0, 2], [1]):
            chances = {x: channel.row(x).probability(event) for x in BITS}
            done = harm_of(channel, near, event)
            rise = max(abs(chances[y] - chances[x]) for x, y in near.pairs)
            assert done.harm.largest - done.harm.baseline == rise
            for x, y in near.pairs:
                for before, after in ((x, y), (y, x)):
                    allowed = allowed_harm(chances[before], gamma, delta)
                    assert allowed.least <= chances[after] <= allowed.largest
    for baseline, gamma, delta in (("1/10", 2, 0), ("3/4", 2, 0), ("1/10", 3, "1/20"), (0, 5, 0)):
        allowed = allowed_harm(baseline, gamma, delta)
        for chance in (allowed.least, allowed.largest):
            p, q = (Distribution.over([c, 1 - c]) for c in (Fraction(baseline), chance))
            assert indistinguishability_delta(p, q, Fraction(gamma)) <= Fraction(delta)


@pytest.mark.slow
def test_the_hardest_denial_has_the_odds_of_the_level_and_the_belief_is_by_bayes() -> None:
    rng = random.Random(2)
    for _ in range(1000):
        channel = a_channel(rng, BITS)
        near = change_one(BITS)
        worst = hardest_denial(channel, near)
        assert worst.odds == pure_dp(channel, near)["gamma"]
        prior = Fraction(rng.randint(1, 9), 10)
        truth, claim = rng.sample(BITS, 2)
        found = denial(channel, truth, claim)
        kept = [
            prior
            * channel.row(claim)[t]
            / (prior * channel.row(claim)[t] + (1 - prior) * channel.row(truth)[t])
            for t in channel.row(truth).support
        ]
        assert found.believed(prior) == min(kept)
        assert found.refuted == channel.row(truth).probability(
            t for t in channel.outputs if channel.row(claim)[t] == 0
        )


def test_a_program_leaks_nothing_exactly_when_it_does_not_interfere() -> None:
    rng = random.Random(3)
    states = list(product((0, 1), (0, 1, 2)))
    silent = 0
    for _ in range(1000):
        table = {s: rng.choice([s[0], 0, rng.randrange(2)]) for s in states}
        found = leakage(exact_statistic(states, table.__getitem__), low=[1])
        same = all(table[low, 0] == table[low, high] for low in (0, 1) for high in (1, 2))
        assert (found.noninterference.note == "holds") == same == (found.guesses_upper == 1)
        most = max(len({table[low, high] for high in range(3)}) for low in (0, 1))
        assert found.guesses_upper == most
        assert found.bits_upper >= math.log2(most)
        silent += same
    assert 20 < silent < 980


def test_no_prior_makes_a_guess_better_by_more_than_the_leakage() -> None:
    rng = random.Random(4)
    for _ in range(500):
        channel = a_channel(rng, [(v,) for v in range(3)])
        most = leakage(channel).guesses_upper
        for prior in (Distribution.uniform(range(3)), a_law(rng, 3)):
            after = sum(
                max(prior[v] * channel.row((v,))[t] for v in range(3)) for t in channel.outputs
            )
            gain = after / max(prior.masses)
            assert gain <= most
            assert gain == most or prior.masses != (Fraction(1, 3),) * 3
    with pytest.raises(TheoryError, match="every variable is low"):
        leakage(channel, low=[1])


def test_min_entropy_is_to_shannons_what_max_divergence_is_to_kl() -> None:
    rng = random.Random(5)
    for _ in range(500):
        law, even = a_law(rng, 4), Distribution.uniform(range(4))
        told = variational(law, even, Fraction(1))
        assert math.log(4) - shannon_entropy(law) == pytest.approx(told.kl, abs=1e-12)
        assert math.log(4) - min_entropy(law) == pytest.approx(math.log(told.max_gamma))
        assert min_entropy(law) <= shannon_entropy(law) + 1e-15


@pytest.mark.slow
def test_no_event_and_no_function_exceeds_the_variational_forms() -> None:
    rng = random.Random(6)
    for _ in range(1000):
        p, q = a_law(rng, 3), a_law(rng, 3)
        gamma = Fraction(rng.randint(1, 30), 10)
        told = variational(p, q, gamma)
        events = [[t for t in range(3) if place >> t & 1] for place in range(8)]
        gains = [p.probability(e) - gamma * q.probability(e) for e in events]
        assert told.hockey_stick == max(gains)
        assert told.statistical_difference == max(
            p.probability(e) - q.probability(e) for e in events
        )
        f = [rng.uniform(-5, 5) for _ in range(3)]
        gain = sum(float(p[t]) * f[t] for t in range(3)) - math.log(
            sum(float(q[t]) * math.exp(f[t]) for t in range(3))
        )
        assert gain <= told.kl + 1e-12


@pytest.mark.slow
def test_one_predicate_fails_no_more_often_than_all_at_once_and_both_are_by_definition() -> None:
    rng = random.Random(7)
    apart = 0
    for _ in range(40):
        channel, tau = a_channel(rng, BITS), rng.choice([Fraction(1, 10), Fraction(1, 3)])
        belief = Distribution.from_weights({x: rng.choice([1, 2, 50]) for x in BITS})
        told = order_of_quantifiers(channel, belief, tau, 0)
        law, worst = channel.output_of(belief), Fraction(0)
        for place in range(16):
            holds = [x for k, x in enumerate(BITS) if place >> k & 1]
            failure = Fraction(0)
            for t in law.support:
                games = [game_posterior(channel, belief, t, game, 0) for game in range(3)]
                assert games[0] is not None
                failure += law[t] * any(
                    game is None or abs(games[0].probability(holds) - game.probability(holds)) > tau
                    for game in games[1:]
                )
            worst = max(worst, failure)
        assert told.one_predicate == worst <= told.all_predicates
        apart += told.one_predicate < told.all_predicates
    assert apart > 0


def test_a_truncated_histogram_blends_with_as_many_as_its_smallest_cell() -> None:
    known = [x for size in range(5) for x in product("ab", repeat=size)]
    for smallest in (1, 2, 3):
        cells = exact_statistic(
            known,
            lambda x, k=smallest: tuple(n if (n := x.count(v)) >= k else 0 for v in "ab"),  # type: ignore[misc]
        )
        assert crowd_blending(cells, 1).size == smallest
    assert crowd_blending(exact_statistic(known, lambda _: 0), 1).size is None
    with pytest.raises(TheoryError, match="without record"):
        crowd_blending(randomised_response(2, odds=3), 1)


def test_crowds_are_by_definition_on_random_mechanisms() -> None:
    rng = random.Random(8)
    known = [x for size in range(4) for x in product((0, 1), repeat=size)]
    for _ in range(80):
        rows = [a_law(rng, 2, zeros=False), a_law(rng, 2, zeros=False)]
        rule = rng.choice([lambda x: sum(x) > 1, lambda x: len(x) > 2, lambda x: (*x, 0)[0]])
        channel = from_function(known, lambda x, r=rows, f=rule: r[int(f(x))])  # type: ignore[misc]
        gamma = Fraction(rng.choice([1, 2, 5]))

        def near(
            x: tuple[int, ...], y: tuple[int, ...], c: Channel = channel, g: Fraction = gamma
        ) -> bool:
            return indistinguishability_delta(c.row(x), c.row(y), g) == 0

        exchange = all(
            near(x, (*x[:i], 1 - x[i], *x[i + 1 :])) for x in known for i in range(len(x))
        )
        sizes = [
            len(x) if exchange else x.count(x[i])
            for x in known
            for i in range(len(x))
            if not near(x, (*x[:i], *x[i + 1 :]))
        ]
        assert crowd_blending(channel, gamma).size == min(sizes, default=None)


def test_sampled_histograms_are_enumerated_person_by_person() -> None:
    for people, rate, smallest, gamma in (
        (5, Fraction(1, 3), 2, Fraction(3, 2)),
        (6, Fraction(9, 10), 3, Fraction(2)),
        (4, Fraction(1, 10), 1, Fraction(1)),
        (3, Fraction(1), 2, Fraction(4)),
    ):
        told = sampled_histogram(people, rate, smallest, gamma)
        population, sample = [], []
        for others in range(people):
            laws: list[dict[int, Fraction]] = [{}, {}, {}]
            for included in product((0, 1), repeat=others + 1):
                mass = math.prod((rate if one else 1 - rate for one in included), start=Fraction(1))
                for law, count in zip(laws, (sum(included[1:]), sum(included)), strict=False):
                    shown = count if count >= smallest else 0
                    law[shown] = law.get(shown, Fraction(0)) + mass
                shown = 1 + sum(included[1:])
                shown = shown if shown >= smallest else 0
                laws[2][shown] = laws[2].get(shown, Fraction(0)) + mass
            without, within, used = map(Distribution.of, laws)
            population.append(indistinguishability_delta(without, within, gamma))
            sample.append(indistinguishability_delta(without, used, gamma))
        assert (told.population, told.sample) == (max(population), max(sample))
        assert told.population == population[told.population_at]
        assert told.sample == sample[told.sample_at]


def test_the_smallest_cells_are_the_least_that_pass() -> None:
    hidden, known = smallest_cells(30, "1/5", 2, "1/100")
    assert hidden is not None
    assert known is not None
    assert hidden < known
    for which, k in (("population", hidden), ("sample", known)):
        assert getattr(sampled_histogram(30, "1/5", k, 2), which) <= Fraction(1, 100)
        assert getattr(sampled_histogram(30, "1/5", k - 1, 2), which) > Fraction(1, 100)
    assert smallest_cells(3, 1, 2, 0)[1] is None


def test_low_bits_are_found_as_the_sets_of_answers_say() -> None:
    for bits, scale, centre in ((8, 1.0, 0), (10, 2.0, 3), (12, 0.1, -7)):
        reached = {
            centre + laplace_from_uniform(step / 2**bits, scale).noise for step in range(2**bits)
        }
        others = {
            centre + 1 + laplace_from_uniform(step / 2**bits, scale).noise
            for step in range(2**bits)
        }
        for answer in reached | others:
            assert low_bits.possible(answer, centre, bits, scale) == (answer in reached)


def test_low_bits_give_answers_away_at_every_scale() -> None:
    for epsilon in ("1/10", 1, 5):
        exact = low_bits.low_bits(0, 1, epsilon, bits=12)
        assert exact.real > Fraction(9, 10)  # type: ignore[operator]
        assert exact.details["delta at the epsilon it is meant to have"] >= exact.real  # type: ignore[operator]
        # 300 answers of which half and more are told: at most a tenth has probability below 1e-40
        drawn = low_bits.low_bits(0, 1, epsilon, trials=300)
        assert drawn.real > Fraction(1, 10)  # type: ignore[operator]
        assert drawn.ideal == 0
    assert low_bits.low_bits(5, 5, 1, bits=10).real == 0
    assert low_bits.low_bits(5, 5, 1, trials=300).real == 0
    with pytest.raises(TheoryError):
        low_bits.low_bits(0, 1, 0)


def test_the_procedure_of_the_lecture_has_the_laplace_law_in_real_numbers() -> None:
    for scale in (0.5, 2.0):
        for uniform in (0.001, 0.25, 0.5, 0.6, 0.999):
            noise = laplace_from_uniform(uniform, scale).noise
            below = math.exp(noise / scale) / 2 if noise < 0 else 1 - math.exp(-noise / scale) / 2
            assert below == pytest.approx(uniform, rel=1e-12)


def test_each_example_of_the_command_is_what_the_sources_say_of_it() -> None:
    half = Fraction(1, 2)
    told = {}
    for name in EXAMPLES:
        asked = ["example", name, "--people", "3", "--chance", "1/2", "--width", "3"]
        done = CliRunner().invoke(theory, [*asked, "--format", "json"])
        told[name] = next(iter(json.loads(done.output).values()))
    near = "statistical difference of neighbours"
    apart = "of any two databases (Vadhan, case 1: at most 3 times that)"
    for numbers in told.values():
        assert Fraction(numbers[apart]) <= 3 * Fraction(numbers[near])
    assert Fraction(told["first-row"][near]) == Fraction(told["first-row"][apart]) == half
    assert Fraction(told["random-row"][near]) == Fraction(told["named-row"][near]) == half / 3
    assert Fraction(told["uniform-noise"][near]) == Fraction(1, 7)
    assert [n for n in told if told[n]["perfect privacy"] == "holds"] == ["constant"]
    assert [n for n in told if told[n]["epsilon at delta 0"] != "infinite"] == ["constant"]
