"""Asking at a browser without JavaScript: the price first, then the answer, and it stays to be read."""

from __future__ import annotations

import json
import re
import threading
from io import BytesIO

import httpx
import pyarrow
import pytest

from sanql.results import answer_from_dict
from support.browsing import Browser, browser, words
from support.serving import Served

SEXES = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


def left(reply: httpx.Response) -> float:
    """Return the epsilon that a page says is left to an analyst."""
    found = re.search(r"analyst \w+</th>\s*<td class=\"number\">([0-9.]+)", reply.text)
    assert found is not None, reply.text
    return float(found[1])


def test_an_explanation_says_the_price_and_spends_nothing(hospital: Served) -> None:
    with browser(hospital) as ana:
        before = left(ana.get("/ask"))
        reply = ana.ask(SEXES, "explain", epsilon="0.25")
        assert "price: epsilon 0.25" in words(reply) and "± " in words(reply)
        assert SEXES in reply.text and 'value="0.25"' in reply.text
        assert left(ana.get("/ask")) == before
        assert "epsilon 0.25" in words(ana.send("/ask/price", sql=SEXES, epsilon="0.25"))
        assert left(ana.get("/ask")) == before


def test_an_answer_has_its_own_page_with_table_chart_and_guarantee(hospital: Served) -> None:
    with browser(hospital, "bo") as bo:
        before = left(bo.get("/ask"))
        reply = bo.ask(SEXES, epsilon="0.5")
        assert re.fullmatch("/questions/[0-9a-f]{32}", reply.url.path)
        assert reply.text.count("<td>") >= 3 and "<svg" in reply.text and "± " in words(reply)
        assert "can come to think it at most" in words(reply)
        assert left(reply) == pytest.approx(before - 0.5)
        again = bo.get(reply.url.path)
        assert words(again) == words(reply)
        assert left(bo.get("/ask")) == pytest.approx(before - 0.5)


CUT = (
    "counts may be too low, and sums and averages off; "
    "which share of the rows they keep is not known."
)


def test_what_limits_may_cut_is_said_above_the_rows_and_only_where_they_can(
    hospital: Served,
) -> None:
    with browser(hospital) as ana:
        by_kind = "SELECT kind, COUNT(*) FROM visits GROUP BY kind"
        for groups, limits in (("", "12 rows"), ("2", "12 rows")):
            reply = ana.ask(by_kind, epsilon="0.05", max_groups_contributed=groups)
            warned = f"Limits: at most {limits} a person_id count, so {CUT}"
            assert words(reply).count(warned) == 1
            assert reply.text.index("Limits: at most") < reply.text.index("Rows of the answer")
        for unlimited in (SEXES, "SELECT COUNT(DISTINCT person_id) FROM visits"):
            reply = ana.ask(unlimited, epsilon="0.05")
            assert reply.status_code == 200 and CUT not in words(reply)


def test_the_ledger_says_that_a_browser_asked(hospital: Served) -> None:
    with browser(hospital) as ana, hospital.client("olga", "officer") as olga:
        ana.ask("SELECT COUNT(*) FROM people WHERE age > 41")
        [last] = olga.get("/v1/ledger", params={"last": 1}).json()["records"]
        assert (last["question"]["door"], last["question"]["analyst"]) == ("web", "ana")


def test_downloads_are_the_answer_and_free(hospital: Served) -> None:
    with browser(hospital) as ana:
        page = ana.ask(SEXES, epsilon="0.3")
        spent = left(page)
        files = {
            form: ana.get(f"{page.url.path}/download?form={form}")
            for form in ("csv", "json", "arrow")
        }
        answer = answer_from_dict(json.loads(files["json"].content))
        assert files["csv"].text == answer.to_csv()
        assert pyarrow.ipc.open_stream(BytesIO(files["arrow"].content)).read_all() == answer.table
        for form, reply in files.items():
            assert reply.headers["content-disposition"] == f'attachment; filename="answer.{form}"'
        assert ana.get(f"{page.url.path}/download?form=exe").status_code == 406
        assert left(ana.get("/ask")) == spent


