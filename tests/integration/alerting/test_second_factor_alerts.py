"""Alerts about users without a second factor, of a project and of its organization."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project, SecondFactor, User
from alerting.configs.coverage import second_factors_sweep
from alerting.engine.evaluation import evaluate_signals
from alerting.models import Alert
from events.models import Event, Signal
from opsapi import clock
from tests.api.bodies import alert_config, global_alert_config
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, UserFactory, make_team

OF_PROJECT, OF_ORG = "USERS_WITHOUT_MULTI_FACTOR_AUTH", "ORG_USERS_WITHOUT_MFA"
pytestmark = pytest.mark.django_db


def secure(user: User) -> None:
    """The user has a second factor from now on."""
    now = clock.now()
    SecondFactor.objects.create(user=user, secret="encrypted", created=now, confirmed=now)


def evaluated() -> None:
    """What a worker does."""
    second_factors_sweep(now=clock.now())
    while evaluate_signals(now=clock.now()):
        pass


def statuses(event_type: str) -> list[str]:
    """Of its alerts, oldest first."""
    return list(Alert.objects.filter(event_type=event_type).order_by("id").values_list("status", flat=True))


@each(
    ("event_type", "ended"),
    [(OF_PROJECT, "ALL_USERS_HAVE_MULTI_FACTOR_AUTH"), (OF_ORG, "ALL_ORG_USERS_HAVE_MFA")],
)
def test_an_alert_opens_and_closes_with_what_users_have(
    owner: ApiClient, project: Project, event_type: str, ended: str
) -> None:
    owner.post(f"/groups/{project.id}/alertConfigs", alert_config(eventTypeName=event_type))
    evaluated()
    assert statuses(event_type) == []
    user = UserFactory.create()
    user.grants.create(role="GROUP_READ_ONLY", project=project)
    evaluated()
    assert statuses(event_type) == ["OPEN"]
    second_factors_sweep(now=clock.now())
    assert not Signal.objects.exists()
    secure(user)
    evaluated()
    assert statuses(event_type) == ["CLOSED"]
    recorded = Event.objects.filter(event_type__in=[event_type, ended], group_id=project.id)
    assert list(recorded.order_by("id").values_list("event_type", flat=True)) == [event_type, ended]


def test_a_new_configuration_sees_it_at_once(owner: ApiClient, project: Project) -> None:
    make_team(project, UserFactory.create())
    owner.post(f"/groups/{project.id}/alertConfigs", alert_config(eventTypeName=OF_PROJECT))
    while evaluate_signals(now=clock.now()):
        pass
    assert statuses(OF_PROJECT) == ["OPEN"]


def test_a_member_of_the_organization_alone_is_none_of_the_project(
    owner: ApiClient, project: Project
) -> None:
    UserFactory.create().grants.create(role="ORG_MEMBER", org=project.org)
    for event_type in (OF_PROJECT, OF_ORG):
        owner.post(f"/groups/{project.id}/alertConfigs", alert_config(eventTypeName=event_type))
    evaluated()
    assert (statuses(OF_PROJECT), statuses(OF_ORG)) == ([], ["OPEN"])


def test_one_that_is_being_set_up_does_not_count(owner: ApiClient, project: Project) -> None:
    user = UserFactory.create()
    user.grants.create(role="GROUP_READ_ONLY", project=project)
    SecondFactor.objects.create(user=user, secret="encrypted", created=clock.now())
    owner.post(f"/groups/{project.id}/alertConfigs", alert_config(eventTypeName=OF_PROJECT))
    evaluated()
    assert statuses(OF_PROJECT) == ["OPEN"]


def test_a_global_configuration_sees_every_project(owner: ApiClient, project: Project) -> None:
    ProjectFactory.create()
    owner.post("/globalAlertConfigs", global_alert_config(eventTypeName=OF_PROJECT))
    evaluated()
    UserFactory.create().grants.create(role="GROUP_READ_ONLY", project=project)
    evaluated()
    assert list(Alert.objects.values_list("group_id", "status")) == [(project.id, "OPEN")]


def test_nothing_waits_twice(owner: ApiClient, project: Project) -> None:
    owner.post(f"/groups/{project.id}/alertConfigs", alert_config(eventTypeName=OF_PROJECT))
    evaluated()
    UserFactory.create().grants.create(role="GROUP_READ_ONLY", project=project)
    for _ in range(2):
        second_factors_sweep(now=clock.now())
    assert Signal.objects.count() == 1


def test_the_number_of_statements_does_not_depend_on_the_number_of_configurations(
    owner: ApiClient, project: Project
) -> None:
    numbers = []
    for more in (1, 5):
        for _ in range(more):
            owner.post(f"/groups/{project.id}/alertConfigs", alert_config(eventTypeName=OF_PROJECT))
        evaluated()
        with CaptureQueriesContext(connection) as statements:
            second_factors_sweep(now=clock.now())
        numbers.append(len(statements))
    assert numbers[0] == numbers[1]
