"""URLs of the console's model pages."""

from django.apps import apps
from django.contrib.admin.utils import quote
from django.db.models import Model
from django.urls import reverse
from django.utils.http import urlencode


def list_url(model: type[Model], **filters: str | int) -> str:
    """The list of a model's rows, with filters in the URL."""
    url = reverse(f"admin:{_name(model)}_changelist")
    return f"{url}?{urlencode(filters)}" if filters else url


def list_url_named(label: str, **filters: str | int) -> str:
    """As `list_url`, by label for a model that must not be imported: `alerting.alert`."""
    return list_url(apps.get_model(label), **filters)


def page_url(row: Model) -> str:
    """The page of a row."""
    return page_url_of(type(row), row.pk)


def page_url_of(model: type[Model], pk: str | int) -> str:
    """The page of a row, by its key."""
    return reverse(f"admin:{_name(model)}_change", args=[quote(pk)])


def page_url_named(label: str, pk: str | int) -> str:
    """As `page_url_of`, by label for a model that must not be imported."""
    return page_url_of(apps.get_model(label), pk)


def action_url(model: type[Model], pk: str | int, name: str, **typed: str) -> str:
    """The page of an action on a row, with initial form values."""
    url = reverse(f"admin:{_name(model)}_do", args=[quote(pk), name])
    return f"{url}?{urlencode(typed)}" if any(typed.values()) else url


def creation_url(model: type[Model], name: str, **typed: str) -> str:
    """The page that creates rows, with initial form values."""
    url = reverse(f"admin:{_name(model)}_create", args=[name])
    return f"{url}?{urlencode(typed)}" if any(typed.values()) else url


def add_url_named(label: str, **typed: str) -> str:
    """The page that creates a row, by label for a model that must not be imported, with initial values."""
    return f"{reverse(f'admin:{_name(apps.get_model(label))}_add')}?{urlencode(typed)}"


def _name(model: type[Model]) -> str:
    return f"{model._meta.app_label}_{model._meta.model_name}"
