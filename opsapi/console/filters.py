"""List filters beyond plain fields."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib.admin import FieldListFilter, ListFilter
from django.contrib.admin.utils import get_fields_from_path
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import AutocompleteSelectFilter, DropdownFilter
from unfold.contrib.filters.forms import AutocompleteDropdownForm


class ChoiceFilter(DropdownFilter):  # type: ignore[misc]  # the theme is not typed
    """A filter by a closed set; other values find nothing.

    `title` and `parameter_name` are Django's, `offered` has the values with their labels.
    """

    offered: ClassVar[tuple[tuple[str, str], ...]] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """All values."""
        return list(self.offered)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The rows with the selected value."""
        value = self.value()
        if not value:
            return queryset
        return self.chosen(queryset, value) if value in dict(self.offered) else queryset.none()

    def chosen(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Rows with one of the `offered` values, by default in the column of the parameter."""
        return rows.filter(**{str(self.parameter_name): value})


class _InVisibleScope(AutocompleteDropdownForm):  # type: ignore[misc]  # the theme is not typed
    """Shows the selected row only to operators who can read it; the theme's filter takes any ID."""

    def __init__(self, request: HttpRequest, name: str, *args: Any, **options: Any) -> None:
        super().__init__(request, name, *args, **options)
        pages = options["model_admin"].admin_site.get_model_admin(options["field"].remote_field.model)
        self.fields[name].queryset = pages.get_queryset(request)


class RelatedFilter(AutocompleteSelectFilter):  # type: ignore[misc]  # the theme is not typed
    """A filter by a related row, with search, among rows that the operator can read."""

    form_class = _InVisibleScope


def expected_parameters(pages: Any, request: HttpRequest) -> Iterator[str | None]:
    """The URL parameters of a list's filters."""
    for declared in pages.get_list_filter(request):
        yield from _new_filter(declared, pages, request).expected_parameters()


def _new_filter(declared: Any, pages: Any, request: HttpRequest) -> ListFilter:
    """Creates a filter as Django's list does: from a class, a field with a class, or a field."""
    if callable(declared):
        new_filter: ListFilter = declared(request, {}, pages.model, pages)
        return new_filter
    path, kind = declared if isinstance(declared, tuple) else (declared, FieldListFilter.create)
    field = get_fields_from_path(pages.model, path)[-1]
    of_field: ListFilter = kind(field, request, {}, pages.model, pages, field_path=path)
    return of_field
