"""The end of a deleted project: which notifications still go out, and how its rows are deleted."""

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

import pytest
from django.db import connection, models
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project, RoleGrant
from accesslist.projects.changes import project_delete
from alerting.engine import purge
from alerting.engine import worker as worker_module
from alerting.engine.choices import NotificationStatus
from alerting.engine.delivery import record
from alerting.engine.purge import deleted_project_purge
from alerting.engine.worker import Worker
from alerting.incidents import changes as alerts
from alerting.models import Alert, AlertConfig, Notification
from alerting.reasons import NotificationReason
from automation.models import (
    FetchedConfig,
    Host,
    Measurement,
    MemberObservation,
    PackedReadings,
    PackedRollups,
    PausedPlan,
    PlanTurn,
    Source,
    WaitingMove,
)
from automation.reports.rules import EventReport
from events.models import Event, Signal
from events.types import EventType
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus, MessageKind
from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from opsapi.roles import Role
from tests.admin.rows import fill, our_models
from tests.each import each
from tests.eventually import eventually
from tests.factories.accesslist import ProjectFactory, UserFactory
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, begin, deliver_all, evaluate, statuses
from tests.racing import at_once

pytestmark = pytest.mark.django_db

ROLLBACK = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1", port=27017)
MOST_STEPS = 1000


def delete(project: Project) -> None:
    """Delete it, as the system."""
    project_delete(group_id=project.id, actor=SYSTEM, now=clock.now())


def purge_all() -> int:
    """Purge until there is nothing to do; answers how many steps that took."""
    for steps in range(MOST_STEPS):
        if not deleted_project_purge(now=clock.now()):
            return steps
    raise AssertionError("the purge does not come to an end")


def paths_to_the_project() -> Iterator[tuple[type[models.Model], str]]:
    """Every model of which rows belong to a project, and by which look-up; events outlive theirs."""
    for model in our_models():
        plain = (field.name for field in model._meta.fields if field.name == "group_id")
        path = next(itertools.chain(plain, _foreign_paths(model)), None)
        if path and model is not Event:
            yield model, path


def _foreign_paths(model: type[models.Model]) -> Iterator[str]:
    for field in model._meta.fields:
        target = field.related_model
        if target is Project:
            yield field.name
        elif isinstance(target, type) and issubclass(target, models.Model) and target is not model:
            yield from (f"{field.name}__{path}" for path in _foreign_paths(target))


def rows_of(project: Project) -> Mapping[str, int]:
    """How many rows of each kind belong to the project."""
    return {
        f"{model.__name__}.{path}": model._default_manager.filter(**{path: project.id}).count()
        for model, path in paths_to_the_project()
    }


def notified_alert(project: Project) -> None:
    """A host is down, and the webhook was notified."""
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    deliver_all()


def fill_plan(project: Project, number: int) -> None:
    """A row of each model of a plan that agents carry out; a project has one pause."""
    now = clock.now()
    move = {"process": f"process{number}", "move": "RESTART"}
    PlanTurn.objects.create(
        group=project,
        unit=f"unit{number}",
        hostname="db1",
        goal_version=1,
        request_id=f"request{number}",
        fence=number,
        granted=now,
        expires=now,
        until=now,
        **move,
    )
    WaitingMove.objects.create(group=project, reason="TURN", since=now, began=now, asked=now, **move)
    FetchedConfig.objects.create(group=project, hostname=f"db{number}", version=1, fetched=now)
    MemberObservation.objects.create(
        group=project, process=f"p{number}", goal_version=1, observed=now, document={}
    )
    PausedPlan.objects.get_or_create(group=project, defaults={"since": now, "actor_kind": "key"})


