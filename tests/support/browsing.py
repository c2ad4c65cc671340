"""A browser without JavaScript: it keeps a cookie, and sends the forms of pages that it was shown."""

from __future__ import annotations

import html
import re
import time
from typing import Any, Self

import httpx

from sanql.account import Role
from support.serving import Served

_TOKEN = re.compile(r'name="form_token" value="([0-9a-f]{64})"')


class Browser:
    """Somebody's browser; hold it in a with block."""

    def __init__(self, url: str, **more: Any) -> None:
        self.client = httpx.Client(base_url=url, timeout=60, **more)
        self.form_token = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    @property
    def cookie(self) -> str:
        """What it would send to be known."""
        return next((value for value in self.client.cookies.values()), "")

    def get(self, address: str, **more: Any) -> httpx.Response:
        """Look at a page, and remember the token of its forms."""
        return self._seen(self.client.get(address, **more))

    def send(self, address: str, **fields: str) -> httpx.Response:
        """Send a form of the page that was looked at last, and look at what comes of it."""
        data = {"form_token": self.form_token} | fields
        return self._seen(self.client.post(address, data=data, follow_redirects=True))

    def press(self, shown: httpx.Response, button: str) -> httpx.Response:
        """Press a button of a page: its form is sent as it stands there, with nothing added."""
        forms = re.findall(r"<form\b.*?</form>", shown.text, re.DOTALL)
        [form] = [each for each in forms if f">{button}</button>" in each]
        marks = [*re.findall(r"<input\b[^>]*>", form), *re.findall(r"<button\b[^>]*>", form)]
        named = [mark for mark in marks if _attribute(mark, "name")]
        data = {_attribute(mark, "name"): _attribute(mark, "value") for mark in named}
        action = _attribute(form.partition(">")[0], "action")
        return self._seen(self.client.post(action, data=data, follow_redirects=True))

    def post(self, address: str, **fields: str) -> httpx.Response:
        """Send just these fields, and follow nothing."""
        return self.client.post(address, data=fields)

    def sign_in(self, token: str, **fields: str) -> httpx.Response:
        """Send the form that takes a token, and follow nothing."""
        self.get("/sign-in")
        return self.post("/sign-in", form_token=self.form_token, token=token, **fields)

    def ask(self, sql: str, action: str = "run", **options: str) -> httpx.Response:
        """Ask, or have it explained; look again until there is an answer, as the page would by itself."""
        reply = self.send("/ask", sql=sql, action=action, **{"epsilon": "0.1"} | options)
        while 'http-equiv="refresh"' in reply.text:
            time.sleep(0.1)
            reply = self.get(reply.url.path)
        return reply

    def _seen(self, reply: httpx.Response) -> httpx.Response:
        found = (
            _TOKEN.search(reply.text) if "html" in reply.headers.get("content-type", "") else None
        )
        self.form_token = found[1] if found else self.form_token
        return reply


def _attribute(mark: str, name: str) -> str:
    found = re.search(rf'\b{name}="([^"]*)"', mark)
    return html.unescape(found[1]) if found else ""


def browser(town: Served, name: str = "ana", role: Role = "analyst") -> Browser:
    """Return somebody's browser, signed in."""
    opened = Browser(town.url)
    reply = opened.sign_in(town.token(name, role))
    assert reply.status_code == 303, reply.text
    opened.get(reply.headers["location"])
    return opened


def words(reply: httpx.Response) -> str:
    """Return what a page says to whoever reads it, without its marks."""
    bare = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", reply.text, flags=re.DOTALL)
    return " ".join(html.unescape(bare).split())
