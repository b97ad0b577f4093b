"""URLs of the console's model pages. A model that must not be imported has its label: `alerting.alert`."""

from collections.abc import Mapping

from django.contrib.admin.utils import quote
from django.db.models import Model
from django.urls import reverse
from django.utils.http import urlencode


def list_url(model: type[Model] | str, **filters: str | int) -> str:
    """The list of a model's rows, with filters in the URL."""
    return _with_query(reverse(f"admin:{name_of(model)}_changelist"), filters)


def page_url(row: Model) -> str:
    """The page of a row."""
    return page_url_of(type(row), row.pk)


def page_url_of(model: type[Model] | str, pk: str | int) -> str:
    """The page of a row, by its key."""
    return reverse(f"admin:{name_of(model)}_change", args=[quote(pk)])


def action_url(model: type[Model], pk: str | int, name: str, **typed: str) -> str:
    """The page of an action on a row, with initial form values."""
    return _with_query(reverse(f"admin:{name_of(model)}_do", args=[quote(pk), name]), typed)


def creation_url(model: type[Model] | str, name: str, **typed: str) -> str:
    """The page that creates rows, with initial form values."""
    return _with_query(reverse(f"admin:{name_of(model)}_create", args=[name]), typed)


def add_url(model: type[Model] | str, **typed: str) -> str:
    """The page that creates a row, with initial form values."""
    return _with_query(reverse(f"admin:{name_of(model)}_add"), typed)


def _with_query(url: str, values: Mapping[str, str | int]) -> str:
    return f"{url}?{urlencode(values)}" if any(value != "" for value in values.values()) else url


def name_of(model: type[Model] | str) -> str:
    """The first words of the names of the URLs of a model's pages."""
    label = model if isinstance(model, str) else model._meta.label_lower
    return label.replace(".", "_")
