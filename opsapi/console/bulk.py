"""Actions on many rows of a list."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from opsapi.console.action_pages import MOST_ROWS, ActionPage
from opsapi.console.actions import Action

if TYPE_CHECKING:
    from opsapi.console.model_admin import ConsoleAdmin

NONE_LEFT = "None of the selected items exists any more."
DoToMany = Callable[["ConsoleAdmin", HttpRequest, "models.QuerySet[Any]"], HttpResponse]


def to_many(name: str, action: Action) -> DoToMany:
    """A function for Django that identifies this action; a request may name several."""

    def do(admin: "ConsoleAdmin", request: HttpRequest, chosen: "models.QuerySet[Any]") -> HttpResponse:
        # In a fixed order: services take locks, and two operators may act at once.
        rows = list(chosen.order_by("pk")[: MOST_ROWS + 1])
        if not rows:
            return _refused(request, NONE_LEFT)
        if len(rows) > MOST_ROWS:
            return _refused(request, f"Select at most {MOST_ROWS} items at once.")
        return ActionPage(admin, request, action, rows, name=name).answer()

    return do


def _refused(request: HttpRequest, reason: str) -> HttpResponse:
    """Back to the list, with the reason."""
    messages.error(request, reason)
    return redirect(request.get_full_path())
