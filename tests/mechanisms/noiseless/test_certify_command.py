"""`sanql certify`, run as a command."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from sanql.cli.certify_plots import certificates_against_truth
from sanql.cli.main import main
from sanql.mechanisms.noiseless import MapAdversary, delta_at
from support.volume import few_of

pytestmark = pytest.mark.slow


def run(arguments: str) -> tuple[int, dict[str, object]]:
    done = CliRunner().invoke(main, ["certify", *arguments.split(), "--format", "json"])
    return done.exit_code, json.loads(done.output)


@pytest.mark.parametrize(
    ("arguments", "epsilon"),
    [
        ("sum --records 1000 --eta 0.25 --delta 1e-6", 0.305),
        ("sum --records 1000 --eta 0.25 --known 900 --delta 1e-6", 1.145),
        ("mean --records 1000 --lower 1 --upper 5 --mass 0.05 --delta 1e-6", 0.360),
        ("mean --records 10000 --lower 0 --upper 100 --last 74 --mass 0.01 --delta 1e-6", 0.0967),
        ("count --records 1000 --beta 0.1 --delta 1e-6", 0.487),
    ],
)
def test_epsilon_at_a_delta(arguments: str, epsilon: float) -> None:
    code, told = run(arguments)
    assert code == 0
    assert {"epsilon", "delta", "class", "theorem", "assumptions"} <= set(told)
    assert told["epsilon"] == pytest.approx(epsilon, rel=0.01)
    assert float(str(told["delta"])) <= 1e-6


def test_delta_at_an_epsilon_smallest_and_largest() -> None:
    told = run("sum --records 100 --eta 0.5 --epsilon 0.5")[1]
    assert told["delta"] == pytest.approx(1.413942e-4, rel=1e-6)
    least = run("sum --smallest-records --eta 0.25 --epsilon 0.5 --delta 1e-6")[1]["records"]
    most = run("sum --records 1000 --largest-known --eta 0.25 --epsilon 0.5 --delta 1e-6")[1]
    assert 1000 - int(str(most["known"])) == least
    told = run("histogram --rate 0.5 --smallest-threshold --epsilon 1 --delta 1e-6")[1]
    assert told["threshold"] == 60
    told = run("map --law 0.9,0.1 --law 0.1,0.9 --records 10 --epsilon 0")[1]
    assert told["delta"] == pytest.approx(0.0014880348)
    told = run("sum --records 1000 --eta 0.25 --epsilon 0.4 --noiseless")[1]
    assert told["definition"] == "noiseless privacy"
    assert told["delta"] == pytest.approx(3.0045e-4, rel=0.005)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("sum --records 100 --eta 0.7 --epsilon 1", "certificate_eta"),
        ("sum --records 100 --eta 0.2 --known 100 --epsilon 1", "certificate_known"),
        ("sum --records 100 --eta 1e-999999999 --epsilon 1", "certificate_number"),
        ("sum --records 100 --eta 0.2 --epsilon 1e999999999", "certificate_number"),
        ("sum --records 100 --eta 0.2", "certificate_option"),
        ("sum --records 100 --eta 0.2 --mass 0.1 --epsilon 1", "certificate_option"),
        ("sum --eta 0.2 --epsilon 1", "certificate_option"),
        ("count --records 100 --beta nan --epsilon 1", "certificate_number"),
        ("histogram --rate 1 -k 30 --epsilon 1", "certificate_rate"),
        ("histogram --rate 0.5 --poisson -k 30 --epsilon 1", "certificate_option"),
        ("histogram --rate 0.5 --epsilon 1", "certificate_option"),
        ("histogram --rate 0.5 -k 60 --epsilon 1 --plot x.pdf", "certificate_plot"),
        ("map --law 1,0 --law 0,1 --records 10 --epsilon 0", "certificate_laws"),
        ("sum --records 100 --eta 0.1 --epsilon 1 --delta 1e-6", "certificate_not_reached"),
    ],
)
def test_a_bad_declaration_is_refused_in_json(arguments: str, code: str) -> None:
    exit_code, told = run(arguments)
    assert exit_code == 2
    assert told["error"]["code"] == code  # type: ignore[index]


def test_a_class_that_reaches_both_epsilon_and_delta_passes() -> None:
    code, told = run("sum --records 1000 --eta 0.25 --epsilon 0.5 --delta 1e-6")
    assert code == 0 and told["epsilon"] == 0.5 and float(str(told["delta"])) <= 1e-6


@pytest.mark.parametrize(
    ("arguments", "said", "remedy"),
    [
        ("count --beta 0.1 --epsilon 1", "give --records (or", "certify count --help"),
        ("sum --records 9 --mass 0.1 --lower 0 -e 1", "give --upper", "certify sum --help"),
        (
            "histogram --population 100 --sample 9 -k 30 -e 1",
            "give --epsilon-size",
            "certify histogram --help",
        ),
    ],
)
def test_only_what_is_missing_is_asked_for(arguments: str, said: str, remedy: str) -> None:
    error = run(arguments)[1]["error"]
    assert error["message"].startswith(said)  # type: ignore[index]
    assert remedy in error["remedy"]  # type: ignore[index]


def test_a_table_is_written_for_people() -> None:
    done = CliRunner().invoke(
        main, ["certify", "sum", "--records", "1000", "--eta", "0.1", "--epsilon", "0.5"]
    )
    assert done.exit_code == 0
    assert done.output.startswith("(0.5, 1.1")
    assert "assumes: the adversary knows at most 0" in done.output


def test_a_picture_is_of_the_class_certified(tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"
    arguments = f"certify count --records 100 --known 20 --beta 0.3 --epsilon 1 --plot {path}"
    done = CliRunner().invoke(main, arguments.split())
    assert done.exit_code == 0 and done.output.endswith(f"written: {path}\n")
    drawn = path.read_text(encoding="utf-8")
    assert "Exact count: 80 unknown records, beta = 0.3" in drawn
    assert "this certificate" in drawn


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    few_of(
        [
            "sum --records 1000 --eta 0.25 --delta 1e-6",
            "histogram --rate 0.5 --smallest-threshold --epsilon 1 --delta 1e-6",
            "mean --records 1000 --lower 1 --upper 5 --mass 0.05 --epsilon 0.5",
        ],
        2,
    ),
)
def test_each_picture_is_written(arguments: str, tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"
    code, told = run(f"{arguments} --plot {path}")
    assert code == 0
    drawn = path.read_text(encoding="utf-8")
    assert f"delta = {float(str(told['delta'])):.3g}" in drawn
    assert "this certificate" in drawn


def test_the_picture_of_a_map_estimate_has_certificates_against_the_truth(tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"
    arguments = "map --law 0.6,0.4 --law 0.4,0.6 --records 40 --known 3 --epsilon 0.1"
    assert run(f"{arguments} --plot {path}")[0] == 0
    drawn = path.read_text(encoding="utf-8")
    assert "truth, every database counted" in drawn and "this certificate" in drawn
    laws = ((Fraction(3, 5), Fraction(2, 5)), (Fraction(2, 5), Fraction(3, 5)))
    adversary = MapAdversary(40, laws, (), 3)
    figure = Figure()
    certificates_against_truth(figure, adversary, delta_at(adversary, Fraction(1, 10)))
    certified, truth, chernoff = (line.get_xydata().tolist() for line in figure.axes[0].lines[:3])
    assert [x for x, _ in certified] == [x for x, _ in truth] == [5, 10, 15, 20, 25, 30, 35, 40]
    for (_, bound), (_, exact), (_, rough) in zip(certified, truth, chernoff, strict=True):
        assert exact <= bound * (1 + 1e-12) and bound <= min(rough, exact * 1.1)
    assert run(f"{arguments} --with-noise 0.5 --plot {path}")[0] != 0


def test_a_stable_function_is_certified_in_either_form() -> None:
    code, told = run("stable --instability 0.01")
    assert (code, told["epsilon"]) == (0, 0.0) and 0.01 <= told["delta"] < 0.0100001  # type: ignore[operator]
    code, told = run("stable --instability 0.01 --least-output 0.1")
    assert code == 0 and told["delta"] == 0
    assert told["epsilon"] == pytest.approx(math.log(0.1 / 0.09), rel=1e-12)


def test_noise_for_likely_good_databases_is_certified() -> None:
    code, told = run("local --records 1000 --epsilon 0.1 --delta 1e-12 --eta 1e-4")
    assert (code, told["definition"]) == (0, "semantic privacy")
    assert told["epsilon"] == pytest.approx(math.tanh(0.05) + 1e-4, rel=1e-9)


@pytest.mark.parametrize(
    "function", ["mode", "median", "share --share 0.4 --counts 1", "share --share 0.5 --counts 2"]
)
def test_the_least_records_of_a_verdict_pass_and_one_fewer_do_not(function: str) -> None:
    asked = f"verdict --law 0.7,0.3 --law 0.2,0.8 --known 3 --function {function}"
    code, told = run(f"{asked} --smallest-records --epsilon 0 --delta 1e-4")
    assert code == 0 and 0 < float(str(told["delta"])) <= 1e-4
    code, fewer = run(f"{asked} --records {int(str(told['records'])) - 1}")
    assert code == 0 and float(str(fewer["delta"])) > 1e-4


def test_a_share_needs_values_that_count() -> None:
    assert run("verdict --law 0.7,0.3 --law 0.2,0.8 --records 9 --function share")[0] != 0
    wrong = (
        "verdict --law 0.7,0.3 --law 0.2,0.8 --records 9 --function share --share 0.5 --counts 3"
    )
    assert run(wrong)[0] != 0
