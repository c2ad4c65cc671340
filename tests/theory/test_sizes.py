"""Numbers of any size are read, computed with, quoted and written, or refused by name."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sanql.cli.theory import theory
from sanql.theory import constants, divergences, exact
from sanql.theory.channel_file import parse_channel
from sanql.theory.check import Levels, check
from sanql.theory.distributions import Distribution
from sanql.theory.errors import TheoryError
from sanql.theory.implications import Setting, parse

TINY = Fraction(1, 10**400)
RARE = Distribution.over([TINY, 1 - TINY])
EVEN = Distribution.over(["1/2", "1/2"])


@pytest.mark.parametrize(
    "text",
    ["1e3000000 ", "1e3_000_000", "1e99999999999999999999", "1e-3000000", "1" * 1001, "1/0", "٣"],
)
def test_a_text_of_a_few_bytes_cannot_name_a_number_that_fills_the_memory(text: str) -> None:
    for read in (exact.as_fraction, exact.as_probability, exact.as_positive):
        with pytest.raises(TheoryError) as caught:
            read(text, "mass")
        assert caught.value.code == "not_a_number"
        assert len(caught.value.message) < 200


def test_blanks_and_leading_zeros_do_not_change_a_number() -> None:
    assert exact.as_fraction(" 1e-0400 ", "mass") == TINY == exact.as_fraction("1E-400", "mass")
    assert exact.as_fraction(Decimal("1e-400"), "mass") == TINY


@pytest.mark.parametrize(
    "door",
    [
        lambda n: exact.as_probability(n, "mass"),
        lambda n: exact.as_level(-n),
        lambda n: exact.as_count(n, "records"),
        lambda n: exact.as_fraction([n], "mass"),  # type: ignore[arg-type]
        lambda n: Distribution.over([n]),
        lambda n: Distribution.over([-n]),
        lambda n: Distribution.over([Fraction(1, n), "1/2"]),
        lambda n: Setting(records=n),
        lambda n: constants.check_level(2, delta=Fraction(n)),
        lambda n: divergences.renyi_moment(EVEN, EVEN, n),
    ],
)
def test_a_number_too_long_to_write_is_refused_by_its_length(door: Callable[[int], object]) -> None:
    with pytest.raises(TheoryError) as caught:
        door(10**5000)
    assert len(caught.value.message) < 200


def test_every_digit_is_written_however_many_there_are() -> None:
    long = 7**9000
    told = exact.written(Fraction(-long, 3))
    assert told.startswith("-") and told.endswith("/3")
    with localcontext(prec=8000):
        assert Decimal(told[1:-2]) == Decimal(7) ** 9000


def check_file(path: Path, text: str) -> tuple[int, str]:
    path.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(theory, ["check", str(path), "--format", "json"])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


@pytest.mark.parametrize("number", ["9" * 5000, "1e99999999999999999999", "1e-3000000", "0e99999"])
def test_a_file_with_an_endless_number_is_refused(tmp_path: Path, number: str) -> None:
    code, output = check_file(tmp_path / "c.json", f'{{"databases": {{"0": [{number}, 1]}}}}')
    assert code == 2
    assert json.loads(output)["error"]["code"] == "not_a_number"


@pytest.mark.slow
@pytest.mark.parametrize("digits", [330, 4400])
def test_findings_whose_numbers_have_hundreds_of_digits_are_written(digits: int) -> None:
    share = Fraction(1, 10**digits)
    rare, even = [share, 1 - share], ["1/2", "1/2"]
    one = ({"0": rare, "1": even}, [{"0": share, "1": 1 - share}])
    two = ({"0,0": rare, "0,1": even, "1,0": even[::-1], "1,1": rare[::-1]}, [{"0,0": 1}])
    for rows, worlds in (one,) if digits > 1000 else (one, two):
        given = parse_channel({"databases": rows, "worlds": worlds})
        found, _ = check(given, Levels(nodes=2))
        for finding in found:
            json.dumps(finding.to_dict())
            assert len(finding.shown_parameters()) < 200
        assert found[0]["gamma"] == 1 / (2 * share)
        assert f"e^epsilon = 10^{digits}" in found[0].shown_parameters()
        assert found[0].epsilon == pytest.approx(digits * math.log(10) - math.log(2))


def test_divergences_of_masses_below_the_floats_are_numbers() -> None:
    loss = 400 * math.log(10) - math.log(2)
    assert divergences.kl_divergence(RARE, EVEN) == pytest.approx(math.log(2))
    # half of the mass lies where the ratio is 10^400/2
    assert divergences.kl_divergence(EVEN, RARE) == pytest.approx((loss - math.log(2)) / 2)
    for order in (2, 3, "3/2", 10_000):
        above = float(Fraction(order) - 1)
        found = divergences.renyi_divergence(EVEN, RARE, order)
        assert found == pytest.approx(loss - math.log(2) / above)
    near = divergences.renyi_divergence(EVEN, RARE, 1 + TINY)
    assert near == divergences.kl_divergence(EVEN, RARE)


@given(st.integers(1, 99), st.integers(1, 99), st.integers(2, 30))
def test_the_renyi_divergence_is_the_logarithm_of_the_exact_moment(a: int, b: int, n: int) -> None:
    p, q = (Distribution.over([Fraction(k, 100), 1 - Fraction(k, 100)]) for k in (a, b))
    moment = divergences.renyi_moment(p, q, n)
    with localcontext(prec=80):
        true = (Decimal(moment.numerator) / Decimal(moment.denominator)).ln() / (n - 1)
    assert divergences.renyi_divergence(p, q, n) == pytest.approx(float(true), rel=1e-12, abs=1e-15)


def test_a_moment_of_millions_of_digits_is_refused() -> None:
    with pytest.raises(TheoryError, match="millions of digits"):
        divergences.renyi_moment(EVEN, RARE, 10_000)


@pytest.mark.parametrize(
    "text",
    [
        "pure_dp(epsilon=2, epsilon=1)",
        "pure_dp(epsilon=" + "9" * 5000 + ")",
        "pure_dp(epsilon=" + "-" * 100_000 + "1)",
        "pure_dp(epsilon=1)" * 10_000,
    ],
    ids=["twice", "long", "nested", "many"],
)
def test_a_guarantee_that_is_endless_or_says_a_thing_twice_is_unreadable(text: str) -> None:
    with pytest.raises(TheoryError) as caught:
        parse(text)
    assert caught.value.code == "unreadable_guarantee"
    assert len(caught.value.message) < 100


@given(st.floats(1e-300, 700))
def test_powers_of_e_are_rounded_to_the_side_they_name(epsilon: float) -> None:
    with localcontext(prec=60):
        true = Decimal(epsilon).exp()
        assert Decimal(exact.exp_lower(epsilon)) <= true <= Decimal(exact.exp_upper(epsilon))
        assert exact.exp_upper(epsilon) <= exact.exp_lower(epsilon) * (1 + 1e-14)
    assert exact.exp_lower(epsilon) >= 1


@given(st.fractions(min_value=Fraction(1, 10**30)), st.integers(-400, 400))
def test_logarithms_and_floats_are_rounded_to_the_side_they_name(
    share: Fraction, digits: int
) -> None:
    number = share * Fraction(10) ** digits
    with localcontext(prec=80):
        true = (Decimal(number.numerator) / Decimal(number.denominator)).ln()
        assert Decimal(exact.log_lower(number)) <= true <= Decimal(exact.log_upper(number))
    low, high = exact.float_lower(number), exact.float_upper(number)
    assert low <= number <= high
    assert low == high or math.nextafter(low, math.inf) == high


def test_a_third_lies_strictly_between_its_two_floats() -> None:
    third, tenth = Fraction(1, 3), Fraction(1, 10)
    assert Fraction(exact.float_lower(third)) < third < Fraction(exact.float_upper(third))
    assert Fraction(exact.float_lower(tenth)) < tenth < Fraction(exact.float_upper(tenth))
    assert exact.float_upper(TINY) > 0 == exact.float_lower(TINY)
