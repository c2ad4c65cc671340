"""Which page is at which address."""

from __future__ import annotations

from starlette.routing import Route

from sanql.server.settings import WAY_BACK
from sanql.server.web import asking, entering, overseeing, owning, reading, signing_on
from sanql.server.web.static_files import static_file


def web_routes() -> list[Route]:
    """Return the routes of all pages; whatever spends or changes something is a POST."""
    return [
        Route("/", entering.front),
        Route("/static/{name}", static_file),
        Route("/sign-in", entering.sign_in_page, methods=["GET"]),
        Route("/sign-in", entering.sign_in, methods=["POST"]),
        Route("/sign-on", signing_on.sign_on, methods=["GET"]),
        Route(WAY_BACK, signing_on.signed_on, methods=["GET"]),
        Route("/sign-out", entering.sign_out, methods=["POST"]),
        Route("/dataset", entering.choose_dataset, methods=["POST"]),
        Route("/ask", asking.ask_page, methods=["GET"]),
        Route("/ask", asking.ask, methods=["POST"]),
        Route("/ask/price", asking.price, methods=["POST"]),
        Route("/ask/words", asking.words, methods=["GET"]),
        Route("/questions/{id}", asking.question, methods=["GET"]),
        Route("/questions/{id}/state", asking.question_progress, methods=["GET"]),
        Route("/questions/{id}/download", asking.download, methods=["GET"]),
        Route("/questions/{id}/cancel", asking.cancel, methods=["POST"]),
        Route("/history", reading.history_page, methods=["GET"]),
        Route("/history/{id}", reading.answer_again, methods=["GET"]),
        Route("/history/{id}/download", reading.download_again, methods=["GET"]),
        Route("/schema", reading.schema_page, methods=["GET"]),
        Route("/budgets", reading.budgets_page, methods=["GET"]),
        Route("/ledger", overseeing.ledger_page, methods=["GET"]),
        Route("/meaning", overseeing.meaning_page, methods=["GET"]),
        Route("/policy", owning.policy_page, methods=["GET"]),
        Route("/policy", owning.policy_changed, methods=["POST"]),
        Route("/people", owning.people_page, methods=["GET"]),
        Route("/people", owning.people_changed, methods=["POST"]),
    ]
