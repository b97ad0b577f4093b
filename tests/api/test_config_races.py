"""Alert configurations that several write at once, and that are written while signals are evaluated."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

import pytest
from django.db import connection, transaction

from accesslist.models import Project
from accesslist.projects.changes import project_delete, project_update
from alerting.configs.changes import alert_config_delete, alert_config_set_enabled, alert_config_update
from alerting.configs.locks import global_configs_lock
from alerting.engine.evaluation import evaluate_signals
from alerting.models import Alert, AlertConfig
from events.models import Event, Signal
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.api.bodies import alert_config, email, global_alert_config, host, report
from tests.api.recipients import refusal
from tests.client import ApiClient
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import (
    EMAIL,
    make_alert,
    make_config,
    make_failed_notification,
    make_global_config,
)
from tests.racing import THREADS, at_once, in_other_session, on_own_connection, while_it_waits

T = TypeVar("T")
pytestmark = pytest.mark.django_db(transaction=True)


def evaluated_meanwhile() -> bool:
    """Whether another evaluates a project now."""
    return in_other_session(lambda: evaluate_signals(now=clock.now()) > 0)


def down(owner: ApiClient, project: Project) -> None:
    """A host is down: a signal waits to be evaluated."""
    assert owner.report(project.id, report(host(reachable=False))).status_code == 202


def evaluated() -> None:
    """Evaluate everything there is."""
    while evaluate_signals(now=clock.now()):
        pass


def paths(owner: ApiClient, project: Project) -> dict[str, str]:
    """The path of a configuration of each kind."""
    made = {
        f"/groups/{project.id}/alertConfigs": alert_config(),
        "/globalAlertConfigs": global_alert_config(eventTypeName="HOST_DOWN"),
    }
    return {path: f"{path}/{owner.post(path, body).json()['id']}" for path, body in made.items()}


@pytest.mark.slow
def test_of_puts_that_race_each_is_whole_and_reported(owner: ApiClient, project: Project) -> None:
    for path in paths(owner, project).values():
        Event.objects.all().delete()
        scope = {"forAllGroups": True} if "global" in path else {}

        def put(number: int, path: str = path, scope: dict[str, Any] = scope) -> Any:
            addresses = [f"{number}-{place}@example.com" for place in range(3)]
            emails = [email(emailAddress=address) for address in addresses]
            return ApiClient(owner.key).put(path, {**alert_config(notifications=emails), **scope})

        answers = at_once(put)
        assert {answer.status_code for answer in answers} == {200}
        shown = owner.get(path).json()
        assert shown in [answer.json() for answer in answers]
        assert (
            len({notification["emailAddress"].split("-")[0] for notification in shown["notifications"]}) == 1
        )
        assert Event.objects.filter(event_type="ALERT_CONFIG_CHANGED_AUDIT").count() == THREADS


def test_a_request_reads_its_configuration_while_another_one_reads_its_own(
    owner: ApiClient, project: Project
) -> None:
    configs = [make_config(project) for _ in range(2)]
    both_read = Barrier(2, timeout=30)

    def read_together(execute: Callable[..., T], sql: str, params: Any, many: bool, context: Any) -> T:
        if 'FROM "alerting_alertconfig"' in sql and not context["connection"].in_atomic_block:
            both_read.wait()
        return execute(sql, params, many, context)

    def disable(config: AlertConfig) -> int:
        path = f"/groups/{project.id}/alertConfigs/{config.id}"
        with connection.execute_wrapper(read_together):
            return int(ApiClient(owner.key).patch(path, {"enabled": False}).status_code)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda config: on_own_connection(lambda: disable(config)), configs)) == [
            200,
            200,
        ]


def test_of_deletions_that_race_one_deletes(owner: ApiClient, project: Project) -> None:
    for path in paths(owner, project).values():

        def delete(_: int, path: str = path) -> int:
            return int(ApiClient(owner.key).delete(path).status_code)

        statuses = at_once(delete)
        assert sorted(statuses) == [204] + [404] * (THREADS - 1)


@pytest.mark.parametrize("end", [alert_config_delete, alert_config_set_enabled])
@pytest.mark.parametrize("is_global", [False, True])
def test_no_alert_opens_under_what_is_taken_away_meanwhile(
    owner: ApiClient, project: Project, end: Callable[..., None], is_global: bool
) -> None:
    config = make_global_config() if is_global else make_config(project)
    evaluated()
    down(owner, project)
    values = {"enabled": False} if end is alert_config_set_enabled else {}
    with transaction.atomic():
        end(config=config, actor=SYSTEM, now=clock.now(), **values)
        assert evaluated_meanwhile() is False
    assert Signal.objects.exists()
    evaluated()
    assert not Alert.objects.filter(config_id=config.id).exists()


@pytest.mark.parametrize("is_global", [False, True])
def test_what_is_taken_away_while_it_is_evaluated_cancels_what_that_opened(
    owner: ApiClient, project: Project, is_global: bool
) -> None:
    config = make_global_config() if is_global else make_config(project)
    evaluated()
    down(owner, project)
    while_it_waits(
        lambda: alert_config_delete(config=config, actor=SYSTEM, now=clock.now()),
        lambda: evaluate_signals(now=clock.now()),
    )
    assert list(Alert.objects.values_list("config_id", "status")) == [(config.id, "CANCELLED")]


def test_evaluating_is_still_while_global_configurations_are_written_and_goes_on(
    owner: ApiClient, project: Project
) -> None:
    make_config(project)
    down(owner, project)
    with transaction.atomic():
        global_configs_lock()
        assert evaluated_meanwhile() is False
    evaluated()
    assert Alert.objects.get().status == "OPEN"


def test_projects_are_evaluated_side_by_side(owner: ApiClient, project: Project) -> None:
    make_global_config()
    other: Project = ProjectFactory.create()
    for each in (project, other):
        down(owner, each)
    with transaction.atomic():
        assert evaluate_signals(now=clock.now())
        assert evaluated_meanwhile() is True
    assert Alert.objects.count() == 2


@pytest.mark.parametrize("retag_first", [True, False])
def test_tags_of_a_project_and_of_a_configuration_that_change_together_leave_no_alert_behind(
    owner: ApiClient, project: Project, retag_first: bool
) -> None:
    Project.objects.filter(id=project.id).update(tags=["a"])
    config = make_global_config(tags=["a", "b"])
    down(owner, project)
    evaluated()

    def retag() -> None:
        project_update(group_id=project.id, changes={"tags": ["b"]}, actor=SYSTEM, now=clock.now())

    def narrow() -> None:
        alert_config_update(config=config, read=lambda _: {"tags": ["a"]}, actor=SYSTEM, now=clock.now())

    first, second = (retag, narrow) if retag_first else (narrow, retag)
    while_it_waits(second, first)
    evaluated()
    assert list(Alert.objects.values_list("status", flat=True)) == ["CANCELLED"]


@pytest.mark.slow
def test_a_project_is_retagged_or_deleted_whoever_comes_first(owner: ApiClient) -> None:
    projects: list[Project] = ProjectFactory.create_batch(3, tags=["a"])
    make_global_config(tags=["a"])
    for project in projects:
        down(owner, project)
    evaluated()

    def write(number: int) -> int:
        path = f"/groups/{projects[number % 3].id}"
        client = ApiClient(owner.key)
        answer = client.delete(path) if number >= 6 else client.patch(path, {"tags": [str(number)]})
        return int(answer.status_code)

    statuses = at_once(write)
    assert set(statuses) <= {200, 204, 404}
    assert statuses.count(204) == 3
    assert set(Alert.objects.values_list("status", flat=True)) == {"CANCELLED"}


def test_a_configuration_that_comes_to_name_a_project_while_it_is_deleted_raises_no_alert(
    owner: ApiClient, project: Project
) -> None:
    body = global_alert_config(eventTypeName="HOST_DOWN", forAllGroups=False, groupIds=[project.id])
    down(owner, project)
    with transaction.atomic():
        project_delete(group_id=project.id, actor=SYSTEM, now=clock.now())
        assert in_other_session(lambda: owner.post("/globalAlertConfigs", body).status_code) == 201
    evaluated()
    assert (Signal.objects.count(), Alert.objects.count()) == (0, 0)
    assert AlertConfig.objects.get().group_ids == [project.id]


@pytest.mark.parametrize("is_global", [False, True])
def test_what_is_taken_out_of_a_configuration_meanwhile_is_not_resent(
    owner: ApiClient, project: Project, is_global: bool
) -> None:
    config = make_global_config() if is_global else make_config(project)
    alert = make_alert(project, config_id=config.id, is_global=is_global)
    failed = make_failed_notification(project, alert, config)

    def take_out() -> None:
        others = {"notifications": [EMAIL]}
        alert_config_update(config=config, read=lambda _: others, actor=SYSTEM, now=clock.now())

    path = f"/groups/{project.id}/alerts/{failed.alert_id}/notifications/{failed.id}/resend"
    answer = while_it_waits(lambda: owner.post(path, None), take_out)
    assert refusal(answer) == (409, "NOTIFICATION_CANNOT_BE_RESENT")
    failed.refresh_from_db()
    assert failed.status == "FAILED"
