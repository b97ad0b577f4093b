"""What a search of the console takes."""

from typing import Any

from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.text import smart_split

MOST_WORDS = 10
MOST_CHARACTERS = 200
TOO_LONG = f"Search for at most {MOST_WORDS} words and {MOST_CHARACTERS} characters."


def is_too_long(term: str) -> bool:
    """Whether a search would cost too much: each word is a condition on every field that is searched."""
    return len(term) > MOST_CHARACTERS or sum(1 for _ in smart_split(term)) > MOST_WORDS


class Autocomplete(AutocompleteJsonView):
    """What inputs that are searched by typing offer; for too long a text an entry nobody can choose."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """The rows found."""
        if is_too_long(request.GET.get("term", "")):
            told = {"id": "", "text": TOO_LONG, "disabled": True}
            return JsonResponse({"results": [told], "pagination": {"more": False}})
        return super().get(request, *args, **kwargs)
