"""Projects and organizations deleted while others write to them."""

from collections.abc import Callable
from typing import Any

import pytest

from accesslist.locks import scope_lock_shared
from accesslist.models import ApiKey, Organization, Project
from accesslist.projects.changes import project_delete
from alerting.engine.evaluation import evaluate_signals
from alerting.engine.purge import deleted_project_purge
from alerting.models import Alert, AlertConfig, MaintenanceWindow
from automation.models import Agent, Host, Reading, Source
from events.models import Event, Signal
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.roles import Grant, Role, Scope
from tests.api import bodies
from tests.client import ApiClient
from tests.factories.accesslist import OrganizationFactory, ProjectFactory, make_key
from tests.factories.alerting import make_config
from tests.racing import THREADS, at_once, while_it_waits

pytestmark = pytest.mark.django_db(transaction=True)


def counted(event_type: str) -> int:
    """How many such events there are."""
    return Event.objects.filter(event_type=event_type).count()


def purged() -> None:
    """Delete all rows of deleted projects; evaluate signals before and after."""
    while evaluate_signals(now=clock.now()) or deleted_project_purge(now=clock.now()):
        pass


def test_of_deletions_that_race_one_deletes(owner: ApiClient, project: Project) -> None:
    owner.post(f"/groups/{project.id}/alertConfigs", bodies.alert_config())
    owner.report(project.id, bodies.report(bodies.host(reachable=False)))
    evaluate_signals(now=clock.now())
    make_key(Grant(Role.GROUP_OWNER, group_id=project.id))
    statuses = at_once(lambda _: owner.delete(f"/groups/{project.id}").status_code)
    assert sorted(statuses) == [204] + [404] * (THREADS - 1)
    event_types = ("GROUP_DELETED_AUDIT", "ALERT_CANCELLED_AUDIT", "API_KEY_DELETED_AUDIT")
    assert [counted(event_type) for event_type in event_types] == [1, 1, 1]


def test_a_report_that_was_first_is_waited_for(owner: ApiClient, project: Project) -> None:
    answer = while_it_waits(
        lambda: owner.delete(f"/groups/{project.id}"), lambda: scope_lock_shared(Scope(group_id=project.id))
    )
    assert answer.status_code == 204


@pytest.mark.parametrize("what", ["reports", "alertConfigs", "apiKeys", "maintenanceWindows"])
def test_what_comes_while_it_is_deleted_is_refused(owner: ApiClient, project: Project, what: str) -> None:
    calls = {
        "reports": lambda: owner.report(project.id, bodies.report(bodies.host())),
        "alertConfigs": lambda: owner.post(f"/groups/{project.id}/alertConfigs", bodies.alert_config()),
        "apiKeys": lambda: owner.post(f"/groups/{project.id}/apiKeys", bodies.api_key()),
        "maintenanceWindows": lambda: owner.post(f"/groups/{project.id}/maintenanceWindows", bodies.window()),
    }
    keys = ApiKey.objects.count()
    answer = while_it_waits(
        calls[what], lambda: project_delete(group_id=project.id, actor=SYSTEM, now=clock.now())
    )
    assert (answer.status_code, answer.json()["errorCode"]) in {
        (404, "GROUP_NOT_FOUND"),
        (400, "INVALID_ATTRIBUTE"),
    }
    assert not any(model.objects.exists() for model in (Agent, Host, AlertConfig, MaintenanceWindow, Signal))
    assert ApiKey.objects.count() == keys


def test_a_configuration_created_before_the_deletion_commits_is_deleted_with_the_project(
    owner: ApiClient, project: Project
) -> None:
    answer = while_it_waits(lambda: owner.delete(f"/groups/{project.id}"), lambda: make_config(project))
    assert answer.status_code == 204
    assert AlertConfig.objects.get().deleted


def test_whatever_races_with_a_deletion_nothing_is_left(owner: ApiClient, project: Project) -> None:
    group = f"/groups/{project.id}"
    key = owner.post(f"{group}/apiKeys", bodies.api_key()).json()["id"]
    owner.post(f"{group}/alertConfigs", bodies.alert_config())
    down = bodies.report(
        bodies.host(reachable=False, measurements=[{"metricName": "CONNECTIONS", "number": 5}])
    )
    calls: list[Callable[[], Any]] = [
        lambda: owner.report(project.id, down),
        lambda: owner.report(project.id, down),
        lambda: owner.report(project.id, bodies.report(bodies.host())),
        lambda: owner.patch(group, {"tags": ["new"]}),
        lambda: owner.post(f"{group}/alertConfigs", bodies.alert_config()),
        lambda: owner.post(f"{group}/apiKeys", bodies.api_key()),
        lambda: owner.patch(f"{group}/apiKeys/{key}", {"roles": ["GROUP_AGENT"]}),
        lambda: owner.delete(f"{group}/apiKeys/{key}"),
        lambda: evaluate_signals(now=clock.now()),
        lambda: owner.delete(group),
    ]
    answers = at_once(lambda number: calls[number]())
    statuses = [getattr(answer, "status_code", 200) for answer in answers]
    assert set(statuses) <= {200, 201, 202, 204, 400, 404}
    assert statuses[-1] == 204
    assert not Alert.objects.filter(status__in=["OPEN", "TRACKING"]).exists()
    purged()
    assert not any(
        model.objects.exists() for model in (Agent, Host, Reading, Source, AlertConfig, Alert, Signal)
    )
    assert not Project.with_deleted.exists()
    assert [key.id for key in ApiKey.objects.all()] == [owner.key and owner.key.id]


def test_of_renamings_that_race_for_a_name_one_gets_it(owner: ApiClient) -> None:
    projects = [ProjectFactory.create() for _ in range(THREADS)]
    statuses = at_once(
        lambda number: owner.patch(f"/groups/{projects[number].id}", {"name": "wanted"}).status_code
    )
    assert sorted(statuses) == [200] + [409] * (THREADS - 1)
    assert counted("GROUP_CHANGED_AUDIT") == Project.objects.filter(name="wanted").count() == 1


def test_an_organization_is_deleted_or_gets_its_projects_never_both(owner: ApiClient) -> None:
    org = OrganizationFactory.create()

    def call(number: int) -> int:
        if number == 0:
            return int(owner.delete(f"/orgs/{org.id}").status_code)
        body = bodies.group(name=f"p{number}", orgId=org.id)
        return int(owner.post("/groups", body).status_code)

    deleted, *made = at_once(call)
    there = Organization.objects.filter(id=org.id).exists()
    assert deleted == (409 if there else 204)
    assert set(made) <= ({201} if there else {404})
    assert Project.objects.count() == made.count(201)


def test_a_project_created_while_its_organization_is_deleted_is_refused(owner: ApiClient) -> None:
    org = OrganizationFactory.create()
    answer = while_it_waits(
        lambda: owner.post("/groups", bodies.group(orgId=org.id)),
        lambda: Organization.objects.get(id=org.id).delete(),
    )
    assert (answer.status_code, answer.json()["errorCode"]) == (404, "ORG_NOT_FOUND")
    assert not Project.objects.exists()
