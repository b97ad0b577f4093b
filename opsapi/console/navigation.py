"""The navigation: every list that the operator can see, by section, and the document of each page."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst

from opsapi.console.actions import operator_of
from opsapi.console.display import Context
from opsapi.console.model_admin import ConsoleAdmin, Section
from opsapi.page_paths import DOCUMENTS_PATH
from opsapi.roles import INSTALLATION, Role, satisfies

_OVERVIEW = "Overview"
_OF_INSTALLATION = (
    ("mail_server", "Mail server", "mail", Role.GLOBAL_OWNER),
    ("retention", "Retention", "hourglass_bottom", Role.GLOBAL_READ_ONLY),
)
"""Pages without a list: their names, titles and icons, and the role that sees them."""


def navigation(request: HttpRequest, admins: Iterable[Any]) -> list[Context]:
    """The sections with their links, as the theme takes them."""
    listed = sorted(
        (admin for admin in admins if isinstance(admin, ConsoleAdmin)), key=lambda admin: admin.rank
    )
    shown = [admin for admin in listed if admin.has_module_permission(request)]
    home = reverse("admin:index")
    first = {"items": [_item(_OVERVIEW, home, icon="space_dashboard", active=request.path == home)]}
    sections = [_section(section, shown, request) for section in Section]
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
        for name, title, icon, role in _OF_INSTALLATION:
            if satisfies(grants, role, INSTALLATION):
                url = reverse(name)
                items.append(_item(title, url, icon=icon, active=request.path == url))
    return {"title": section.value, "items": items}


def _item(title: str, link: str, *, icon: str, active: bool) -> Context:
    return {"title": title, "icon": icon, "link": link, "active": active, "has_permission": True}


_CONSOLE = "how-to/use-the-console"
HELP: Mapping[str, str] = {
    "index": f"{_CONSOLE}#pages",
    "login": f"{_CONSOLE}#log-in",
    "account": f"{_CONSOLE}#log-in",
    "alerting_alert": "life-of-an-alert",
    "alerting_alertconfig": "how-to/alert-recipes",
    "alerting_notificationsetting": "channels/index",
    "alerting_maintenancewindow": "life-of-an-alert#while-it-is-open",
    "alerting_notification": "channels/index#what-is-sent",
    "alerting_notificationattempt": "channels/index#when-a-receiver-fails",
    "alerting_destination": "channels/index#when-a-receiver-fails",
    "alerting_unreachablehost": "channels/index#when-a-receiver-fails",
    "alerting_evaluationturn": "runbooks/worker-gone",
    "alerting_workerheartbeat": "runbooks/worker-gone",
    "events_event": "reference/events",
    "events_signal": "runbooks/worker-gone#4-if-workers-run-and-do-not-keep-up",
    "integrations_integration": "channels/index#store-credentials-once",
    "automation_host": "reference/metrics#metrics-of-hosts",
    "automation_database": "reference/metrics#metrics-of-hosts",
    "automation_cluster": f"{_CONSOLE}#fleet",
    "automation_replicaset": f"{_CONSOLE}#fleet",
    "automation_agent": "how-to/add-an-agent",
    "automation_agent_change": "runbooks/agent-down",
    "automation_watcher": "how-to/add-an-agent#two-agents-for-one-project",
    "automation_hostlease": "how-to/add-an-agent#two-agents-for-one-project",
    "automation_fleetwatch": f"{_CONSOLE}#platform",
    "automation_reportanswer": f"{_CONSOLE}#platform",
    "automation_automationrevision": f"{_CONSOLE}#fleet",
    "automation_processstatus": f"{_CONSOLE}#fleet",
    "accesslist_project": f"{_CONSOLE}#access",
    "accesslist_organization": f"{_CONSOLE}#access",
    "accesslist_team": f"{_CONSOLE}#access",
    "accesslist_user": f"{_CONSOLE}#access",
    "accesslist_invitation": f"{_CONSOLE}#invite-a-colleague",
    "accesslist_rolegrant": f"{_CONSOLE}#roles",
    "accesslist_apikey": "how-to/api-cookbook#before-you-start",
    "accesslist_accesslistentry": f"{_CONSOLE}#access",
    "accesslist_secondfactor": "how-to/rotate-keys#second-factors",
    "accesslist_digestepoch": f"{_CONSOLE}#platform",
    "accesslist_ratewindow": f"{_CONSOLE}#platform",
}
"""Document and heading by the name of a page's URL; `app_model` has all pages of a model."""


def help_for(url_name: str) -> str:
    """The document of a page, by the longest matching name; for other pages, the document of the console."""
    words = url_name.split("_")
    names = ("_".join(words[:count]) for count in range(len(words), 0, -1))
    return next((HELP[name] for name in names if name in HELP), _CONSOLE)


def help_url(request: HttpRequest) -> str:
    """The address of the document of the page that is shown."""
    match = getattr(request, "resolver_match", None)
    document, mark, heading = help_for((match and match.url_name) or "").partition("#")
    return f"{DOCUMENTS_PATH}{document}.html{mark}{heading}"
