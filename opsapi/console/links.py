"""Links between rows, for operators who can see the target."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.admin import AdminSite
from django.core.exceptions import FieldDoesNotExist
from django.db.models import ForeignKey, Model
from django.utils.safestring import SafeString

from opsapi.api.principal import VisibleScope
from opsapi.console.admin_urls import page_url
from opsapi.console.display import link, short


def url_seen(site: AdminSite, visible_scope: VisibleScope, row: Model | None) -> str:
    """Return the URL of a row's page; empty if it has none, is deleted, or is not visible."""
    pages: Any = site._registry.get(type(row)) if row is not None else None
    return page_url(row) if row is not None and pages is not None and pages.shows(row, visible_scope) else ""


def urls_seen(
    site: AdminSite, visible_scope: VisibleScope, label: str, field: str, values: Iterable[str | None]
) -> dict[str, str]:
    """Return the page of each visible row of a model, by the value of `field`, with at most one query.

    `label` names the model, such as `accesslist.user`.
    """
    wanted, model = {value for value in values if value}, apps.get_model(label)
    pages: Any = site._registry.get(model)
    if not wanted or pages is None:
        return {}
    rows = pages.visible(model._default_manager.filter(**{f"{field}__in": wanted}), visible_scope)
    return {getattr(row, field): page_url(row) for row in rows}


@dataclass(frozen=True)
class RelatedColumn:
    """A column of a list, or a field of a page: a related row by its name, with a link to its page.

    Columns with the same name are equal: Django compares shown with writable columns.
    """

    site: AdminSite
    visible_scope: VisibleScope
    model: type[Model]
    name: str

    def __call__(self, row: Any) -> str | SafeString | None:
        """The name; None without a related row."""
        related = getattr(row, self.name)
        if related is None:
            return None
        url = url_seen(self.site, self.visible_scope, related)
        text = short(str(related))
        return link(url, text) if url else text

    @property
    def __name__(self) -> str:
        """Django reads this from columns, as if they were functions."""
        return self.name

    @property
    def short_description(self) -> str:
        """The heading of the column."""
        field: Any = self.model._meta.get_field(self.name)
        return str(field.verbose_name)

    @property
    def admin_order_field(self) -> str:
        """Sorts by the ID of the related row, as Django does for the field."""
        return self.name


def with_links(names: Any, *, site: AdminSite, visible_scope: VisibleScope, model: type[Model]) -> list[Any]:
    """The columns or fields of a model, with related rows as links."""
    return [
        RelatedColumn(site, visible_scope, model, name) if _is_related(model, name) else name
        for name in names
    ]


def _is_related(model: type[Model], name: Any) -> bool:
    if not isinstance(name, str):
        return False
    try:
        return isinstance(model._meta.get_field(name), ForeignKey)
    except FieldDoesNotExist:
        return False
