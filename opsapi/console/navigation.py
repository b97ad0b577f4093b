"""The navigation: every list that the operator can see, by section, and the document of each page."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst

from opsapi.apps import contributions
from opsapi.console.actions import operator_of
from opsapi.console.display import Context
from opsapi.console.model_admin import ConsoleAdmin, Section
from opsapi.console.page_links import PageLink
from opsapi.page_paths import DOCUMENTS_PATH
from opsapi.roles import INSTALLATION, satisfies

_OVERVIEW = "Overview"
CONSOLE_DOCUMENT = "how-to/use-the-console"
"""The document of pages that have none of their own."""
OWN_HELP: Mapping[str, str] = {
    "index": f"{CONSOLE_DOCUMENT}#pages",
    "login": f"{CONSOLE_DOCUMENT}#log-in",
    "account": f"{CONSOLE_DOCUMENT}#log-in",
}
"""The document and heading of the site's own pages, by the first word of the URL's name."""


def page_links() -> list[PageLink]:
    """Return the `page_links` of every app's AppConfig."""
    return [link for links in contributions("page_links") for link in links]


def navigation(request: HttpRequest, admins: Iterable[Any]) -> list[Context]:
    """The sections with their links, as the theme takes them."""
    listed = sorted(
        (admin for admin in admins if isinstance(admin, ConsoleAdmin)), key=lambda admin: admin.rank
    )
    permitted_admins = [admin for admin in listed if admin.has_module_permission(request)]
    home = reverse("admin:index")
    first = {"items": [_item(_OVERVIEW, home, icon="space_dashboard", active=request.path == home)]}
    sections = [_section(section, permitted_admins, request) for section in Section]
    return [first, *[section for section in sections if section["items"]]]


def _section(section: Section, admins: Iterable[ConsoleAdmin], request: HttpRequest) -> Context:
    items = [
        _item(
            capfirst(str(admin.opts.verbose_name_plural)),
            admin.list_url(),
            icon=admin.icon,
            active=request.path.startswith(admin.list_url()),
        )
        for admin in admins
        if admin.section is section
    ]
    grants = operator_of(request).grants
    if section is Section.PLATFORM:
        for link in sorted(page_links(), key=lambda link: link.title):
            if satisfies(grants, link.role, INSTALLATION):
                url = reverse(link.name)
                items.append(_item(link.title, url, icon=link.icon, active=request.path == url))
    return {"title": section.value, "items": items}


def _item(title: str, link: str, *, icon: str, active: bool) -> Context:
    return {"title": title, "icon": icon, "link": link, "active": active, "has_permission": True}


def help_for(url_name: str, admins: Iterable[Any]) -> str:
    """Return the document of a page: the `help` of its model's pages or its link, otherwise of the site."""
    for pages in admins:
        if isinstance(pages, ConsoleAdmin) and url_name.startswith(f"{pages.url_prefix}_"):
            is_of_row = url_name == f"{pages.url_prefix}_change"
            return (is_of_row and pages.help_of_row) or pages.help
    linked = {link.name: link.help for link in page_links()}
    return linked.get(url_name) or OWN_HELP.get(url_name.partition("_")[0], CONSOLE_DOCUMENT)


def help_url(request: HttpRequest, admins: Iterable[Any]) -> str:
    """The address of the document of the page that is shown."""
    match = getattr(request, "resolver_match", None)
    document, mark, heading = help_for((match and match.url_name) or "", admins).partition("#")
    return f"{DOCUMENTS_PATH}{document}.html{mark}{heading}"