@pytest.mark.slow
def test_nothing_of_it_is_left_and_nothing_else_is_touched(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "PURGED_AT_ONCE", 2)
    other = ProjectFactory.create()
    for a_project in (project, other):
        fill(a_project)
        for number in range(5):
            ingest(a_project, host_report(CONNECTIONS=5.0))
            source = Source.objects.filter(host__group=a_project).latest("id")
            today = clock.now().date()
            PackedRollups.objects.create(source=source, minutes=5, day=today, number=number, block=b"")
            PackedReadings.objects.create(
                source=source,
                day=today,
                number=number,
                rows=1,
                metrics=[],
                ends=[],
                block=b"",
            )
            host = Host.objects.filter(group=a_project).latest("id")
            Measurement.objects.create(host=host, reported=clock.now())
            fill_plan(a_project, number)
    before, others, events = rows_of(project), rows_of(other), Event.objects.count()
    # Deleting takes the roles at once; a kind of rows that is not here is not shown to go.
    assert [kind for kind, count in before.items() if count == 0] == []
    delete(project)
    events_then = Event.objects.count()
    count = sum(rows_of(project).values())
    while deleted_project_purge(now=clock.now()):
        left = sum(rows_of(project).values())
        assert count - left <= purge.PURGED_AT_ONCE
        count = left
    assert rows_of(project) == dict.fromkeys(before, 0)
    assert not Project.with_deleted.filter(id=project.id).exists()
    assert rows_of(other) == others
    assert Event.objects.count() == events_then > events


@pytest.mark.slow
def test_the_projects_own_row_goes_when_nothing_hangs_on_it(project: Project) -> None:
    empty = ProjectFactory.create()
    fill(project)
    counts = []
    for a_project in (empty, project):
        delete(a_project)
        while any(rows_of(a_project).values()):
            assert deleted_project_purge(now=clock.now())
        with CaptureQueriesContext(connection) as queries:
            assert deleted_project_purge(now=clock.now())
        assert not Project.with_deleted.filter(id=a_project.id).exists()
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_role_given_too_late_goes_with_the_row(project: Project) -> None:
    delete(project)
    RoleGrant.objects.create(role=Role.GROUP_OWNER.value, project=project, user=UserFactory.create())
    purge_all()
    assert not RoleGrant.objects.exists()
    assert not Project.with_deleted.exists()


def test_notified_recipients_get_the_cancellation_before_the_alert_is_deleted(
    project: Project, outside: Outside
) -> None:
    notified_alert(project)
    delete(project)
    assert deleted_project_purge(now=clock.now()) is False
    assert Alert.objects.exists()
    deliver_all()
    assert outside.kinds == [MessageKind.OPEN, MessageKind.CANCEL]
    message = outside.sent[-1][2]
    assert (message.project_name, message.document["status"]) == (project.name, "CANCELLED")
    purge_all()
    assert not Project.with_deleted.exists()


def test_a_cancel_that_cannot_be_sent_is_waited_for_as_long_as_it_is_tried(
    project: Project, outside: Outside
) -> None:
    notified_alert(project)
    delete(project)
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
    now = clock.now()
    deliver_all(now)
    assert deleted_project_purge(now=now) is False
    deliver_all(now + timedelta(hours=2))
    purge_all()
    assert not Project.with_deleted.exists()


def test_what_was_not_sent_yet_is_dropped_with_the_reason(project: Project, outside: Outside) -> None:
    make_config(project)
    make_config(project, eventTypeName="HOST_ROLLBACK")
    ingest(project, host_report(reachable=False), events=(ROLLBACK,))
    evaluate()
    delete(project)
    found = Notification.objects.order_by("kind").values_list("kind", "status", "reason")
    dropped = NotificationStatus.DROPPED.value
    assert list(found) == [
        (MessageKind.INFORM.value, dropped, NotificationReason.CONFIG_OFF.value),
        (MessageKind.OPEN.value, dropped, NotificationReason.ALERT_OVER.value),
    ]
    assert deliver_all() == 0
    purge_all()
    assert not Notification.objects.exists()


