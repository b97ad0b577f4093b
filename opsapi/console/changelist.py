"""The list of a model's rows: its title, active filters, search and pages. Searches and pages have limits."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

from django import forms
from django.contrib.admin import ListFilter
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.functional import cached_property
from django.utils.http import urlencode
from django.utils.text import capfirst, smart_split
from unfold.templatetags import unfold_list
from unfold.views import ChangeList

from opsapi.console.project_choice import PARAMETER

MOST_ROWS = 5_000
"""Maximum number of rows in a list. Search and filters find the other rows."""
MOST_WORDS = 10
MOST_CHARACTERS = 200
TOO_LONG = f"Search for at most {MOST_WORDS} words and {MOST_CHARACTERS} characters."

# The theme repeats two dozen names of classes in every cell. The same rules are in `console.css`, so a cell
# needs one name: the HTML of a long list has half the length.
unfold_list.ROW_CLASSES[:] = ["console-cell"]
unfold_list.CHECKBOX_CLASSES[:] = ["console-cell", "action-checkbox"]

FILTER_MEDIA = forms.Media(
    js=[
        "admin/js/vendor/jquery/jquery.min.js",
        "admin/js/vendor/select2/select2.full.min.js",
        "admin/js/jquery.init.js",
        "unfold/js/select2.init.js",
    ],
    css={"screen": ["admin/css/vendor/select2/select2.min.css", "admin/css/autocomplete.css"]},
)
"""As the theme's forms of filters, minified."""


@dataclass(frozen=True, slots=True)
class Chip:
    """An active filter: its name, its value, and the URL of the list without it."""

    title: str
    value: str
    url: str


def chosen_words(field: forms.Field, text: str) -> str:
    """The selected value of a field, as shown in its choices."""
    choices: Any = field.choices if isinstance(field, forms.ChoiceField) else ()
    return str(dict(choices).get(text, text))


class ConsoleChangeList(ChangeList):  # type: ignore[misc]  # the theme is not typed
    """A list with the model's name as title. Shows the number of results only for searches and filters."""

    def __init__(self, request: HttpRequest, *args: Any, **options: Any) -> None:
        super().__init__(request, *args, **options)
        self.title = self.model_admin.list_title
        self.first_step = self.model_admin.first_step(request)

    def get_results(self, request: HttpRequest) -> None:
        """Without search and filters, the result is the whole list."""
        super().get_results(request)
        if not self.multi_page:
            # Django does not sort here; our paginator may have its own order.
            self.result_list = self.paginator.page(1).object_list
        # Read here once; every reader of the list shares it.
        self.model_admin.look_up(request, list(self.result_list))
        if not (self.query or self.has_active_filters):
            self.full_result_count = self.result_count

    def get_filters_params(self, params: Any = None) -> Any:
        """Without the project that the operator works with, which is no filter of the list's own."""
        filters = super().get_filters_params(params)
        filters.pop(PARAMETER, None)
        return filters

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> Any:
        """The rows of the project that the operator works with, if the list has rows of projects."""
        rows = super().get_queryset(request, exclude_parameters)
        project = request.GET.get(PARAMETER)
        return rows.filter(group_id=project) if project and self.model_admin.is_of_projects else rows

    def filter_media(self) -> forms.Media:
        """The scripts and styles of the filters."""
        return FILTER_MEDIA if self.has_filters else forms.Media()

    def chips(self) -> list[Chip]:
        """The active filters, each with a link that removes it."""
        return list(self._chips())

    def _chips(self) -> Iterator[Chip]:
        for spec in self.filter_specs:
            own = [name for name in spec.expected_parameters() if any(self.filter_params.get(name, ()))]
            if own:
                others = [(name, texts) for name, texts in self.filter_params.items() if name not in own]
                url = f"?{urlencode(others, doseq=True)}"
                yield Chip(capfirst(str(spec.title)), self._chosen(spec, own[0]), url)

    def _chosen(self, spec: ListFilter, name: str) -> str:
        """The selected value of a filter, as shown in its choices."""
        choices: list[Any] = list(spec.choices(self))
        form: forms.Form | None = choices[0].get("form") if choices else None
        if form is None:
            return ", ".join(str(choice["display"]) for choice in choices if choice["selected"])
        text, field = str(self.filter_params[name][-1]), form.fields.get(name)
        if isinstance(field, forms.ModelChoiceField):
            row = field.queryset.filter(pk=text).first() if field.queryset is not None else None
            return str(row or text)
        return chosen_words(field, text) if field else text


def containing(words: Iterable[str], fields: Collection[str]) -> Q:
    """Return the condition that each word is a part of one of the fields."""
    of_words = (reduce(or_, (Q(**{f"{name}__icontains": word}) for name in fields)) for word in words)
    return reduce(and_, of_words, Q())


def is_too_long(term: str) -> bool:
    """Whether a search is too expensive: each word is a condition on every searched field."""
    return len(term) > MOST_CHARACTERS or sum(1 for _ in smart_split(term)) > MOST_WORDS


class Autocomplete(AutocompleteJsonView):
    """The options of search inputs; for a text that is too long, an option that cannot be selected."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """The matching rows."""
        if is_too_long(request.GET.get("term", "")):
            entry = {"id": "", "text": TOO_LONG, "disabled": True}
            return JsonResponse({"results": [entry], "pagination": {"more": False}})
        return super().get(request, *args, **kwargs)


class BoundedPaginator(Paginator[Any]):
    """Counts at most MOST_ROWS rows, so that the cost of a list does not depend on the size of its table.

    The last page also skips at most this many rows.
    """

    @cached_property
    def count(self) -> int:
        """Number of rows, at most MOST_ROWS."""
        rows: Any = self.object_list
        return int(rows.order_by()[:MOST_ROWS].count())

    @property
    def is_cut(self) -> bool:
        """Whether there may be rows after the last page."""
        return self.count >= MOST_ROWS
