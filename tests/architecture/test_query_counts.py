"""No list makes more queries for more rows (architecture habit 7). A new list needs a row here."""

from collections.abc import Callable, Mapping

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accesslist.models import ApiKey, Project, Team, User
from alerting.models import Alert, AlertConfig
from automation.models import Host
from events.log.changes import event_record
from events.models import Event
from events.types import EventType
from integrations.types import INTEGRATION_TYPES
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.routes import OF_NOTHING, ROUTES
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import (
    OrganizationFactory,
    ProjectFactory,
    UserFactory,
    make_entry,
    make_key,
    make_team,
)
from tests.factories.alerting import make_alert, make_notification
from tests.factories.integrations import make_integration

FEW, MANY = 2, 9
PUBLIC = "/api/public/v1.0"
Maker = Callable[[ApiClient, Project, int], object]


def _event(_: ApiClient, project: Project, number: int) -> None:
    with transaction.atomic():
        event_record(
            event_type=EventType.GROUP_CREATED,
            actor=SYSTEM,
            now=clock.now(),
            group_id=project.id,
            org_id=project.org_id,
            signals=False,
        )


def _of_alert(_: ApiClient, project: Project, number: int) -> None:
    alert = Alert.objects.filter(id=OF_NOTHING).first() or make_alert(project, id=OF_NOTHING, is_global=True)
    make_notification(project, alert=alert).tries.create(
        number=1, ended=clock.now(), status="retry", latency_ms=12
    )


def _of_event(_: ApiClient, project: Project, number: int) -> None:
    if not Event.objects.filter(id=OF_NOTHING).exists():
        made = {"created": clock.now(), "event_type": "GROUP_CREATED", "details": {}, "raw": {}}
        Event.objects.create(id=OF_NOTHING, group_id=project.id, **made)
    make_notification(project, event_id=OF_NOTHING, kind="alert.inform")


def _config(owner: ApiClient, project: Project, number: int) -> None:
    notifications = [bodies.email(), bodies.webhook()] * (number + 1)
    owner.post(f"/groups/{project.id}/alertConfigs", bodies.alert_config(notifications=notifications))


def _global_config(owner: ApiClient, project: Project, number: int) -> None:
    notifications = [bodies.email(), bodies.webhook()] * (number + 1)
    owner.post("/globalAlertConfigs", bodies.global_alert_config(notifications=notifications))


def _of_config(group: Project | None, project: Project) -> None:
    made = {"group": group, "event_type": "HOST_DOWN", "created": clock.now(), "updated": clock.now()}
    AlertConfig.objects.get_or_create(id=OF_NOTHING, defaults=made)
    make_alert(project, config_id=OF_NOTHING, is_global=group is None)


def _user(_: ApiClient, project: Project, number: int) -> User:
    """With a role of their own and one by a team of their own."""
    user: User = UserFactory.create(password=None)
    user.grants.create(role=Role.GROUP_OWNER.value, project=project)
    make_team(project, user)
    return user


def _member(owner: ApiClient, project: Project, number: int) -> None:
    team = Team.objects.filter(id=bodies.TEAM_ID).first() or make_team(project, team_id=bodies.TEAM_ID)
    team.members.add(_user(owner, project, number))


def _key_entry(_: ApiClient, project: Project, number: int) -> None:
    make_entry(f"10.{number}.0.0/16", ApiKey.objects.get(grants__project=project).id)


def _global_entry(_: ApiClient, project: Project, number: int) -> None:
    make_entry(f"10.{number}.0.0/16")


def _database(_: ApiClient, project: Project, number: int) -> None:
    host, _made = Host.objects.get_or_create(
        id=OF_NOTHING, defaults={"group": project, "hostname": "db1", "port": 27017, "created": clock.now()}
    )
    host.databases.create(name=f"database {number}")


