"""Limits of searches in the console."""

from typing import Any

from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.text import smart_split

MOST_WORDS = 10
MOST_CHARACTERS = 200
TOO_LONG = f"Search for at most {MOST_WORDS} words and {MOST_CHARACTERS} characters."


def is_too_long(term: str) -> bool:
    """Whether a search would be too expensive: each word is a condition on every searched field."""
    return len(term) > MOST_CHARACTERS or sum(1 for _ in smart_split(term)) > MOST_WORDS


class Autocomplete(AutocompleteJsonView):
    """The options of search inputs; for a text that is too long, an option that cannot be selected."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """The matching rows."""
        if is_too_long(request.GET.get("term", "")):
            entry = {"id": "", "text": TOO_LONG, "disabled": True}
            return JsonResponse({"results": [entry], "pagination": {"more": False}})
        return super().get(request, *args, **kwargs)
