"""Cookies: the session's, and for minutes that of a wish to be signed on; set, read and taken back."""

from __future__ import annotations

import re

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sanql.server.http.exchange import service_of
from sanql.server.http.guard import host_name
from sanql.server.settings import is_loopback

_WISH_SECONDS = 600
_COOKIE = re.compile(r"[0-9a-f]{64}", re.ASCII)


def cookie_of(http: HttpRequest) -> str | None:
    """Return the cookie that a browser sends, if it can be one of ours."""
    sent = http.cookies.get(_name(http), "")
    return sent if _COOKIE.fullmatch(sent) else None


def set_cookie(http: HttpRequest, reply: Response, cookie: str) -> None:
    """Have a browser keep a cookie: no script reads it, and no page of another site has it sent."""
    secure = is_over_tls(http)
    reply.set_cookie(_name(http), cookie, httponly=True, samesite="strict", secure=secure, path="/")


def drop_cookie(http: HttpRequest, reply: Response) -> None:
    """Have a browser forget its cookie."""
    secure = is_over_tls(http)
    reply.delete_cookie(_name(http), httponly=True, samesite="strict", secure=secure, path="/")


def wish_cookie_of(http: HttpRequest) -> str | None:
    """Return the cookie of a wish to be signed on, which comes back from the provider's site too."""
    sent = http.cookies.get(_wish_name(http), "")
    return sent if _COOKIE.fullmatch(sent) else None


def set_wish_cookie(http: HttpRequest, reply: Response, cookie: str) -> None:
    """Have a browser keep the cookie of a wish for a while; it is good for nothing else."""
    reply.set_cookie(
        _wish_name(http),
        cookie,
        max_age=_WISH_SECONDS,
        httponly=True,
        samesite="lax",
        secure=is_over_tls(http),
        path="/",
    )


def drop_wish_cookie(http: HttpRequest, reply: Response) -> None:
    """Have a browser forget the cookie of a wish."""
    secure = is_over_tls(http)
    reply.delete_cookie(_wish_name(http), httponly=True, samesite="lax", secure=secure, path="/")


def is_over_tls(http: HttpRequest) -> bool:
    """Return whether what a browser sends is encrypted, here or by a proxy.

    Without a certificate San listens on loopback alone, so that whoever asks for another name comes
    through a proxy; one that does not encrypt gets a cookie that no browser keeps.
    """
    return service_of(http).settings.certificate is not None or not is_loopback(
        host_name(http.headers.get("host", "")) or ""
    )


def _wish_name(http: HttpRequest) -> str:
    return f"{_name(http)}-sign-on"


def _name(http: HttpRequest) -> str:
    return "__Host-sanql" if is_over_tls(http) else "sanql"