def test_a_refusal_names_the_remedy_and_keeps_what_was_typed(hospital: Served) -> None:
    typed = "SELECT age\nFROM people -- all of it"
    with browser(hospital) as ana:
        for action in ("explain", "run"):
            reply = ana.ask(typed, action, epsilon="0.1", confidence="0.9")
            assert reply.status_code == 422
            assert f"{typed}</textarea>" in reply.text and 'value="0.9"' in reply.text
            assert "individual rows" in words(reply) and "Remedy:" in words(reply)
            assert "SELECT age, COUNT(*) FROM people GROUP BY age" in words(reply)
        assert ana.ask("", "run").status_code == 422
        assert ana.ask("SELECT", "run", epsilon="1e9").status_code == 422


NEAREST = "SELECT age, COUNT(*) FROM people GROUP BY age"


def test_the_nearest_question_is_one_press_away_and_nothing_is_spent_by_it(
    hospital: Served,
) -> None:
    with browser(hospital) as ana:
        before = hospital.datasets[0].session.ledger.length
        asked = {"sql": "SELECT age FROM people", "epsilon": "0.125", "confidence": "0.9"}
        for address, action in (("/ask", "run"), ("/ask", "explain"), ("/ask/price", "")):
            refused = ana.send(address, action=action, **asked)
            assert words(refused).count(NEAREST) == 1
            used = ana.press(refused, "Use it")
            assert used.status_code == 200 and f"{NEAREST}</textarea>" in used.text
            assert "price: epsilon 0.125" in words(used) and 'value="0.9"' in used.text
        assert hospital.datasets[0].session.ledger.length == before


def test_the_nearest_question_has_the_price_that_was_written_into_the_text(
    hospital: Served,
) -> None:
    clause = "WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.0625, max_groups_contributed => 1)"
    with browser(hospital) as ana:
        refused = ana.ask(f"SELECT {clause} age FROM people", "explain", epsilon="")
        used = ana.press(refused, "Use it")
        assert used.status_code == 200 and "price: epsilon 0.0625" in words(used)
        assert f"SELECT {clause} age, COUNT(*) FROM people GROUP BY age" in words(used)


def test_a_price_that_does_not_fit_is_told_and_what_was_typed_stays(hospital: Served) -> None:
    with browser(hospital) as ana:
        reply = ana.ask(SEXES, epsilon="4.5")
        assert reply.status_code == 402 and SEXES in reply.text and 'value="4.5"' in reply.text


def test_an_accuracy_may_be_asked_for_instead(hospital: Served) -> None:
    with browser(hospital) as ana:
        reply = ana.ask(SEXES, "explain", epsilon="", accuracy="2% of 10000")
        assert reply.status_code == 200 and "± 200" in words(reply)


def test_the_history_shows_answers_again_for_free(hospital: Served) -> None:
    with browser(hospital) as ana:
        ana.ask("SELECT COUNT(*) AS grown FROM people WHERE age > 17")
        listed = ana.get("/history")
        number = max(map(int, re.findall(r'href="/history/(\d+)"', listed.text)))
        before = left(ana.get("/ask"))
        again = ana.get(f"/history/{number}")
        assert "grown" in words(again) and "a repeat, free" in words(again)
        assert ana.get(f"/history/{number}/download?form=csv").text.startswith("grown,")
        assert left(ana.get("/ask")) == before
        for none in ("0", "999999", "-1", "x", "1" * 30):
            assert ana.get(f"/history/{none}").status_code in (404, 422)


def test_the_newest_questions_are_listed_first_a_hundred_at_a_time(hospital: Served) -> None:
    with browser(hospital, "bo") as bo, hospital.client("bo") as by_program:
        for age in range(104):
            body = {"sql": f"SELECT COUNT(*) FROM people WHERE age > {age}", "epsilon": 0.002}
            assert by_program.post("/v1/query", json=body).status_code == 200
        page = bo.get("/history")
        numbers = [*map(int, re.findall(r'<td class="number">(\d+)</td>', page.text))]
        assert numbers == sorted(numbers, reverse=True) and len(numbers) == 100
        earlier = re.search(r'href="(/history\?before=\d+)"', page.text)
        assert earlier is not None
        rest = [*map(int, re.findall(r'<td class="number">(\d+)</td>', bo.get(earlier[1]).text))]
        assert [*numbers, *rest] == list(range(numbers[0], 0, -1))