def test_one_that_is_being_sent_is_followed_by_its_cancel(project: Project, outside: Outside) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    [attempt] = begin(clock.now())
    delete(project)
    assert deleted_project_purge(now=clock.now()) is False
    record([(attempt, outside.outcome)], now=clock.now())
    assert deleted_project_purge(now=clock.now()) is False
    deliver_all()
    assert outside.kinds == [MessageKind.CANCEL]
    purge_all()
    assert not Project.with_deleted.exists()


def test_a_tracked_alert_ends_unseen(project: Project, outside: Outside) -> None:
    config = make_config(project, notifications=[{**EMAIL, "delayMin": 5}])
    ingest(project, host_report(reachable=False))
    evaluate()
    delete(project)
    assert statuses(config) == ["CANCELLED"]
    assert not Event.objects.filter(event_type="ALERT_CANCELLED_AUDIT").exists()
    assert not Notification.objects.exists()


def test_however_many_alerts_there_are_few_statements_end_them(project: Project) -> None:
    counts = []
    for number, a_project in ((3, project), (12, ProjectFactory.create())):
        make_config(a_project, notifications=[WEBHOOK, EMAIL])
        ingest(a_project, *(host_report(f"db{place}", reachable=False) for place in range(number)))
        evaluate()
        Notification.objects.filter(group=a_project).update(status=NotificationStatus.DELIVERED.value)
        with CaptureQueriesContext(connection) as queries:
            delete(a_project)
        counts.append(len(queries))
        cancels = Notification.objects.filter(group=a_project, kind=MessageKind.CANCEL.value)
        assert cancels.count() == number
    assert counts[0] == counts[1]


def test_signals_of_a_deleted_project_are_dropped(project: Project) -> None:
    config = make_config(project)
    ingest(project, host_report(reachable=False))
    delete(project)
    # As when a configuration was created the moment its project was deleted.
    AlertConfig.objects.filter(id=config.id).update(deleted=None, enabled=True)
    evaluate()
    assert not Signal.objects.exists()
    assert not Alert.objects.exists()


@each(
    "add",
    [make_config, lambda project: ingest(project, host_report(CONNECTIONS=5.0))],
    ids=["a configuration", "a report"],
)
def test_nothing_is_added_to_a_deleted_project(project: Project, add: Callable[[Project], object]) -> None:
    delete(project)
    before, events = rows_of(project), Event.objects.count()
    with pytest.raises(ApiError) as refused:
        add(project)
    assert refused.value.code is ErrorCode.GROUP_NOT_FOUND
    assert (rows_of(project), Event.objects.count()) == (before, events)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_workers_share_the_work(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "PURGED_AT_ONCE", 2)
    projects = [project, ProjectFactory.create(), ProjectFactory.create()]
    for a_project in projects:
        fill(a_project)
        delete(a_project)
    at_once(lambda _: purge_all())
    purge_all()
    assert not Project.with_deleted.exists()
    assert [kind for project in projects for kind, count in rows_of(project).items() if count] == []


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_worker_takes_it_away(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "HOUSE_SECONDS", 0.02)
    fill(project)
    worker = Worker("host:1")
    running = threading.Thread(target=worker.run)
    running.start()
    try:
        eventually(lambda: not Signal.objects.exists())
        delete(project)
        eventually(lambda: not Project.with_deleted.exists())
    finally:
        worker.stop()
        running.join()
    assert set(rows_of(project).values()) == {0}


def test_more_alerts_than_one_statement_takes_are_cancelled(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(project)
    ingest(project, *(host_report(f"db{number}", reachable=False) for number in range(5)))
    evaluate()
    deliver_all()
    monkeypatch.setattr(alerts, "CANCELLED_AT_ONCE", 2)
    delete(project)
    assert statuses(config) == ["CANCELLED"] * 5
    assert not deleted_project_purge(now=clock.now())
    evaluate()
    deliver_all()
    assert outside.kinds == [MessageKind.OPEN] * 5 + [MessageKind.CANCEL] * 5
