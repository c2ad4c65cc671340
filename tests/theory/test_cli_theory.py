"""`sanql theory`: tables, JSON, exit codes, and the time a large channel takes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sanql.cli.theory import theory
from sanql.theory.channel_file import _KEYS
from sanql.theory.channels import randomised_response

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs" / "theory"

COIN = {
    "databases": {"0": ["3/4", "1/4"], "1": [0.25, 0.75]},
    "outputs": ["no", "yes"],
    "worlds": [{"0": "1/2", "1 | seen": "1/2"}],
    "secrets": {"bit": {"0": 0, "1": 1}},
    "protections": ["records"],
}


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(theory, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def written(path: Path, content: object) -> str:
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def test_check_gives_every_definition_with_exact_numbers_and_witness(tmp_path: Path) -> None:
    code, output = run("check", written(tmp_path / "c.json", COIN), "--format", "json")
    assert code == 0
    told = json.loads(output)
    found = {finding["definition"]: finding for finding in told["findings"]}
    assert found["pure differential privacy"]["parameters"]["gamma"]["exact"] == "3"
    assert found["simulation-based differential privacy"]["parameters"]["delta"]["exact"] == "0"
    assert found["pure differential privacy"]["witness"]["event"] == ["no"]
    assert {
        "noiseless privacy",
        "Pufferfish privacy",
        "distributional differential privacy",
    } <= set(found)
    assert told["skipped"] == []


def test_decimals_are_read_exactly_as_written(tmp_path: Path) -> None:
    tenths = {"databases": {"0": [0.1] * 10, "1": [0.3, 0.7, *[0] * 8]}}
    code, output = run(
        "check",
        written(tmp_path / "c.json", tenths),
        "--definition",
        "perfect-privacy",
        "--format",
        "json",
    )
    assert code == 0
    found = json.loads(output)["findings"][0]
    assert found["parameters"]["delta"]["exact"] == "4/5"


def test_numbers_on_the_command_line_may_be_fractions(tmp_path: Path) -> None:
    path = written(tmp_path / "c.json", COIN)
    asked = ("check", path, "--definition", "semantic-approximate", "--format", "json")
    code, output = run(*asked, "--tau", "2/5")
    assert code == 0
    assert json.loads(output)["findings"][0]["parameters"]["tau"]["exact"] == "2/5"
    code, output = run("meaning", "--epsilon", "1", "--prior", "1/10")
    assert code == 0
    assert "3.9% to 23.2%" in output


def test_every_hypothesis_can_be_stated_on_the_command_line() -> None:
    stated = (
        "--records", "10", "--group", "2", "--protections", "3", "--values", "4", "--tau", "1/2",
        "--delta-hat", "1/100", "--simulator-epsilon", "0.1", "--simulator-delta", "1e-6",
        "--every-distribution", "--independent-records", "--binary-secrets",
        "--record-protections",
    )  # fmt: skip
    for given in ("ddp(epsilon=0.1, delta=1e-6)", "coupled_worlds(epsilon=0.1, delta=1e-6)"):
        code, output = run("implications", given, *stated, "--format", "json")
        assert code == 0
        assert json.loads(output)["not_applied"] == []


def test_check_prints_a_table_and_what_it_left_out(tmp_path: Path) -> None:
    plain = {"databases": COIN["databases"]}
    code, output = run("check", written(tmp_path / "c.json", plain))
    assert code == 0
    assert "semantic privacy" in output
    assert "NOT CHECKED: 7 definitions" in output
    assert 'ddp: the file gives no worlds; add "worlds": [{database: mass}]' in output


def test_check_says_how_it_read_the_databases(tmp_path: Path) -> None:
    joined = {"databases": {x: [1] for x in ("00", "01", "10", "11")}}
    code, output = run("check", written(tmp_path / "c.json", joined), "--definition", "pure-dp")
    assert code == 0
    assert "4 databases of 1 record with 4 values (00, 01, 10, 11)" in output
    assert "default: 00, the first record in the file, as it names none" in output
    assert 'two records are written "0,0"' in output
    apart = {"databases": {x: [1] for x in ("0,0", "0,1", "1,0", "1,1")}, "default": "1"}
    code, output = run("check", written(tmp_path / "d.json", apart), "--definition", "pure-dp")
    assert code == 0
    assert "4 databases of 2 records with 2 values (0, 1), neighbours change-one (4" in output
    assert "default: 1\n" in output
    assert "note:" not in output


def test_definitions_that_do_not_use_the_listed_neighbours_say_so(tmp_path: Path) -> None:
    path = written(tmp_path / "c.json", {**COIN, "neighbours": [["0", "1"]]})
    code, output = run("check", path, "--format", "json")
    assert code == 0
    uses = {
        found["definition"]
        for found in json.loads(output)["findings"]
        if "does not use the neighbours" not in found["why"]
    }
    related = {"pure differential privacy", "approximate differential privacy", "perfect privacy"}
    assert uses == related
    code, output = run("check", written(tmp_path / "d.json", COIN), "--format", "json")
    assert "does not use the neighbours" not in output


def test_the_files_of_the_textbook_are_read(tmp_path: Path) -> None:
    page = (DOCS / "4_definitions.md").read_text(encoding="utf-8")
    files = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    assert len(files) == 2
    for text in files:
        assert set(json.loads(text)) <= _KEYS
        (tmp_path / "c.json").write_text(text, encoding="utf-8")
        code, output = run("check", str(tmp_path / "c.json"), "--format", "json")
        assert code == 0
    assert set(json.loads(text)) == _KEYS - {"outputs"}
    assert json.loads(output)["skipped"] == []


def test_every_key_of_the_file_is_explained_in_the_help() -> None:
    code, output = run("check", "--help")
    assert code == 0
    for key in _KEYS:
        assert f"\n    {key} " in output


def test_one_definition_can_be_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "c.json", COIN)
    code, output = run("check", path, "--definition", "semantic", "--format", "json")
    assert code == 0
    assert [finding["definition"] for finding in json.loads(output)["findings"]] == [
        "semantic privacy"
    ]


def test_a_sixty_four_by_sixty_four_channel_is_checked_in_two_seconds(tmp_path: Path) -> None:
    channel = randomised_response(6, odds=3)
    rows = {
        ",".join(map(str, x)): [str(mass) for mass in channel.masses(x)] for x in channel.databases
    }
    path = written(tmp_path / "c.json", {"databases": rows})
    code, output = run("check", path, "--format", "json")
    assert code == 0
    first = json.loads(output)["findings"][0]
    assert first["parameters"]["gamma"]["exact"] == "3"


def test_an_error_of_the_table_form_names_the_remedy() -> None:
    code, output = run("check", "no-such-file.json")
    assert code == 2
    assert "remedy:" in output


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("meaning", "--epsilon", "-1", "--prior", "0.1"), "negative_epsilon"),
        (("meaning", "--epsilon", "1", "--delta", "2", "--prior", "0.1"), "not_a_probability"),
        (("meaning", "--epsilon", "1", "--prior", "1.5"), "not_a_probability"),
        (("meaning", "--prior", "0.5"), "missing_option"),
        (("meaning", "--epsilon", "1", "--delta", "", "--prior", "0.5"), "not_a_number"),
        (("meaning", "--mechanism", "gaussian", "--scale", "0", "--prior", "0.5"), "not_positive"),
        (
            ("meaning", "--mechanism", "gaussian", "--scale", "1e-999", "--prior", "0.5"),
            "not_positive",
        ),
        (
            ("meaning", "--mechanism", "gaussian", "--scale", "5e-324", "--prior", "0.5"),
            "not_positive",
        ),
        (("implications", "pure_dp(epsilon=1)", "--delta-hat", "0"), "delta_hat"),
        (("implications", "pure(epsilon=1)"), "unknown_guarantee"),
        (("implications", "pure_dp(epsilon=1)", "--records", "0"), "setting"),
        (("plot", "count", "-o", "x.pdf"), "suffix"),
        (("plot", "profile", "-o", "x.png", "--delta", "0"), "unused_option"),
        (("plot", "worlds", "-o", "x.png", "--epsilon", "1"), "unused_option"),
        (
            (
                "meaning",
                "--mechanism",
                "laplace",
                "--scale",
                "1",
                "--epsilon",
                "3",
                "--prior",
                "0.5",
            ),
            "unused_option",
        ),
        (
            ("meaning", "--mechanism", "laplace", "--scale", "1", "--delta", "0", "--prior", "0.5"),
            "unused_option",
        ),
        (("meaning", "--epsilon", "1", "--scale", "2", "--prior", "0.5"), "unused_option"),
        (("meaning", "--epsilon", "1", "--shift", "1", "--prior", "0.5"), "unused_option"),
        (("plot", "profile", "-o", "x.png", "--epsilon", "0"), "epsilon"),
        (("plot", "tradeoff", "-o", "x.png", "--epsilon", "1000"), "epsilon"),
    ],
)
def test_bad_arguments_are_theory_errors(arguments: tuple[str, ...], code: str) -> None:
    exit_code, output = run(*arguments, "--format", "json")
    assert exit_code == 2
    assert json.loads(output)["error"]["code"] == code


def test_implications_are_printed_with_sources_and_as_data() -> None:
    code, output = run(
        "implications", "pure_dp(epsilon=1)", "--records", "1000", "--format", "json"
    )
    assert code == 0
    told = json.loads(output)
    kinds = {item["kind"]: item for item in told["implied"]}
    assert kinds["semantic"]["source"] == "Kasiviswanathan-Smith Theorem 2.2, first half"
    code, table = run("implications", "approximate_dp(epsilon=1, delta=1e-6)")
    assert code == 0
    assert "unchanged by: post-processing" in table
    assert "needs: the number of records is known" in table


@pytest.mark.parametrize(
    ("guarantee", "why"),
    [
        (
            "ddp(epsilon=1, delta=1e-6)",
            "each theorem that starts from it needs what was not stated",
        ),
        ("group_dp(epsilon=1, delta=0)", "no theorem here starts from this guarantee"),
        ("testing(epsilon=1, delta=1)", "every conclusion would be true of any mechanism"),
    ],
)
def test_where_nothing_follows_the_reason_is_said(guarantee: str, why: str) -> None:
    code, output = run("implications", guarantee)
    assert code == 0
    assert f"nothing follows: {why}" in output.replace("at these parameters ", "")
    assert "which says" not in output


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("pure_dp", "pure differential privacy"),
        ("pure-dp", "pure differential privacy"),
        ("simulation_dp", "simulation-based differential privacy"),
        ("believed-semantic", "semantic privacy of the belief"),
        ("approximate_semantic", "approximate semantic privacy"),
    ],
)
def test_a_definition_may_be_spelt_like_a_guarantee(tmp_path: Path, name: str, meant: str) -> None:
    path = written(tmp_path / "c.json", COIN)
    code, output = run("check", path, "--definition", name, "--format", "json")
    assert code == 0
    assert json.loads(output)["findings"][0]["definition"] == meant


@pytest.mark.parametrize(
    ("spelt", "meant"),
    [
        ("pure-dp(epsilon=1)", "pure_dp(epsilon=1)"),
        ("simulation(epsilon=1e-1, delta=1e-6)", "simulation_dp(epsilon=0.1, delta=1e-06)"),
        ("perfect-privacy", "perfect_privacy()"),
    ],
)
def test_a_guarantee_may_be_spelt_like_a_definition(spelt: str, meant: str) -> None:
    code, output = run("implications", spelt, "--format", "json")
    assert code == 0
    assert json.loads(output)["given"]["guarantee"] == meant


def test_meaning_speaks_in_sentences_and_of_the_actual_mechanism() -> None:
    code, output = run("meaning", "--epsilon", "1", "--prior", "0.1")
    assert code == 0
    assert "3.9% to 23.2%" in output
    noise = ("--mechanism", "discrete-laplace", "--scale", "4", "--shift", "2")
    code, output = run("meaning", *noise, "--prior", "0.1", "--format", "json")
    assert code == 0
    assert json.loads(output)["posterior"][1] < 0.16


def test_a_picture_that_is_written_is_let_go(tmp_path: Path) -> None:
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    for name in ("x.svg", "no-such-folder/x.svg"):
        run("plot", "posterior", "-o", str(tmp_path / name))
    assert pyplot.get_fignums() == before


@pytest.mark.parametrize("name", ["profile", "tradeoff", "posterior", "count", "worlds"])
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_each_picture_is_written(tmp_path: Path, name: str, suffix: str) -> None:
    path = tmp_path / f"{name}{suffix}"
    code, _ = run("plot", name, "-o", str(path))
    assert code == 0
    start = path.read_bytes()[:200]
    assert start.startswith(b"\x89PNG") if suffix == ".png" else b"<svg" in path.read_bytes()
    assert path.stat().st_size > 5_000


def test_without_matplotlib_the_remedy_is_the_extra(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from sanql.cli.theory import theory\n"
        f"theory(['plot', 'count', '-o', {str(tmp_path / 'c.png')!r}, '--format', 'json'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "no_matplotlib"
    assert "make plots" in error["remedy"] and "sanql[plots]" in error["remedy"]


def test_asking_for_help_loads_nothing_heavy() -> None:
    script = (
        "import sys\nfrom sanql.cli.theory import theory\n"
        "heavy = {'numpy', 'scipy', 'matplotlib', 'rich'} & set(sys.modules)\n"
        "sys.exit(1 if heavy else 0)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_delta_below_the_floats_still_lets_some_answer_tell_everything() -> None:
    code, output = run("meaning", "--epsilon", "1", "--delta", "1e-400", "--prior", "0.1")
    assert code == 0
    assert "0.0% to 100.0% after any answer" in output
