"""Global configurations: which projects they cover, and what their changes do to alerts."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from accesslist.models import Project
from accesslist.projects.changes import project_create, project_delete, project_update
from alerting.configs.changes import alert_config_delete, alert_config_set_enabled, alert_config_update
from alerting.models import Alert, AlertConfig
from automation.reports.rules import EventReport
from events.models import Event, Signal
from events.types import EventType
from integrations.choices import MessageKind
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import EMAIL, WEBHOOK, by_column, make_config, make_global_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

ELSEWHERE = "0123456789abcdef01234567"
pytestmark = pytest.mark.django_db


@pytest.fixture
def prod(db: None) -> Project:
    """A project with tags."""
    return make_project("prod", "eu")


@pytest.fixture
def dev(db: None) -> Project:
    """Another one."""
    return make_project("dev")


def make_project(*tags: str) -> Project:
    """A project with these tags, in which a host is down."""
    project: Project = ProjectFactory.create(tags=list(tags))
    ingest(project, host_report(reachable=False))
    return project


def change(config: AlertConfig, **values: Any) -> None:
    """Change fields of a configuration, by their names on the wire."""
    alert_config_update(config=config, read=lambda _: by_column(values), actor=SYSTEM, now=clock.now())
    evaluate()


def retag(project: Project, *tags: str) -> None:
    """Give a project other tags."""
    project_update(group_id=project.id, changes={"tags": list(tags)}, actor=SYSTEM, now=clock.now())
    evaluate()


def states(config: AlertConfig) -> Mapping[str, list[str]]:
    """Project → the states of the configuration's alerts in it, oldest first."""
    found: dict[str, list[str]] = {}
    for alert in Alert.objects.filter(config_id=config.id).order_by("created", "id"):
        found.setdefault(alert.group_id, []).append(alert.status)
    return found


def test_one_alert_per_project_for_the_same_host(prod: Project, dev: Project, outside: Outside) -> None:
    config = make_global_config()
    evaluate()
    assert states(config) == {prod.id: ["OPEN"], dev.id: ["OPEN"]}
    deliver_all()
    assert outside.kinds == [MessageKind.OPEN] * 2
    assert {message.project_name for _, _, message in outside.sent} == {prod.name, dev.name}
    ingest(dev, host_report(reachable=True))
    evaluate()
    assert states(config) == {prod.id: ["OPEN"], dev.id: ["CLOSED"]}
    assert set(Alert.objects.values_list("is_global", flat=True)) == {True}


def test_a_projects_own_and_a_global_one_are_two_alerts(prod: Project) -> None:
    own, over_all = make_config(prod), make_global_config()
    evaluate()
    assert (states(own), states(over_all)) == ({prod.id: ["OPEN"]}, {prod.id: ["OPEN"]})


def test_a_one_shot_notification_is_sent_once_per_project(
    prod: Project, dev: Project, outside: Outside
) -> None:
    make_global_config(eventTypeName="HOST_ROLLBACK", tags=["prod"])
    for project in (prod, dev):
        event = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1", port=27017)
        ingest(project, host_report(), events=(event,))
    evaluate()
    deliver_all()
    assert [message.project_name for _, _, message in outside.sent] == [prod.name]


@pytest.mark.parametrize("end", [partial(alert_config_set_enabled, enabled=False), alert_config_delete])
def test_what_is_off_concerns_nobody_and_its_alerts_are_cancelled(
    prod: Project, dev: Project, end: Callable[..., None], outside: Outside
) -> None:
    config, other = make_global_config(notifications=[WEBHOOK, EMAIL]), make_config(prod)
    evaluate()
    deliver_all()
    outside.sent.clear()
    end(config=config, actor=SYSTEM, now=clock.now())
    evaluate()
    assert states(config) == {prod.id: ["CANCELLED"], dev.id: ["CANCELLED"]}
    assert states(other) == {prod.id: ["OPEN"]}
    deliver_all()
    assert outside.kinds == [MessageKind.CANCEL] * 2
    ingest(prod, host_report(reachable=False))
    evaluate()
    assert states(config) == {prod.id: ["CANCELLED"], dev.id: ["CANCELLED"]}


def test_enabling_holds_every_project_against_it_at_once(prod: Project, dev: Project) -> None:
    config = make_global_config(enabled=False)
    evaluate()
    assert states(config) == {}
    change(config, enabled=True)
    assert states(config) == {prod.id: ["OPEN"], dev.id: ["OPEN"]}


