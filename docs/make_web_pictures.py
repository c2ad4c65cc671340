"""Takes the pictures of docs/web.md anew: the demo hospital in Chromium, small enough to be kept.

Run it with tests/ on the PYTHONPATH: `PYTHONPATH=tests python docs/make_web_pictures.py`.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from sanql.account import Role
from sanql.demo import make_hospital
from support.serving import Served, served

FOLDER = Path(__file__).parent / "web_pictures"
QUESTION = "SELECT district, COUNT(*) AS people, AVG(age) AS age FROM people GROUP BY district"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
DESKTOP, PHONE = {"width": 1000, "height": 760}, {"width": 390, "height": 844}


def main() -> None:
    """Sign in as each role and take what they see."""
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        served([make_hospital(Path(folder) / "hospital")]) as town,
        sync_playwright() as started,
    ):
        chromium = started.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        analyst = signed_in(chromium, town, "ana", "analyst")
        type_question(analyst, QUESTION)
        taken(analyst, "ask")
        type_question(analyst, "SELECT income FROM people WHERE age > 90")
        taken(analyst, "refused")
        for name, more in (("answer", {"color_scheme": "dark"}), ("phone", {"viewport": PHONE})):
            asking = signed_in(chromium, town, "ana", "analyst", **more)
            type_question(asking, QUESTION)
            asking.get_by_role("button", name="Ask, and pay").click()
            asking.get_by_role("heading", name="Answer").scroll_into_view_if_needed()
            asking.evaluate("document.querySelector('.answer').scrollIntoView()")
            taken(asking, name)
        owner = signed_in(chromium, town, "otto", "owner")
        for page in ("meaning", "policy", "people", "ledger?verify=true"):
            owner.goto(f"/{page}")
            if page == "policy":
                owner.evaluate(
                    "document.querySelector('#costs-title').scrollIntoView({block: 'center'})"
                )
            taken(owner, page.partition("?")[0])
        chromium.close()


def signed_in(chromium: Any, town: Served, name: str, role: Role, **more: Any) -> Any:
    """Return a page of somebody who has signed in."""
    context = chromium.new_context(**{"base_url": town.url, "viewport": DESKTOP} | more)
    page = context.new_page()
    page.goto("/sign-in")
    page.get_by_label("Token").fill(town.token(name, role))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_load_state("networkidle")
    return page


def type_question(page: Any, text: str) -> None:
    """Type a question, and wait for its price or refusal."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.type(text)
    page.keyboard.press("Escape")
    page.get_by_label("Epsilon").fill("0.3")
    page.wait_for_timeout(1_500)


def taken(page: Any, name: str) -> None:
    """Write what is seen with few colours, which is all that pages have."""
    page.wait_for_timeout(500)
    seen = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    seen.quantize(96).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
