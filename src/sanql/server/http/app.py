"""The application: which route is which, behind the guard."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from sanql.server.http import asking, batches, overseeing, reading, watching
from sanql.server.http.exchange import json_reply
from sanql.server.http.guard import Guard
from sanql.server.http.openapi import describe_api
from sanql.server.service import Service
from sanql.server.web.rendering import problem_page
from sanql.server.web.routes import web_routes


def http_app(service: Service, version: str) -> ASGIApp:
    """Return the application that serves a service over HTTP."""
    described = describe_api(version)

    async def openapi(http: HttpRequest) -> Response:
        """Describe the interface."""
        return json_reply(described)

    router = Router(
        redirect_slashes=False,
        routes=[
            Route("/health", watching.health),
            Route("/ready", watching.ready),
            Route("/metrics", watching.metrics),
            Route("/openapi.json", openapi),
            Route("/v1/datasets", reading.datasets),
            Route("/v1/schema", reading.schema),
            Route("/v1/budget", reading.budget),
            Route("/v1/profiles", reading.profiles),
            Route("/v1/history", reading.list_history),
            Route("/v1/history/{id}", reading.read_history),
            Route("/v1/certificate/{id}", reading.read_certificate),
            Route("/v1/query", asking.query, methods=["POST"]),
            Route("/v1/explain", asking.explain, methods=["POST"]),
            Route("/v1/batch", batches.batch, methods=["POST"]),
            Route("/v1/batch/explain", batches.explain, methods=["POST"]),
            Route("/v1/suggest", asking.suggest, methods=["POST"]),
            Route("/v1/questions", asking.begin_question, methods=["POST"]),
            Route("/v1/questions/{id}", asking.question_state, methods=["GET"]),
            Route("/v1/questions/{id}", asking.cancel_question, methods=["DELETE"]),
            Route("/v1/ledger", overseeing.ledger),
            Route("/v1/ledger/erase", overseeing.erase, methods=["POST"]),
            Route("/v1/verify", overseeing.verify),
            Route("/v1/profile", overseeing.profile, methods=["POST"]),
            Route("/v1/refresh", overseeing.refresh, methods=["POST"]),
            Route("/v1/reload", overseeing.reload, methods=["POST"]),
            *web_routes(),
        ],
    )
    return Guard(router, service, partial(problem_page, None))
