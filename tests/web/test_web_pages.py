"""Every page, for every role, without JavaScript: what it shows, and to whom it is not shown."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import httpx
import pytest

from sanql.account import Role
from sanql.ask import profile_tables
from support.browsing import Browser, browser, words
from support.hostile_town import write_town
from support.serving import Served, served

pytestmark = pytest.mark.usefixtures("in_this_process")

WHO: dict[Role, str] = {"analyst": "ana", "officer": "olga", "owner": "otto"}
PAGES: dict[str, tuple[Role, ...]] = {
    "/ask": ("analyst",),
    "/ask/words": ("analyst",),
    "/history": ("analyst",),
    "/policy": ("owner",),
    "/people": ("owner",),
    "/ledger": ("officer", "owner"),
    "/ledger?verify=true": ("officer", "owner"),
    "/budgets": ("analyst", "officer", "owner"),
    "/schema": ("analyst", "officer", "owner"),
    "/meaning": ("analyst", "officer", "owner"),
}
STRICT = {
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'"
    " data: blob:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
}


@pytest.mark.parametrize("role", WHO)
def test_a_page_is_for_its_roles_and_listed_to_them_alone(hospital: Served, role: Role) -> None:
    with browser(hospital, WHO[role], role) as somebody:
        menu = somebody.get("/meaning").text.partition("</nav>")[0]
        for page, roles in PAGES.items():
            reply = somebody.get(page)
            assert reply.status_code == (200 if role in roles else 403), page
            if "?" not in page and page.count("/") == 1:
                assert (f'href="{page}"' in menu) == (role in roles)


def check_strict(reply: httpx.Response) -> None:
    for name, value in STRICT.items():
        assert reply.headers.get_list(name) == [value], name
    for mark in ("<script>", " style=", "<style", "javascript:", "http://", "https://"):
        assert mark not in reply.text.replace('xmlns="http://www.w3.org/2000/svg"', ""), mark
    assert not re.search(r"\son\w+\s*=", reply.text)


@pytest.mark.parametrize("role", WHO)
def test_every_page_is_strict_and_has_nothing_of_elsewhere(hospital: Served, role: Role) -> None:
    with browser(hospital, WHO[role], role) as somebody:
        for page in ("/", *PAGES):
            if page != "/ask/words":
                check_strict(somebody.get(page))
        check_strict(somebody.send("/sign-out"))
        check_strict(somebody.sign_in("wrong"))
    if role == "analyst":
        with browser(hospital) as ana:
            check_strict(ana.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex"))
            check_strict(ana.ask("SELECT 1 FROM nowhere"))


def test_pages_are_whole_and_say_what_they_are(hospital: Served) -> None:
    with browser(hospital, "otto", "owner") as otto, browser(hospital) as ana:
        replies = [otto.get("/policy"), otto.get("/people"), ana.get("/ask"), ana.get("/")]
        for reply in replies:
            assert reply.headers["content-type"] == "text/html; charset=utf-8"
            assert reply.text.startswith("<!doctype html>") and '<html lang="en">' in reply.text
            assert reply.text.count("<h1") == 1 and 'class="skip" href="#content"' in reply.text
            fields = re.findall(r"<(?:input|select|textarea)\b[^>]*>", reply.text)
            seen = [each for each in fields if 'type="hidden"' not in each]
            for field in seen:
                name = re.search(r'id="([^"]+)"', field)
                assert name is not None and f'for="{name[1]}"' in reply.text, field


def test_a_file_of_the_pages_lasts_under_the_name_of_its_content(hospital: Served) -> None:
    with Browser(hospital.url) as nobody:
        page = nobody.get("/").text
        addresses = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
        assert addresses
        for address in addresses:
            reply = nobody.get(address)
            assert reply.status_code == 200 and "immutable" in reply.headers["cache-control"]
            assert reply.headers["x-content-type-options"] == "nosniff"
            plain = nobody.get(address.partition("?")[0])
            assert plain.headers["cache-control"] == "no-cache"
        for other in ("..%2fsessions.py", "sessions.py", "%00", "x.css"):
            assert nobody.get(f"/static/{other}").status_code == 404


def test_officers_see_who_asked_what_at_which_price_and_that_it_is_sound(hospital: Served) -> None:
    with browser(hospital) as ana, browser(hospital, "olga", "officer") as olga:
        ana.ask("SELECT COUNT(*) FROM people WHERE age < 33", epsilon="0.125")
        said = words(olga.get("/ledger?verify=true&analyst=ana&last=1"))
        assert "ana web SELECT COUNT(*) FROM people WHERE age < 33 0.125" in said
        assert "Sound" in said and "analyst ana" in said
        assert "age < 33" not in words(olga.get("/ledger?analyst=bo"))
        assert olga.get("/ledger?last=many").status_code == 400


ORDERS = "may show less spent than the only analyst who has asked"


def test_that_a_dataset_may_have_spent_less_than_its_analyst_is_explained(policy: Path) -> None:
    with served([policy]) as town, browser(town) as ana, browser(town, "olga", "officer") as olga:
        with town.client() as program:
            for age in range(30):
                body = {"sql": f"SELECT COUNT(*) FROM people WHERE age > {age}", "epsilon": 0.03}
                program.post("/v1/query", json=body).raise_for_status()
        accounts = town.datasets[0].session.ledger.balances()
        spent = {each.account: each.spent_upper.epsilon for each in accounts}
        assert 0 < spent["hospital"] < spent["ana"]
        assert words(olga.get("/budgets")).count(ORDERS) == 1
        assert ORDERS not in words(ana.get("/budgets"))  # who sees one account, compares none


@pytest.mark.slow
def test_where_charges_are_added_up_nothing_needs_explaining(tmp_path: Path) -> None:
    town = write_town(tmp_path / "town")
    assert 'accounting = "renyi"' not in town.read_text()
    with served([town]) as added, browser(added) as ana:
        assert ORDERS not in words(ana.get("/budgets"))


def test_the_meaning_of_an_epsilon_is_that_of_the_theory(hospital: Served) -> None:
    from sanql.theory.meaning import posterior_band

    with browser(hospital, "olga", "officer") as olga:
        reply = olga.get("/meaning?epsilon=0.7&prior=0.25")
        low, high = posterior_band(0.25, 0.7)
        assert f"{int(low * 1000) / 10:.1f}% to" in words(reply) and f"{low:.3g}" in words(reply)
        assert f"{high:.3g} after" in words(reply) and reply.text.count("<svg") == 2
        assert "except with probability 1e-05" in words(olga.get("/meaning?delta=1e-6"))
        for wrong in ("epsilon=x", "epsilon=nan", "prior=2", "delta=-1", "epsilon=1&epsilon=2"):
            assert olga.get(f"/meaning?{wrong}").status_code in (400, 422), wrong


def test_a_new_token_is_shown_once_and_is_good(policy: Path) -> None:
    with served([policy]) as town, browser(town, "otto", "owner") as otto:
        reply = otto.send("/people", action="add", name="bo", role="analyst", expires="2d")
        [token] = re.findall(r"san_[a-z2-7]{12}_[a-z2-7]{52}", reply.text)
        assert "bo may come in now" in words(reply) and token not in otto.get("/people").text
        with Browser(town.url) as bo:
            assert bo.sign_in(token).status_code == 303
            again = otto.send("/people", action="rotate", name="bo")
            [newer] = re.findall(r"san_[a-z2-7]{12}_[a-z2-7]{52}", again.text)
            assert newer != token and bo.get("/ask").status_code == 303
            assert bo.sign_in(newer).status_code == 303
            assert "may not come in any more" in words(
                otto.send("/people", action="revoke", name="bo")
            )
            assert bo.get("/ask").status_code == 303 and bo.sign_in(newer).status_code == 401


def test_an_owner_does_not_lock_themselves_out(policy: Path) -> None:
    with served([policy]) as town, browser(town, "otto", "owner") as otto:
        reply = otto.send("/people", action="revoke", name="otto")
        assert reply.status_code == 422 and "lock themselves out" in words(reply)
        assert otto.get("/people").status_code == 200


def test_errors_have_remedies_that_fit_the_page(policy: Path) -> None:
    with served([policy]) as town:
        with browser(town, "ana") as ana:
            told = words(ana.send("/ask", sql="SELECT COUNT(*) FROM people", action="explain"))
            assert "into Epsilon" in told and "--epsilon" not in told
        with browser(town, "otto", "owner") as otto:
            told = words(otto.send("/policy", policy="[dataset\n"))
            assert "the policy" in told and "/tmp" not in told


def test_people_who_cannot_be_added_are_told_why_and_what_was_typed_stays(policy: Path) -> None:
    with served([policy]) as town, browser(town, "otto", "owner") as otto:
        wrong = [
            ({"name": "cyd", "role": "analyst"}, "declares its analysts"),
            ({"name": "<b>", "role": "officer"}, "cannot be a person's name"),
            ({"name": "bo", "role": "king"}, "is no role"),
            ({"name": "bo", "role": "analyst", "expires": "soon"}, "is no length of time"),
            ({"name": "otto", "role": "owner"}, "there is a person 'otto' already"),
        ]
        for fields, why in wrong:
            reply = otto.send("/people", action="add", **fields)
            assert reply.status_code == 422 and why in words(reply), words(reply)
            assert f'value="{fields["name"]}"'.replace("<b>", "&lt;b&gt;") in reply.text
        assert otto.send("/people", action="rotate", name="nobody").status_code == 422
        assert otto.send("/people", action="fly", name="otto").status_code == 422
        assert [person.name for person in town.datasets[0].people.listed()] == ["otto"]


def test_a_text_of_a_policy_is_checked_and_nothing_changes(policy: Path) -> None:
    with served([policy]) as town, browser(town, "otto", "owner") as otto:
        before = policy.read_text()
        shown = otto.get("/policy")
        assert "[table.visits]" in words(shown) and "± 36 at 0.95" in words(shown)
        reply = otto.send("/policy", action="check", policy=before.replace("add-remove", "add"))
        assert (
            "1 fault" in words(reply)
            and "change-one" in words(reply)
            and "&#34;add&#34;" in reply.text
        )
        assert "No fault" in words(otto.send("/policy", action="check", policy=before))
        assert "1 fault" in words(otto.send("/policy", action="check", policy="= ="))
        assert policy.read_text() == before


def test_an_owner_has_the_policys_file_read_again(policy: Path) -> None:
    with served([policy]) as town, browser(town, "otto", "owner") as otto:
        policy.write_text(
            policy.read_text().replace("rows_per_unit_max = 12", "rows_per_unit_max = 6")
        )
        reply = otto.send("/policy", action="reload")
        assert "policy.toml : loaded" in words(reply) and "± 18 at 0.95" in words(reply)
        policy.write_text("broken")
        assert "not loaded" in words(otto.send("/policy", action="reload"))
        assert "± 18 at 0.95" in words(otto.get("/policy"))


def test_an_analyst_sees_the_own_account_and_others_see_all(hospital: Served) -> None:
    with browser(hospital) as ana, browser(hospital, "olga", "officer") as olga:
        own, everybodys = words(ana.get("/budgets")), words(olga.get("/budgets"))
        assert "analyst ana" in own and "analyst bo" not in own and "dataset hospital" not in own
        for account in ("dataset hospital", "analyst ana", "analyst bo", "coalition research"):
            assert account in everybodys


def test_an_address_where_nothing_is_tells_browsers_so_as_a_page(hospital: Served) -> None:
    with Browser(hospital.url) as nobody:
        for address, status in (("/nothing", 404), ("/sign-out", 405), ("/static/x", 404)):
            page = nobody.get(address, headers={"accept": "text/html,*/*"})
            assert page.status_code == status and "<h1>" in page.text
            check_strict(page)
            plain = nobody.get(address)
            assert plain.json()["status"] == status
        refused = nobody.get("/v1/budget", headers={"accept": "text/html"})
        assert refused.json()["code"] == "credential_wrong"
        foreign = nobody.get("/", headers={"accept": "text/html", "host": "evil.example"})
        assert foreign.status_code == 421 and "host_unknown" in foreign.text


def test_a_page_that_cannot_be_made_tells_nothing_of_why(
    hospital: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> str:
        raise ZeroDivisionError("a secret")

    with browser(hospital) as ana:
        monkeypatch.setattr("sanql.server.web.rendering.text_of", broken)
        for address in ("/schema", "/people", "/nothing"):
            reply = ana.get(address, headers={"accept": "text/html"})
            assert (reply.status_code, reply.json()["code"]) == (500, "internal")
            assert "secret" not in reply.text and "Traceback" not in reply.text
    assert {"kind": "ZeroDivisionError"}.items() <= [
        event for event in hospital.events() if event["event"] == "fault"
    ][-1].items()


def test_profiles_stand_with_the_schema_once_they_were_taken(hospital: Served) -> None:
    session = hospital.datasets[0].session
    with browser(hospital, "ana") as ana:
        assert "<svg" not in ana.get("/schema").text
        profile_tables(session, ["visits"], ["kind"], Fraction(2))
        for role, name in WHO.items():
            with browser(hospital, name, role) as somebody:
                page = somebody.get("/schema")
                check_strict(page)
                assert "Units of visits by rows" in page.text
                assert "Units of visits by groups by kind" in page.text
                assert "rows: a limit of 2 keeps" in words(page) and "units by kind" in words(page)
                assert f"profile of {session.profiles.now()['visits'].time:%Y-%m-%d}" in words(page)
