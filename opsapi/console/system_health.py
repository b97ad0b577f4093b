"""The page System health: the checks of the platform, and the first rows of the lists of its internals."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, cast

from django.conf import settings
from django.contrib import admin
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from unfold.templatetags.unfold_list import result_headers, results

from opsapi.api.root import platform_state
from opsapi.apps import readiness
from opsapi.console.actions import operator_of
from opsapi.console.admin_urls import name_of
from opsapi.console.changelist import ConsoleChangeList
from opsapi.console.error_pages import RoleNeededError
from opsapi.console.model_admin import ConsoleAdmin, live_context
from opsapi.console.sitemap import SitePage, place_of_url
from opsapi.console.widgets import Tone
from opsapi.first_rows import more_words
from opsapi.page_paths import DOCUMENTS_PATH
from opsapi.roles import INSTALLATION, Role, satisfies

MOST_ROWS = 5
"""The most rows of a list on this page."""
_FIRST_CHECKS = ("database", "migrations")
"""The checks without which no other check runs."""
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_RUNBOOK = f"{DOCUMENTS_PATH}runbooks/worker-gone.html#1-ask-the-platform"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of a check. `name`: its name in `/health/ready`; `words` say what is wrong."""

    name: str
    state: str
    tone: Tone
    words: str = ""

    @property
    def title(self) -> str:
        """The name in words."""
        return str(capfirst(_CAPITAL.sub(" ", self.name).lower()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPart:
    """The first rows of a list, as the list itself shows them, and how many more there are."""

    title: str
    key: str
    url: str
    note: str
    headers: Sequence[str]
    rows: Sequence[Sequence[SafeString]]
    more: str
    empty: str


def check_results(missing: Mapping[str, str], notes: Mapping[str, str]) -> list[CheckResult]:
    """Return the results of all checks, the failed first."""
    names = dict.fromkeys([*_FIRST_CHECKS, *readiness(), *missing, *notes])
    is_unknown = any(name in missing for name in _FIRST_CHECKS)
    every = [_result(name, missing, notes, is_unknown=is_unknown) for name in names]
    return sorted(every, key=lambda result: _ORDER.index(result.tone))


_ORDER = (Tone.BAD, Tone.WARNING, Tone.INFO, Tone.GOOD)


def _result(
    name: str, missing: Mapping[str, str], notes: Mapping[str, str], *, is_unknown: bool
) -> CheckResult:
    if name in missing:
        return CheckResult(name=name, state="Failed", tone=Tone.BAD, words=missing[name])
    if is_unknown:
        words = "The checks before it failed."
        return CheckResult(name=name, state="Not checked", tone=Tone.WARNING, words=words)
    if name in notes:
        return CheckResult(name=name, state="Note", tone=Tone.INFO, words=notes[name])
    return CheckResult(name=name, state="OK", tone=Tone.GOOD)


def summary(checks: Sequence[CheckResult]) -> str:
    """Return how many checks failed, in a sentence."""
    failed = sum(check.tone is Tone.BAD for check in checks)
    unknown = sum(check.tone is Tone.WARNING for check in checks)
    if not failed:
        return f"All {len(checks)} checks passed."
    return f"{failed} of {len(checks)} checks failed{f', and {unknown} did not run' if unknown else ''}."


@never_cache
@require_safe
def system_health_page(request: HttpRequest) -> HttpResponse:
    """Show the checks and the lists. The page refreshes itself."""
    if not satisfies(operator_of(request).grants, Role.GLOBAL_READ_ONLY, INSTALLATION):
        raise RoleNeededError([Role.GLOBAL_READ_ONLY])
    checks = check_results(*platform_state())
    context = {
        **admin.site.each_context(request),
        "title": "System health",
        "checks": checks,
        "summary": summary(checks),
        "tone": checks[0].tone.value,
        "build": settings.OPSAPI_BUILD,
        "database": _version(cast(DatabaseWrapper, connection).pg_version),
        "runbook_url": _RUNBOOK,
        "lists": list(_lists(request)),
        "live": live_context(request),
    }
    return TemplateResponse(request, "console/system_health.html", context)


def _version(number: int) -> str:
    """Return `18.4` for 180004."""
    return f"{number // 10_000}.{number % 10_000}"


def _lists(request: HttpRequest) -> Iterator[ListPart]:
    """The lists of the entry to which this page belongs, in the order of the sitemap."""
    admins: Mapping[str, Any] = {pages.opts.label_lower: pages for pages in admin.site._registry.values()}
    place = place_of_url("system_health")
    for page in place.entry.pages if place else ():
        if page.is_list:
            yield _part(request, page, admins[page.model])


def _part(request: HttpRequest, page: SitePage, pages: ConsoleAdmin) -> ListPart:
    listed = _change_list(request, pages)
    rows = [list(cells) for cells in results(listed)]
    return ListPart(
        title=page.title,
        key=name_of(page.model),
        url=pages.list_url(),
        note=(type(pages).__doc__ or "").partition("\n")[0],
        headers=[str(capfirst(header["text"])) for header in result_headers(listed)],
        rows=rows,
        more=more_words(listed.result_count - len(rows), at_least=listed.paginator.is_cut),
        empty=pages.empty_text,
    )


def _change_list(request: HttpRequest, pages: ConsoleAdmin) -> ConsoleChangeList:
    """The list without search, filters and buttons."""
    plain = copy(request)
    plain.GET = QueryDict()
    columns = pages.get_list_display(request)
    return ConsoleChangeList(
        plain,
        pages.model,
        columns,
        pages.get_list_display_links(request, columns),
        (),
        None,
        (),
        pages.get_list_select_related(request),
        MOST_ROWS,
        0,
        (),
        pages,
        (),
        "",
    )


_guarded: Callable[..., HttpResponse] = admin.site.admin_view(system_health_page)

urlpatterns: list[Any] = [path("", _guarded, name="system_health")]
