"""A project with one of everything in it."""

from collections.abc import Iterator, Mapping
from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models import F
from pytest_django import DjangoDbBlocker

from accesslist.models import Invitation, Project
from accesslist.projects.changes import project_hosts_counted
from alerting.engine.choices import NotificationStatus
from alerting.engine.evaluation import evaluate_signals
from alerting.models import Alert, Notification
from automation.models import Agent, Cluster, Host
from events.log.changes import event_record
from events.models import Event
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.client import ApiClient
from tests.factories.accesslist import ProjectFactory, UserFactory, make_entry, make_key, make_team
from tests.factories.alerting import make_alert, make_notification
from tests.factories.automation import make_turn
from tests.receivers import http_receiver, mail_receiver

__all__ = ["http_receiver", "mail_receiver"]


@pytest.fixture
def admin(project: Project) -> ApiClient:
    """Project Owner in the project."""
    return ApiClient(make_key(Grant(Role.GROUP_OWNER, group_id=project.id)))


@pytest.fixture(scope="module")
def known(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Mapping[str, str]]:
    """For every parameter of a path the id of something in one project.

    Created once for a module in an outer transaction: each test undoes its changes.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        project: Project = ProjectFactory.create()
        yield one_of_everything(project, ApiClient(make_key(Role.GLOBAL_OWNER)))
        transaction.set_rollback(True)


@pytest.fixture
def known_anew(project: Project, owner: ApiClient) -> Mapping[str, str]:
    """As `known`, in the project of the test and created by the test."""
    return one_of_everything(project, owner)


def one_of_everything(project: Project, owner: ApiClient) -> Mapping[str, str]:
    """Fill the project; answers for every parameter of a path the id of something in it."""
    group = f"/groups/{project.id}"
    config = owner.post(f"{group}/alertConfigs", bodies.alert_config()).json()
    global_config = owner.post("/globalAlertConfigs", bodies.global_alert_config()).json()
    key = owner.post(f"{group}/apiKeys", bodies.api_key()).json()
    window = owner.post(f"{group}/maintenanceWindows", bodies.window()).json()
    integration = owner.post(f"{group}/integrations/SCRAPER", bodies.scraper()).json()
    Host.objects.create(
        id=bodies.HOST_ID, group=project, hostname="db1.example.com", port=27017, created=clock.now()
    )
    project_hosts_counted(group_id=project.id, difference=1)
    # The alert is of a host nothing more is known of; then it has a cluster and a database.
    for said in ({}, {"clusterName": "orders", "databases": [{"databaseName": "orders"}]}):
        down = bodies.host(reachable=False, **said)
        assert owner.report(project.id, bodies.report(down)).status_code == 202
        assert evaluate_signals(now=clock.now())
    for version, base in enumerate(("/srv", "/opt")):
        sent = bodies.automation_config(version=version, options={"downloadBase": base})
        assert owner.put(f"{group}/automationConfig", sent).status_code == 200
    UserFactory.create(password=None, username=bodies.COLLEAGUE)
    member = UserFactory.create(password=None)
    team = make_team(project, member, team_id=bodies.TEAM_ID)
    # After the evaluation, which takes signals in turn: invitations are signals too.
    invited = owner.post(f"{group}/invites", bodies.invitation()).json()
    invited_to_org = owner.post(f"/orgs/{project.org_id}/invites", bodies.invitation("ORG_MEMBER")).json()
    # Not of this second: a new link extends an invitation, and the event says by how much.
    Invitation.objects.update(expires=F("expires") - timedelta(hours=1))
    return {
        "team_id": team.id,
        "team_name": team.name,
        "username": member.username,
        "group_id": project.id,
        "group_name": project.name,
        "org_name": project.org.name if project.org else "",
        "org_id": project.org_id,
        "config_id": config["id"],
        "global_config_id": global_config["id"],
        "window_id": window["id"],
        "group_invitation_id": invited["id"],
        "org_invitation_id": invited_to_org["id"],
        "key_id": key["id"],
        "entry_id": make_entry("192.0.0.0/16").id,
        "key_entry_id": make_entry("192.0.0.0/16", key["id"]).id,
        "host_id": Host.objects.get(hostname="db1.example.com").id,
        "host_name": str(Host.objects.get(hostname="db1.example.com")),
        "database_name": "orders",
        "integration_type": integration["type"],
        "revision": "1",
        "turn_id": make_turn(project, goal_version=2).id,
        "agent_type": Agent.objects.get().agent_type,
        "agent_name": Agent.objects.get().hostname,
        "cluster_id": Cluster.objects.get().id,
        "alert_id": Alert.objects.get(is_global=False).id,
        "notification_id": _failed_notification_of(Alert.objects.get(is_global=False)).id,
        "global_alert_id": make_alert(ProjectFactory.create(), is_global=True).id,
        "event_id": _event_of(project).id,
        "user_id": member.id,
    }


def _failed_notification_of(alert: Alert) -> Notification:
    """A notification that its receiver refused for good, next to the pending notifications."""
    pending = Notification.objects.filter(alert=alert).earliest("id")
    same = {name: getattr(pending, name) for name in ("setting_id", "type_name", "channel", "recipient")}
    return make_notification(alert.group, alert=alert, status=NotificationStatus.FAILED.value, **same)


def _event_of(project: Project) -> Event:
    """An event of the project and of its organization."""
    with transaction.atomic():
        return event_record(
            event_type=EventType.GROUP_CREATED,
            actor=SYSTEM,
            now=clock.now(),
            group_id=project.id,
            org_id=project.org_id,
            signals=False,
        )
