"""The demo's tour: a policy, private answers, an explanation, a refusal, a free repeat, the ledger."""

from __future__ import annotations

from pathlib import Path
from shutil import which

from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax

from sanql.audit.ledger import export, verify
from sanql.cli.tables import print_answer, print_balances, print_records, print_verification
from sanql.demo import make_hospital
from sanql.errors import BudgetExceeded, Refused
from sanql.san import San, open_policy

QUESTIONS = (
    ("How many people?", "SELECT COUNT(*) AS people FROM people", {"epsilon": "0.1"}),
    (
        "Income by sex: the keys are declared, so all appear",
        "SELECT sex, COUNT(*) AS people, ROUND(AVG(income), 0) AS income\n"
        "FROM people GROUP BY sex ORDER BY people DESC",
        {"epsilon": "0.5"},
    ),
    (
        "People by district: unknown keys are selected privately (Lighthouse has too few)",
        "SELECT district, COUNT(*) AS people FROM people GROUP BY district ORDER BY people DESC",
        {"epsilon": "0.5", "delta": "1e-8"},
    ),
    (
        "Visits: a person has several, limited to 12 in 4 groups",
        "SELECT kind, COUNT(*) AS visits, AVG(cost) AS cost, SUM(cost) / COUNT(*) AS per_visit\n"
        "FROM visits WHERE day >= DATE '2025-07-01' GROUP BY kind HAVING COUNT(*) > 1000",
        {"epsilon": "1"},
    ),
    (
        "Asked by accuracy: ±200 visits a quarter, at the least epsilon that gives it",
        "SELECT DATE_TRUNC('quarter', day) AS quarter, COUNT(*) AS visits FROM visits GROUP BY 1",
        {"accuracy": "200"},
    ),
)
EXPLAINED = "SELECT district, AVG(age) AS age FROM people GROUP BY district"
REFUSED = "SELECT * FROM people WHERE age > 90"


def tour(directory: Path, out: Console) -> None:
    """Run the demo in a directory; run again, it finds the recorded answers and costs nothing."""
    policy = make_hospital(directory)
    out.rule("[bold]1. What the owner writes")
    out.print(f"{policy}:")
    text = policy.read_text(encoding="utf-8").split("[table.visits]", maxsplit=1)[0]
    out.print(Syntax(text.strip() + "\n…", "toml", background_color="default"))
    with open_policy(
        policy, "ana", progress=lambda message: out.print(message, style="dim")
    ) as san:
        out.rule("[bold]2. What an analyst asks, and the private answers")
        for words, sql, options in QUESTIONS:
            _ask(san, out, words, sql, options)
        out.rule("[bold]3. Before spending: an explanation")
        _show_sql(out, "What would this cost?", EXPLAINED)
        explained = san.explain(EXPLAINED, epsilon="0.3", delta="1e-8")
        out.print(str(explained), markup=False)
        out.rule("[bold]4. A refusal, with its remedy")
        _be_refused(san, out, "Rows are people's own", REFUSED, {"epsilon": "0.1"})
        out.rule("[bold]5. The same question again is free")
        words, sql, options = QUESTIONS[0]
        _ask(san, out, words, sql, options)
        out.rule("[bold]6. The account")
        print_balances(san.budget(), out, renyi=san.policy.accounting == "renyi")
        ledger = san.policy.ledger
    print_records([_decoded(line) for line in export(ledger)][-6:], out)
    print_verification(verify(ledger).to_dict(), out)
    command = "sanql" if which("sanql") else ".venv/bin/sanql"
    out.print(
        Panel(
            f"Your turn:  {command} query -p {policy} -a bo -e 0.2 "
            '"SELECT sex, AVG(age) FROM people GROUP BY sex"',
            expand=False,
        ),
        markup=False,
    )


def _ask(san: San, out: Console, words: str, sql: str, options: dict[str, str]) -> None:
    """Ask a question that is answered; out of budget in an old folder, say so and go on."""
    _show_sql(out, words, _with_options(sql, options))
    try:
        print_answer(san.query(sql, **options), out)  # type: ignore[arg-type]
    except BudgetExceeded as error:
        out.print(f"budget [{error.code}]: {error}", markup=False, style="yellow")
    out.print()


def _be_refused(san: San, out: Console, words: str, sql: str, options: dict[str, str]) -> None:
    """Ask a question that is refused; an answer would be a fault of the tour."""
    _show_sql(out, words, _with_options(sql, options))
    try:
        san.query(sql, **options)  # type: ignore[arg-type]
    except Refused as error:
        out.print(f"refused [{error.code}]: {error}", markup=False, style="yellow")
    else:
        raise AssertionError(f"the tour shows {sql} as refused, and it is answered")
    out.print()


def _with_options(sql: str, options: dict[str, str]) -> str:
    return sql + "  -- " + ", ".join(f"{name} = {value}" for name, value in options.items())


def _show_sql(out: Console, words: str, sql: str) -> None:
    out.print(words, style="bold")
    out.print(Syntax(sql, "sql", background_color="default", word_wrap=True))


def _decoded(line: str) -> dict[str, object]:
    import json

    record: dict[str, object] = json.loads(line)
    return record
