"""The navigation: every list that the operator can see, by section."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from opsapi.console.display import Context
from opsapi.console.model_admin import ConsoleAdmin, Section

_OVERVIEW = "Overview"


def navigation(request: HttpRequest, admins: Iterable[Any]) -> list[Context]:
    """The sections with their links, as the theme takes them."""
    listed = sorted((one for one in admins if isinstance(one, ConsoleAdmin)), key=lambda one: one.rank)
    shown = [one for one in listed if one.has_module_permission(request)]
    home = reverse("admin:index")
    first = {"items": [_item(_OVERVIEW, "space_dashboard", home, request.path == home)]}
    sections = [_section(section, shown, request) for section in Section]
    return [first, *[one for one in sections if one["items"]]]


def _section(section: Section, admins: Iterable[ConsoleAdmin], request: HttpRequest) -> Context:
    items = [
        _item(_title(one), one.icon, one.list_url(), request.path.startswith(one.list_url()))
        for one in admins
        if one.section is section
    ]
    return {"title": section.value, "items": items}


def _title(admin: ConsoleAdmin) -> str:
    plural = str(admin.opts.verbose_name_plural)
    return plural[0].upper() + plural[1:]


def _item(title: str, icon: str, link: str, active: bool) -> Context:
    return {"title": title, "icon": icon, "link": link, "active": active, "has_permission": True}