def test_anothers_question_is_as_if_it_were_not_there(hospital: Served) -> None:
    with browser(hospital) as ana, browser(hospital, "bo") as bo:
        page = ana.ask(SEXES)
        for address in ("", "/state", "/download?form=csv"):
            told = bo.get(page.url.path + address)
            assert told.status_code == 404
        assert bo.send(f"{page.url.path}/cancel").status_code == 404
        assert words(bo.get(page.url.path)) == words(bo.get("/questions/" + "0" * 32)).replace(
            "0" * 32, page.url.path.rpartition("/")[2]
        )


def test_a_long_question_shows_progress_and_can_be_cancelled(
    hospital: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sanql.server.http import asking

    go_on = threading.Event()
    ask = asking.ask_with

    def slowly(*arguments: object) -> object:
        go_on.wait(30)
        return ask(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(asking, "ask_with", slowly)
    monkeypatch.setattr("sanql.server.web.asking._QUICK_SECONDS", 0.05)
    with browser(hospital) as ana:
        page = ana.send("/ask", sql="SELECT COUNT(*) FROM visits", epsilon="0.2", action="run")
        assert page.status_code == 200 and "The question is running" in words(page)
        assert 'http-equiv="refresh"' in page.text and "SELECT COUNT(*) FROM visits" in page.text
        assert ana.get(f"{page.url.path}/state").json()["status"] == "running"
        assert ana.get(f"{page.url.path}/download?form=csv").status_code == 303
        before = left(page)
        ana.send(f"{page.url.path}/cancel")
        go_on.set()
        number = page.url.path.rpartition("/")[2]
        hospital.server.service.kept.find(("hospital", "ana"), number).future.exception(30)
        told = ana.get(page.url.path)
        assert "cancelled" in words(told) and "SELECT COUNT(*) FROM visits" in told.text
        assert left(ana.get("/ask")) == before


def test_nothing_that_spends_is_done_by_looking(hospital: Served) -> None:
    with browser(hospital) as ana:
        assert ana.client.get("/ask", params={"sql": SEXES, "action": "run"}).status_code == 200
        for address in ("/ask/price", "/sign-out", "/dataset", "/questions/x/cancel"):
            assert ana.client.get(address).status_code == 405


def test_an_answer_is_shown_to_nobody_who_is_not_signed_in(hospital: Served) -> None:
    with browser(hospital) as ana, Browser(hospital.url) as nobody:
        page = ana.ask(SEXES)
        assert nobody.get(page.url.path).status_code == 303


def test_what_was_typed_outlives_the_session_and_the_form_it_was_typed_in(hospital: Served) -> None:
    with browser(hospital) as ana:
        reply = ana.post("/ask", form_token="0" * 64, sql="SELECT </textarea>", action="run")
        assert reply.status_code == 403 and "SELECT &lt;/textarea&gt;</textarea>" in reply.text
        hospital.server.service.web_sessions.close(ana.cookie)
        for address in ("/ask", "/ask/price"):
            ended = ana.send(address, sql=SEXES, action="run")
            assert ended.status_code == 401 and f"{SEXES}</textarea>" in ended.text
            assert "session_ended" in ended.text and '<section class="problem"' in ended.text


def test_a_guess_at_rows_and_the_group_of_null_are_asked_for_on_the_page(hospital: Served) -> None:
    ages = "SELECT sex, AVG(age) AS a FROM people GROUP BY sex"
    widths = []
    with browser(hospital) as ana:
        for rows in ("50", "5000"):
            reply = ana.ask(ages, "explain", epsilon="0.25", rows_guessed=rows)
            assert f'name="rows_guessed" inputmode="numeric" value="{rows}"' in reply.text
            widths.append(float(re.findall(r"± ?([0-9.]+)", words(reply))[0]))
        assert widths[0] > widths[1]
        known = "rows whose sex is NULL are in no group"
        assert known in words(ana.ask(ages, "explain", epsilon="0.25"))
        reply = ana.ask(ages, "explain", epsilon="0.25", null_group="true")
        assert known not in words(reply) and "selected>a group of their own" in reply.text
