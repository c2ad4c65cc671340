"""The pages in a real browser: live prices, charts, files, keyboards, and no violation of their policy.

It needs Chromium, which no Python package brings along: where there is none, these tests are skipped and
say so.
"""

from __future__ import annotations

import shutil
import threading
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sanql.account import Role
from sanql.server.http import asking
from support.serving import Served
from support.volume import share_rows_of

playwright = pytest.importorskip(
    "playwright.sync_api", reason="no browser is tried: playwright is not installed"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NONE = "NO BROWSER IS TRIED: install Debian's package chromium, or another that is on the PATH"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason=NONE)]
if CHROMIUM is None:
    warnings.warn(NONE, stacklevel=1)  # so that it is said in every report, also in short ones
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NOTING = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
AXE = (Path(__file__).parent / "axe.min.js").read_text(encoding="utf-8")
DISTRICTS = "SELECT district, COUNT(*) AS people FROM people GROUP BY district"
PAGES: dict[Role, list[str]] = {
    "analyst": ["/", "/ask", "/history", "/schema", "/budgets", "/meaning"],
    "officer": ["/ledger?verify=true", "/meaning", "/budgets"],
    "owner": ["/policy", "/people", "/ledger"],
}
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def sign_in(chromium: Any, hospital: Served) -> Iterator[Open]:
    """Return what opens a page for somebody, signed in; errors of its scripts fail the test."""
    contexts, faults = [], []

    def opened(name: str = "ana", role: Role = "analyst", **more: Any) -> Any:
        context = chromium.new_context(base_url=hospital.url, **more)
        contexts.append(context)
        context.add_init_script(NOTING)
        page = context.new_page()
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        page.goto("/sign-in")
        page.get_by_label("Token").fill(hospital.token(name, role))
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(lambda url: "sign-in" not in url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not faults


def type_question(page: Any, text: str, epsilon: str = "0.2") -> None:
    """Type a question into the editor, over whatever is there."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.type(text)
    page.keyboard.press("Escape")
    page.get_by_label("Epsilon").fill(epsilon)


def violations(page: Any) -> list[str]:
    found: list[str] = page.evaluate("window.violations")
    return found


def test_the_price_is_shown_while_typing_and_nothing_is_spent(
    sign_in: Open, hospital: Served
) -> None:
    page = sign_in()
    before = hospital.datasets[0].session.ledger.length
    type_question(page, DISTRICTS)
    page.get_by_text("price: epsilon 0.2").wait_for()
    page.get_by_label("Epsilon").fill("0.4")
    page.get_by_text("price: epsilon 0.4").wait_for()
    type_question(page, "SELECT income FROM people")
    page.get_by_text("individual rows").wait_for()
    assert page.get_by_role("button", name="Use it").is_visible()
    assert hospital.datasets[0].session.ledger.length == before
    assert violations(page) == []


def test_a_question_is_answered_with_table_chart_and_files(sign_in: Open, tmp_path: Path) -> None:
    page = sign_in()
    type_question(page, DISTRICTS)
    page.get_by_role("button", name="Ask, and pay").click()
    page.get_by_role("heading", name="Answer").wait_for()
    assert page.locator(".answer tbody tr").count() >= 5
    assert page.locator(".answer svg rect").count() == page.locator(".answer tbody tr").count()
    assert DISTRICTS in page.locator(".cm-content").inner_text()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as PNG").click()
    picture = tmp_path / "answer.png"
    saved.value.save_as(picture)
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 3_000
    with page.expect_download() as saved:
        page.get_by_role("link", name="CSV").click()
    assert saved.value.suggested_filename == "answer.csv"
    assert violations(page) == []


def test_a_page_that_waits_shows_progress_and_then_the_answer_by_itself(
    sign_in: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, ask = threading.Event(), asking.ask_with

    def slowly(*arguments: Any) -> Any:
        go_on.wait(60)
        return ask(*arguments)

    monkeypatch.setattr(asking, "ask_with", slowly)
    monkeypatch.setattr("sanql.server.web.asking._QUICK_SECONDS", 0.05)
    page = sign_in()
    type_question(page, "SELECT COUNT(*) AS slow FROM people WHERE age > 60")
    page.get_by_role("button", name="Ask, and pay").click()
    page.get_by_role("heading", name="The question is").wait_for()
    assert page.get_by_role("button", name="Cancel it").is_visible()
    go_on.set()
    page.get_by_role("heading", name="Answer").wait_for()
    assert violations(page) == []


def test_without_javascript_nothing_is_offered_that_needs_it(sign_in: Open) -> None:
    page = sign_in(java_script_enabled=False)
    page.get_by_label("Question, in SQL").fill(DISTRICTS)
    page.get_by_label("Epsilon").fill("0.2")
    page.get_by_role("button", name="Ask, and pay").click()
    page.get_by_role("heading", name="Answer").wait_for()
    assert page.locator(".answer svg").is_visible()
    assert not page.get_by_role("button", name="Save as PNG").is_visible()


def test_names_of_the_schema_are_completed(sign_in: Open) -> None:
    page = sign_in()
    page.locator(".cm-content").click()
    page.keyboard.type("SELECT AVG(inc")
    page.keyboard.press("Control+Space")
    playwright.expect(page.locator(".cm-tooltip-autocomplete li").first).to_have_text("income")
    page.wait_for_timeout(200)  # so long nothing is chosen, lest it be by accident
    page.keyboard.press("Enter")
    assert page.locator("#sql").input_value() == "SELECT AVG(income"
    assert violations(page) == []


def test_a_question_is_asked_by_the_keyboard_alone(sign_in: Open) -> None:
    page = sign_in()
    page.goto("/ask")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.locator(".editor").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.type("SELECT COUNT(*) FROM people WHERE age > 50")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    page.keyboard.type("0.05")
    page.keyboard.press("Enter")
    page.get_by_text("price: epsilon 0.05").wait_for()
    for _ in range(30):  # past every option
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Ask, and pay":
            break
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Answer").wait_for()


def test_a_meaning_follows_its_slider(sign_in: Open) -> None:
    page = sign_in("olga", "officer")
    page.goto("/meaning")
    shown = page.locator("#meaning-shown")
    playwright.expect(shown).to_contain_text("3.9% to 23.2%")
    page.get_by_label("Epsilon").fill("3")
    playwright.expect(shown).to_contain_text("0.5% to 69.1%")
    assert page.locator("#meaning-shown svg").count() == 2 and violations(page) == []


@pytest.mark.parametrize("role", PAGES)
def test_no_page_violates_its_own_policy_and_none_scrolls_sideways(
    sign_in: Open, role: Role
) -> None:
    name = {"analyst": "ana", "officer": "olga", "owner": "otto"}[role]
    page = sign_in(name, role, viewport={"width": 360, "height": 740})
    for address in PAGES[role]:
        page.goto(address)
        page.wait_for_load_state("networkidle")
        assert violations(page) == [], address
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"{address} is {wide} pixels too wide for a phone"


@pytest.mark.parametrize(("colours", "role"), share_rows_of(product(["light", "dark"], PAGES), 2))
def test_pages_are_for_everybody(sign_in: Open, role: Role, colours: str) -> None:
    """What axe finds by the rules of WCAG 2.2, levels A and AA: contrast, names, labels, order."""
    name = {"analyst": "ana", "officer": "olga", "owner": "otto"}[role]
    page = sign_in(name, role, color_scheme=colours, bypass_csp=True)
    for address in PAGES[role]:
        page.goto(address)
        page.wait_for_load_state("networkidle")
        if address == "/ask":
            type_question(page, DISTRICTS)
            page.get_by_text("price: epsilon 0.2").wait_for()
            page.get_by_role("button", name="Ask, and pay").click()
            page.get_by_role("heading", name="Answer").wait_for()
            page.wait_for_load_state("networkidle")
        page.evaluate(AXE)
        tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
        found = page.evaluate("tags => axe.run({ runOnly: tags })", tags)["violations"]
        told = [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]
        assert not told, f"{address}: {told}"


def test_a_session_that_ends_is_told_while_typing_and_the_text_stays(
    sign_in: Open, hospital: Served
) -> None:
    page = sign_in()
    [cookie] = page.context.cookies()
    hospital.server.service.web_sessions.close(cookie["value"])
    type_question(page, DISTRICTS)
    page.get_by_text("you are not signed in any more").wait_for()
    assert page.locator("#live header").count() == 0
    assert DISTRICTS in page.locator(".cm-content").inner_text()


def test_text_that_would_run_does_not(sign_in: Open) -> None:
    page = sign_in()
    ran: list[str] = []
    page.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
    for text in ("</textarea><script>alert(1)</script>", '<img src=x onerror="alert(1)">'):
        type_question(page, text)
        page.locator("#live .problem").wait_for()
        page.get_by_role("button", name="Ask, and pay").click()
        page.locator(".problem").wait_for()
        page.locator(".editor").wait_for()
        assert text in page.locator(".cm-content").inner_text()
    assert not ran and violations(page) == []
