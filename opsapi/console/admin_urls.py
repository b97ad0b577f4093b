"""URLs of the console's model pages. A model that must not be imported has its label: `alerting.alert`."""

from django.contrib.admin.utils import quote
from django.db.models import Model
from django.urls import reverse
from django.utils.http import urlencode


def list_url(model: type[Model] | str, **filters: str | int) -> str:
    """The list of a model's rows, with filters in the URL."""
    url = reverse(f"admin:{_name(model)}_changelist")
    return f"{url}?{urlencode(filters)}" if filters else url


def page_url(row: Model) -> str:
    """The page of a row."""
    return page_url_of(type(row), row.pk)


def page_url_of(model: type[Model] | str, pk: str | int) -> str:
    """The page of a row, by its key."""
    return reverse(f"admin:{_name(model)}_change", args=[quote(pk)])


def action_url(model: type[Model], pk: str | int, name: str, **typed: str) -> str:
    """The page of an action on a row, with initial form values."""
    url = reverse(f"admin:{_name(model)}_do", args=[quote(pk), name])
    return f"{url}?{urlencode(typed)}" if any(typed.values()) else url


def creation_url(model: type[Model], name: str, **typed: str) -> str:
    """The page that creates rows, with initial form values."""
    url = reverse(f"admin:{_name(model)}_create", args=[name])
    return f"{url}?{urlencode(typed)}" if any(typed.values()) else url


def add_url_named(label: str, **typed: str) -> str:
    """The page that creates a row, with initial form values."""
    return f"{reverse(f'admin:{_name(label)}_add')}?{urlencode(typed)}"


def _name(model: type[Model] | str) -> str:
    label = model if isinstance(model, str) else model._meta.label_lower
    return label.replace(".", "_")
