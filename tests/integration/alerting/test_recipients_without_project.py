"""The recipients of events without a project."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project, RoleGrant
from alerting.configs.changes import alert_config_delete
from alerting.models import Notification
from alerting.windows.changes import window_create
from events.types import EventType
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus, MessageKind
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.roles import Role
from tests.factories.accesslist import ProjectFactory, UserFactory
from tests.factories.alerting import EMAIL, WEBHOOK, make_config, make_global_config
from tests.factories.events import happened, key_added
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate
from tests.integration.alerting.recipients import GROUP, make_member, messages_of
from tests.integration.alerting.without_project import KEY_ADDED, USER_CREATED

ADMIN: dict[str, Any] = {**GROUP, "typeName": "ADMIN"}
ORG: dict[str, Any] = {**GROUP, "typeName": "ORG"}
START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
pytestmark = pytest.mark.django_db


def outcomes() -> dict[str, tuple[str, str | None]]:
    """What became of each notification and why, by its type."""
    rows = Notification.objects.values_list("type_name", "status", "reason")
    return {name: (status, reason) for name, status, reason in rows}


def notify_all() -> None:
    """Evaluate and deliver everything."""
    evaluate()
    deliver_all()


def member_of(project: Project, name: str) -> RoleGrant:
    """A user of that name becomes a member of the project's organization."""
    user = UserFactory.create(username=name, email_address=f"{name}@example.com")
    return RoleGrant.objects.create(role=Role.ORG_MEMBER.value, user=user, org=project.org)


def test_people_of_a_project_are_not_notified_and_the_log_says_why(
    project: Project, outside: Outside
) -> None:
    make_member(project, "reader")
    make_global_config(**KEY_ADDED, notifications=[GROUP])
    key_added(project)
    notify_all()
    assert outside.sent == []
    reason = "no recipients: an event without a project has no project members"
    assert outcomes() == {"GROUP": ("DROPPED", reason)}


def test_a_service_without_credentials_of_its_own_is_not(project: Project, outside: Outside) -> None:
    make_global_config(**KEY_ADDED, notifications=[{"typeName": "WEBHOOK", "delayMin": 0}])
    key_added(project)
    notify_all()
    assert outside.sent == []
    assert outcomes() == {"WEBHOOK": ("FAILED", "without a project there is no Webhook integration")}


def test_administrators_are(outside: Outside) -> None:
    admin = UserFactory.create(email_address="admin@example.com")
    RoleGrant.objects.create(role=Role.GLOBAL_READ_ONLY.value, user=admin)
    make_global_config(**USER_CREATED, notifications=[ADMIN])
    happened(EventType.USER_CREATED_AUDIT)
    notify_all()
    assert messages_of(outside) == [(MessageKind.INFORM, "admin@example.com")]


def test_people_of_the_organization_are_notified_of_its_events(project: Project, outside: Outside) -> None:
    member_of(project, "ours")
    member_of(ProjectFactory.create(), "theirs")
    make_global_config(**KEY_ADDED, notifications=[ORG])
    key_added(project)
    notify_all()
    assert messages_of(outside) == [(MessageKind.INFORM, "ours@example.com")]


@pytest.mark.parametrize(("role", "expected"), [("ORG_OWNER", []), ("ORG_MEMBER", ["ours@example.com"])])
def test_only_users_with_the_named_roles(
    project: Project, outside: Outside, role: str, expected: list[str]
) -> None:
    member_of(project, "ours")
    make_global_config(**KEY_ADDED, notifications=[{**ORG, "roles": [role]}])
    key_added(project)
    notify_all()
    assert [address for _, address in messages_of(outside)] == expected


def test_people_are_notified_on_another_try_while_they_are_recipients(
    project: Project, outside: Outside
) -> None:
    role = member_of(project, "ada")
    make_global_config(**KEY_ADDED, notifications=[ORG])
    key_added(project)
    evaluate()
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
    start = clock.now()
    deliver_all(start)
    deliver_all(start + timedelta(seconds=10))
    assert len(outside.sent) == 2
    role.delete()
    deliver_all(start + timedelta(minutes=5))
    assert len(outside.sent) == 2
    assert outcomes()["ORG"][0] == "DROPPED"


def test_of_the_installations_events_no_organization_is(project: Project, outside: Outside) -> None:
    member_of(project, "ada")
    make_global_config(**USER_CREATED, notifications=[ORG])
    happened(EventType.USER_CREATED_AUDIT)
    notify_all()
    assert outside.sent == []
    assert outcomes()["ORG"][0] == "DROPPED"


def test_a_window_mutes_only_configurations_of_its_project(project: Project, outside: Outside) -> None:
    now, hour = clock.now(), timedelta(hours=1)
    values = {"start": now - hour, "end": now + hour, "alert_types": ["ORGANIZATION"]}
    make_config(project, **KEY_ADDED)
    make_config(ProjectFactory.create(org=project.org), **KEY_ADDED)
    make_global_config(**KEY_ADDED)
    window = window_create(group_id=project.id, values=values, actor=SYSTEM, now=now)
    key_added(project)
    notify_all()
    dropped = Notification.objects.get(status="DROPPED")
    assert (dropped.group_id, dropped.reason) == (project.id, f"silenced by maintenance window {window.id}")
    assert len(outside.sent) == 2


def test_a_global_configuration_deleted_meanwhile_notifies_nobody(outside: Outside) -> None:
    config = make_global_config(**USER_CREATED, notifications=[WEBHOOK, EMAIL])
    happened(EventType.USER_CREATED_AUDIT)
    evaluate()
    alert_config_delete(config=config, actor=SYSTEM, now=clock.now())
    deliver_all()
    assert outside.sent == []
    assert [status for status, _ in outcomes().values()] == ["DROPPED", "DROPPED"]


def test_one_that_failed_comes_again_under_the_same_id(outside: Outside) -> None:
    make_global_config(**USER_CREATED)
    happened(EventType.USER_CREATED_AUDIT)
    evaluate()
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
    start = clock.now()
    deliver_all(start)
    outside.outcome = Outcome(DeliveryStatus.DELIVERED, None, 5)
    deliver_all(start + timedelta(seconds=10))
    assert len(outside.sent) == 2
    assert len({message.delivery_id for _, _, message in outside.sent}) == 1
    assert outcomes() == {"WEBHOOK": ("DELIVERED", None)}
