"""The navigation: entries and tabs that the operator can see, breadcrumbs, and the document of each page."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from opsapi.console.actions import operator_of
from opsapi.console.admin_urls import creation_url, list_url, name_of
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.console.sitemap import ENTRIES, SitemapEntry, SitePage, page_links, place_of_url
from opsapi.page_paths import DOCUMENTS_PATH
from opsapi.roles import INSTALLATION, satisfies

CONSOLE_DOCUMENT = "how-to/use-the-console"
"""The document of pages that have none of their own."""
OWN_HELP: Mapping[str, str] = {
    "index": f"{CONSOLE_DOCUMENT}#pages",
    "login": f"{CONSOLE_DOCUMENT}#log-in",
    "account": f"{CONSOLE_DOCUMENT}#log-in",
}
"""The document and heading of the site's own pages, by the first word of the URL's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLink:
    """A link of the navigation."""

    title: str
    url: str
    current: str = ""
    """`page` for the page that is shown, `true` for the entry or list to which it belongs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryLink(SiteLink):
    """The link of an entry."""

    icon: str
    key: str


class Navigation:
    """The sitemap as an operator sees it from a page."""

    def __init__(self, request: HttpRequest, admins: Iterable[Any]) -> None:
        self._request = request
        self._admins = {name_of(pages.model): pages for pages in admins if isinstance(pages, ConsoleAdmin)}
        match = request.resolver_match
        self._url_name = (match and match.url_name) or ""
        self._shown_action = match.kwargs.get("name") if match else None
        self.place = place_of_url(self._url_name)

    def entries(self) -> list[EntryLink]:
        """The entries that have a page for the operator."""
        return [link for entry in ENTRIES if (link := self._entry(entry))]

    def tabs(self) -> list[SiteLink]:
        """The pages of the entry to which the shown page belongs, if it is one of several tabs."""
        if self.place is None or not self._is_tab():
            return []
        tabs = [self._tab(page) for page in self._pages(self.place.entry)]
        return tabs if len(tabs) > 1 else []

    def everything(self) -> Iterator[tuple[SitemapEntry, list[SiteLink]]]:
        """Each entry with its pages, tabs or not, as far as the operator can see them."""
        for entry in ENTRIES:
            yield entry, [self._tab(page) for page in entry.pages if self._sees(page)]

    def crumbs(self) -> list[SiteLink]:
        """The entry and the list to which the shown page belongs."""
        if self.place is None or (entry := self._entry(self.place.entry)) is None:
            return []
        page = self.place.page
        if page.title == entry.title:
            return [entry]
        return [entry, SiteLink(title=page.title, url=self._url(page))]

    def _entry(self, entry: SitemapEntry) -> EntryLink | None:
        first = next(self._pages(entry), None)
        if first is None:
            return None
        url = self._url(first)
        current = ""
        if self.place and self.place.entry is entry:
            current = "page" if self._request.path == url else "true"
        return EntryLink(title=entry.title, url=url, current=current, icon=entry.icon, key=entry.key)

    def _tab(self, page: SitePage) -> SiteLink:
        return SiteLink(
            title=page.title, url=self._url(page), current="page" if page is self._shown_page() else ""
        )

    def _is_tab(self) -> bool:
        """Whether the shown page is itself a tab, not the page of a row or a form."""
        page = self._shown_page()
        return page is not None and page.is_tab

    def _shown_page(self) -> SitePage | None:
        """The page of the sitemap that is shown; None if it is below one."""
        place = self.place
        if place is None:
            return None
        if place.page.url_name:
            return place.page
        name = name_of(place.page.model)
        if self._url_name == f"{name}_create":
            pages = (page for page in place.entry.pages if name_of(page.model) == name and page.action)
            return next((page for page in pages if page.action == self._shown_action), None)
        if self._url_name != f"{name}_changelist":
            return None
        order = self._request.GET.get("o", "")
        sorted_pages = (page for page in place.entry.pages if page.sort and name_of(page.model) == name)
        return next((page for page in sorted_pages if order == self._order(page)), place.page)

    def _pages(self, entry: SitemapEntry) -> Iterator[SitePage]:
        """The tabs of the entry that the operator can see."""
        return (page for page in entry.pages if page.is_tab and self._sees(page))

    def _sees(self, page: SitePage) -> bool:
        if not page.model:
            grants = operator_of(self._request).grants
            return page.role is None or satisfies(grants, page.role, INSTALLATION)
        pages = self._admins[name_of(page.model)]
        if page.action:
            return pages.list_actions[page.action].is_allowed_somewhere(operator_of(self._request))
        return pages.has_module_permission(self._request)

    def _url(self, page: SitePage) -> str:
        if page.url_name:
            return reverse(page.url_name)
        if page.action:
            return creation_url(page.model, page.action)
        return list_url(page.model, **({"o": self._order(page)} if page.sort else {}))

    def _order(self, page: SitePage) -> str:
        """The parameter that sorts the list by the column of the page."""
        return self._admins[name_of(page.model)].descending_by(self._request, page.sort)


def help_for(url_name: str, admins: Iterable[Any]) -> str:
    """Return the document of a page: the `help` of its model's pages or its link, otherwise of the site."""
    for pages in admins:
        if isinstance(pages, ConsoleAdmin) and url_name.startswith(f"{pages.url_prefix}_"):
            is_of_row = url_name == f"{pages.url_prefix}_change"
            return (is_of_row and pages.help_of_row) or pages.help
    linked = {link.url_name: link.help for link in page_links()}
    return linked.get(url_name) or OWN_HELP.get(url_name.partition("_")[0], CONSOLE_DOCUMENT)


def help_url(request: HttpRequest, admins: Iterable[Any]) -> str:
    """The address of the document of the page that is shown."""
    match = getattr(request, "resolver_match", None)
    document, mark, heading = help_for((match and match.url_name) or "", admins).partition("#")
    return f"{DOCUMENTS_PATH}{document}.html{mark}{heading}"
