"""The navigation: every list that the operator can see, by section."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from opsapi.console.actions import operator_of
from opsapi.console.display import Context
from opsapi.console.model_admin import ConsoleAdmin, Section
from opsapi.roles import INSTALLATION, Role, satisfies

_OVERVIEW = "Overview"


@dataclass(frozen=True, slots=True)
class _OwnPage:
    """A page that is not the list of a model: its place, its URL by name, and the global role it needs."""

    section: Section
    title: str
    icon: str
    url_name: str
    role: Role


_OWN_PAGES = (_OwnPage(Section.PLATFORM, "Mail server", "mail", "mail_server", Role.GLOBAL_OWNER),)


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
    grants = operator_of(request).grants
    for page in _OWN_PAGES:
        if page.section is section and satisfies(grants, page.role, INSTALLATION):
            url = reverse(page.url_name)
            items.append(_item(page.title, page.icon, url, request.path == url))
    return {"title": section.value, "items": items}


def _title(admin: ConsoleAdmin) -> str:
    plural = str(admin.opts.verbose_name_plural)
    return plural[0].upper() + plural[1:]


def _item(title: str, icon: str, link: str, active: bool) -> Context:
    return {"title": title, "icon": icon, "link": link, "active": active, "has_permission": True}
