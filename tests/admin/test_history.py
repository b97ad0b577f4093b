"""Every object leads to the events about it."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project, Team
from automation.models import Host
from events.models import Event
from opsapi.console.admin_urls import list_url
from opsapi.roles import Role
from tests.admin.configs import send
from tests.admin.operators import browser_with
from tests.admin.reading import shown
from tests.admin.typed import typed_in
from tests.factories.accesslist import make_key, make_team
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest
from tests.factories.integrations import make_integration

pytestmark = pytest.mark.django_db
HISTORY = re.compile(r'href="([^"]*)"><span[^>]*>history</span>History</a>')


def history_of(console: Client, path: str) -> str:
    """The list of events to which the page of a row leads."""
    [address] = HISTORY.findall(shown(console, f"/admin/{path}/change/"))
    return shown(console, unescape(address))


def event_of(console: Client, path: str, action: str, typed: dict[str, Any]) -> Event:
    """The event of a change."""
    before, url = set(Event.objects.values_list("id", flat=True)), f"/admin/{path}/do/{action}/"
    send(console, url, {**typed_in(shown(console, url)), **typed})
    return Event.objects.exclude(id__in=before).get()


def test_the_history_of_an_object_has_its_changes_alone(console: Client, project: Project) -> None:
    ingest(project, host_report("db1"))
    host, integration = Host.objects.get(), make_integration(project, "CHAT_SERVICE")
    config, other, key = make_config(project), make_config(project), make_key(Role.GLOBAL_READ_ONLY)
    make_team(project)
    changes: list[tuple[str, str, dict[str, Any]]] = [
        (f"alerting/alertconfig/{config.id}", "change", {"name": "Busy"}),
        (f"alerting/alertconfig/{other.id}", "change", {"name": "Other"}),
        (f"integrations/integration/{integration.id}", "change", {"channelName": "night"}),
        (f"automation/host/{host.id}", "change", {"port": "27018"}),
        (f"accesslist/project/{project.id}", "change", {"tags": "prod"}),
        (f"accesslist/team/{Team.objects.get().id}", "change", {"name": "others"}),
        (f"accesslist/apikey/{key.id}", "describe", {"desc": "new"}),
    ]
    events = {path: event_of(console, path, action, typed) for path, action, typed in changes}
    for path, event in events.items():
        page = history_of(console, path)
        of_others = [other.id for other in events.values() if other != event and other.id in page]
        assert event.id in page, path
        assert of_others == [], path


def test_a_history_is_searched_in_the_readable_projects(project: Project) -> None:
    hidden = make_config(project)
    reader = browser_with(Role.GROUP_READ_ONLY, project=Project.objects.create(**_another(project)))
    page = shown(reader, list_url(Event, category="ALERT_CONFIG", object=hidden.id))
    assert Event.objects.get(event_type="ALERT_CONFIG_ADDED_AUDIT").id not in page


def _another(project: Project) -> dict[str, Any]:
    return {"name": "another", "org_id": project.org_id, "created": project.created}