def test_another_scope_cancels_only_where_it_leaves(prod: Project, dev: Project) -> None:
    config = make_global_config(tags=["prod"])
    evaluate()
    change(config, tags=["prod", "dev"])
    assert states(config) == {prod.id: ["OPEN"], dev.id: ["OPEN"]}
    assert list(Alert.objects.values_list("tags", flat=True)) == [["prod", "dev"]] * 2
    change(config, tags=[], forAllGroups=False, groupIds=[dev.id])
    assert states(config) == {prod.id: ["CANCELLED"], dev.id: ["OPEN"]}
    change(config, forAllGroups=True, groupIds=[])
    assert states(config) == {prod.id: ["CANCELLED", "OPEN"], dev.id: ["OPEN"]}


def test_a_wider_scope_looks_only_at_projects_it_gains(prod: Project, dev: Project) -> None:
    config = make_global_config(tags=["prod"])
    evaluate()
    alert_config_update(config=config, read=lambda _: {"tags": []}, actor=SYSTEM, now=clock.now())
    assert list(Signal.objects.values_list("group_id", "payload")) == [(dev.id, {"alertConfigId": config.id})]


def test_another_meaning_cancels_everywhere_and_looks_again(prod: Project, dev: Project) -> None:
    config = make_global_config()
    evaluate()
    matcher = {"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db1"}
    change(config, matchers=[matcher])
    assert states(config) == {project.id: ["CANCELLED", "OPEN"] for project in (prod, dev)}


def test_a_signal_of_a_config_that_no_longer_covers_the_project_opens_nothing(prod: Project) -> None:
    config = make_global_config()
    AlertConfig.objects.filter(id=config.id).update(for_all_groups=False, group_ids=[ELSEWHERE])
    evaluate()
    assert states(config) == {}


def test_a_project_that_loses_a_tag_loses_the_alerts_of_it(prod: Project, outside: Outside) -> None:
    tagged = make_global_config(tags=["prod"])
    by_another, over_all, own = make_global_config(tags=["eu"]), make_global_config(), make_config(prod)
    evaluate()
    deliver_all()
    outside.sent.clear()
    retag(prod, "eu")
    assert states(tagged) == {prod.id: ["CANCELLED"]}
    assert [states(config) for config in (by_another, over_all, own)] == [{prod.id: ["OPEN"]}] * 3
    deliver_all()
    assert outside.kinds == [MessageKind.CANCEL]


def test_a_project_that_gains_a_tag_is_looked_at_at_once(prod: Project, dev: Project) -> None:
    config = make_global_config(tags=["staging"])
    evaluate()
    assert states(config) == {}
    retag(dev, "dev", "staging")
    assert states(config) == {dev.id: ["OPEN"]}


def test_tags_that_stay_and_other_changes_touch_no_alert(prod: Project) -> None:
    config = make_global_config(tags=["prod"])
    evaluate()
    retag(prod, "eu", "prod")
    project_update(group_id=prod.id, changes={"name": "another"}, actor=SYSTEM, now=clock.now())
    assert states(config) == {prod.id: ["OPEN"]}
    assert not Signal.objects.exists()


def test_a_refused_change_of_a_project_leaves_its_alerts(prod: Project, dev: Project) -> None:
    config = make_global_config(tags=["prod"])
    evaluate()
    with pytest.raises(Exception, match="GROUP_ALREADY_EXISTS"):
        project_update(
            group_id=prod.id, changes={"name": dev.name, "tags": []}, actor=SYSTEM, now=clock.now()
        )
    assert states(config) == {prod.id: ["OPEN"]}


def test_a_deleted_project_stays_named(prod: Project, dev: Project) -> None:
    both = make_global_config(forAllGroups=False, groupIds=[prod.id, dev.id])
    alone = make_global_config(forAllGroups=False, groupIds=[prod.id])
    evaluate()
    assert states(alone) == {prod.id: ["OPEN"]}
    before = list(AlertConfig.objects.filter(group=None).order_by("id").values())
    project_delete(group_id=prod.id, actor=SYSTEM, now=clock.now())
    assert list(AlertConfig.objects.filter(group=None).order_by("id").values()) == before
    assert states(both) == {prod.id: ["CANCELLED"], dev.id: ["OPEN"]}
    assert states(alone) == {prod.id: ["CANCELLED"]}
    recorded = Event.objects.filter(event_type__startswith="ALERT_CONFIG", group_id=None)
    assert {event.event_type for event in recorded} == {"ALERT_CONFIG_ADDED_AUDIT"}


def test_a_new_project_is_covered_from_its_first_report(db: None) -> None:
    config = make_global_config(tags=["prod"])
    values = {"name": "payments", "tags": ["prod"]}
    project = project_create(values=values, owned_by_creator=False, actor=SYSTEM, now=clock.now())
    ingest(project, host_report(reachable=False))
    evaluate()
    assert states(config) == {project.id: ["OPEN"]}