MAKERS: Mapping[str, Maker] = {
    "/admin/accessList": _global_entry,
    "/admin/whitelist": _global_entry,
    "/admin/apiKeys/<key_id>/accessList": _key_entry,
    "/orgs/<org_id>/apiKeys/<key_id>/accessList": _key_entry,
    "/groups/<group_id>/apiKeys/<key_id>/accessList": _key_entry,
    "/users": _user,
    "/orgs/<org_id>/users": _user,
    "/groups/<group_id>/users": _user,
    "/orgs/<org_id>/teams": _user,
    "/groups/<group_id>/teams": _user,
    "/orgs/<org_id>/teams/<team_id>/users": _member,
    "/orgs/<org_id>/invites": lambda owner, project, number: owner.post(
        f"/orgs/{project.org_id}/invites", bodies.invitation("ORG_MEMBER")
    ),
    "/groups/<group_id>/invites": lambda owner, project, number: owner.post(
        f"/groups/{project.id}/invites", bodies.invitation()
    ),
    "/orgs": lambda owner, project, number: OrganizationFactory.create(),
    "/orgs/<org_id>/groups": lambda owner, project, number: ProjectFactory.create(org_id=project.org_id),
    "/groups": lambda owner, project, number: ProjectFactory.create(),
    "/groups/<group_id>/apiKeys": lambda owner, project, number: make_key(
        Grant(Role.GROUP_OWNER, group_id=project.id), Grant(Role.GROUP_AGENT, group_id=project.id)
    ),
    "/orgs/<org_id>/apiKeys": lambda owner, project, number: make_key(
        Grant(Role.ORG_MEMBER, org_id=project.org_id), Grant(Role.GROUP_AGENT, group_id=project.id)
    ),
    "/admin/apiKeys": lambda owner, project, number: make_key(Role.GLOBAL_OWNER, Role.GLOBAL_READ_ONLY),
    "/globalEvents": _event,
    "/groups/<group_id>/events": _event,
    "/orgs/<org_id>/events": _event,
    "/groups/<group_id>/hosts": lambda owner, project, number: owner.report(
        project.id, bodies.report(bodies.host(port=number + 1))
    ),
    "/groups/<group_id>/hosts/<host_id>/databases": _database,
    "/groups/<group_id>/clusters": lambda owner, project, number: owner.report(
        project.id,
        bodies.report(
            *(
                bodies.host(port=number * 2 + offset, clusterName=f"c{number}", shardName="s")
                for offset in (1, 2)
            )
        ),
    ),
    "/groups/<group_id>/agents": lambda owner, project, number: owner.report(
        project.id, bodies.report(hostname=f"agent{number}")
    ),
    "/groups/<group_id>/agents/MONITORING": lambda owner, project, number: owner.report(
        project.id, bodies.report(hostname=f"agent{number}")
    ),
    "/groups/<group_id>/integrations": lambda owner, project, number: make_integration(
        project, list(INTEGRATION_TYPES)[number]
    ),
    "/groups/<group_id>/automationConfig/revisions": lambda owner, project, number: owner.put(
        f"/groups/{project.id}/automationConfig",
        bodies.automation_config(version=number, options={"downloadBase": f"/{number}"}),
    ),
    "/groups/<group_id>/alerts": lambda owner, project, number: make_alert(project),
    "/groups/<group_id>/alerts/<alert_id>/notifications": _of_alert,
    "/groups/<group_id>/events/<event_id>/notifications": _of_event,
    "/globalAlerts": lambda owner, project, number: make_alert(project, is_global=True),
    "/globalAlerts/<global_alert_id>/notifications": _of_alert,
    "/groups/<group_id>/alertConfigs": _config,
    "/groups/<group_id>/alertConfigs/<config_id>/alerts": lambda owner, project, number: _of_config(
        project, project
    ),
    "/globalAlertConfigs": _global_config,
    "/globalAlertConfigs/<global_config_id>/alerts": lambda owner, project, number: _of_config(None, project),
    "/groups/<group_id>/maintenanceWindows": lambda owner, project, number: owner.post(
        f"/groups/{project.id}/maintenanceWindows", bodies.window()
    ),
}
"""List → makes one more row of it."""

CLOSED_SETS = {"/errorCodes", "/eventTypes", "/metricNames", "/groups/<group_id>/alertConfigs/presets"}
AT_MOST_ONE = {
    "/groups/<group_id>/alerts/<alert_id>/alertConfigs",
    "/globalAlerts/<global_alert_id>/alertConfigs",
}
"""Lists that cannot grow."""

LISTS = {
    route.template.removeprefix(PUBLIC).replace("<agent_type>", "MONITORING")
    for route in ROUTES
    if isinstance(route.viewset.answers.get(route.action), list)
}
pytestmark = pytest.mark.django_db


def test_every_list_has_a_row() -> None:
    assert set(MAKERS) | CLOSED_SETS | AT_MOST_ONE == LISTS


@pytest.mark.slow
@each("path", MAKERS)
def test_a_list_makes_no_more_queries_for_more_rows(owner: ApiClient, project: Project, path: str) -> None:
    place = path.replace("<group_id>", project.id).replace("<org_id>", str(project.org_id))
    place = place.replace("<team_id>", bodies.TEAM_ID)
    for made_once in ("host", "alert", "global_alert", "event", "config", "global_config"):
        place = place.replace(f"<{made_once}_id>", OF_NOTHING)
    if "<key_id>" in place:
        place = place.replace("<key_id>", make_key(Grant(Role.GROUP_OWNER, group_id=project.id)).id)
    counts = []
    for rows in (range(FEW), range(FEW, MANY)):
        for number in rows:
            MAKERS[path](owner, project, number)
        with CaptureQueriesContext(connection) as queries:
            document = owner.get(place).json()
        counts.append((len(queries), len(document["results"])))
    assert counts[0][0] == counts[1][0]
    assert counts[1][1] - counts[0][1] == MANY - FEW
