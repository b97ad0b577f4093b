"""Presentation of values in the console, and links between rows for operators who can see the target."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar

from django.apps import apps
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.core.exceptions import FieldDoesNotExist
from django.db.models import ForeignKey, Model
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from opsapi import clock
from opsapi.api.principal import VisibleScope
from opsapi.clock import age_words, time_words
from opsapi.console.admin_urls import page_url
from opsapi.roles import ROLE_WORDS, Role

T = TypeVar("T")
Context = dict[str, Any]
"""The context of a page's template."""

EMPTY = "–"
"""Shown for a missing value."""
LONGEST = 60
"""Maximum characters of a value in a list. The tooltip and the page of the row show all of it."""


def short(text: str | None) -> str | SafeString | None:
    """A value in a list, cut if it is too long for the table."""
    if text is None or len(text) <= LONGEST:
        return text
    return format_html('<span title="{}">{}</span>', text, Truncator(text).chars(LONGEST))


def short_field(name: str) -> Callable[[Any], str | SafeString | None]:
    """A list column: a field of the row, cut if it is long."""

    @admin.display(description=name.replace("_", " "), ordering=name)
    def shown(row: Any) -> str | SafeString | None:
        return short(getattr(row, name))

    shown.__name__ = f"short_{name}"
    return shown


def once_for_row(display: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A method of a model page that shows a value of a row, called once for each row that was read.

    The template of a page asks for each value of its row several times.
    """

    @wraps(display)
    def remembered(pages: Any, row: Any) -> Any:
        values = vars(row).setdefault("_displayed", {})
        if display not in values:
            values[display] = display(pages, row)
        return values[display]

    return remembered


@admin.display(description="project", ordering="group__name")
def project(row: Any) -> str | SafeString | None:
    """A list column: the project of the row. Operators who can see the row can see it."""
    return link(page_url(row.group), short(row.group.name)) if row.group else None


@admin.display(description="project", ordering="group_id")
def project_id(row: Any) -> str | None:
    """A column of rows that have only the ID of a project; they may outlive it."""
    return row.group_id or None


def cut(rows: Sequence[T], most: int) -> tuple[Sequence[T], int]:
    """The first rows and the number of others, for `more_words` or console/more.html."""
    return rows[:most], max(0, len(rows) - most)


def link(url: str, text: object) -> SafeString:
    """A link to another page, in a cell or a field."""
    return format_html('<a class="console-link" href="{}">{}</a>', url, text)


def badge(words: str, tone: str) -> SafeString:
    """A state as a label; `tone` is its severity (`opsapi.console.widgets.Tone`)."""
    return render_to_string("unfold/helpers/label.html", {"text": words, "type": tone})


def tipped(words: str, name: str) -> SafeString:
    """A name in words, with the name in the API as a tooltip."""
    return format_html('<span title="{}">{}</span>', name, words)


def named(words: str, name: str) -> SafeString:
    """A name in words, and below it the name in the API."""
    return format_html('{} <small class="console-name">{}</small>', words, name)


def role_shown(role: str) -> SafeString:
    """A role by its name, with what it allows and its name in the API as a tooltip."""
    words = ROLE_WORDS[Role(role)]
    return tipped(words.name, f"{role}: {words.allows}")


def role_choice(role: str) -> SafeString:
    """A role to choose: its name, what it allows, and its name in the API."""
    words = ROLE_WORDS[Role(role)]
    return format_html('<b>{}</b>: {} <small class="console-name">{}</small>', words.name, words.allows, role)


def role_choices(roles: Iterable[Role]) -> list[tuple[str, SafeString]]:
    """The choices of a field for roles."""
    return [(role.value, role_choice(role)) for role in roles]


def ago(moment: datetime | None) -> SafeString | str:
    """`3 h 20 min ago`, with the exact time as a tooltip; a dash for never."""
    if moment is None:
        return EMPTY
    wire, exact, age = clock.wire_time(moment), time_words(moment), age_words(clock.now() - moment)
    # Narrow columns break the text only before the last word.
    words = format_html('<span class="console-age">{}</span> ago', age)
    return format_html('<time datetime="{}" title="{}">{}</time>', wire, exact, words)


def moment(at: datetime | None) -> SafeString | str:
    """A time on a single line."""
    if at is None:
        return EMPTY
    words = time_words(at)
    return format_html('<time class="console-age" datetime="{}">{}</time>', clock.wire_time(at), words)


def pretty_json(value: Any) -> SafeString:
    """A JSON value, indented and escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return format_html('<pre class="json">{}</pre>', text)


def json_field(name: str, label: str | None = None) -> Callable[[Any], str]:
    """A field of a page: the row's field as readable JSON."""

    @admin.display(description=label or name.replace("_", " "))
    def shown(row: Any) -> str:
        value = getattr(row, name)
        return EMPTY if value is None else pretty_json(value)

    shown.__name__ = f"{name}_json"
    return shown


def url_seen(site: AdminSite, visible_scope: VisibleScope, row: Model | None) -> str:
    """Return the URL of a row's page; empty if it has none, is deleted, or is not visible."""
    pages: Any = site._registry.get(type(row)) if row is not None else None
    return page_url(row) if row is not None and pages is not None and pages.shows(row, visible_scope) else ""


def urls_seen(
    site: AdminSite, visible_scope: VisibleScope, label: str, field: str, values: Iterable[str | None]
) -> dict[str, str]:
    """Return the page of each visible row of a model, by the value of `field`, as `rows_seen`."""
    rows = rows_seen(site, visible_scope, label, field, values)
    return {getattr(row, field): page_url(row) for row in rows}


def rows_seen(
    site: AdminSite, visible_scope: VisibleScope, label: str, field: str, values: Iterable[str | None]
) -> Iterable[Any]:
    """Return the visible rows of a model with one of the values in `field`, with at most one query.

    `label` names the model, such as `accesslist.user`.
    """
    wanted, model = {value for value in values if value}, apps.get_model(label)
    pages: Any = site._registry.get(model)
    if not wanted or pages is None:
        return ()
    rows: Iterable[Any] = pages.visible(
        model._default_manager.filter(**{f"{field}__in": wanted}), visible_scope
    )
    return rows


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
