"""A worker that keeps configurations in memory sees every change of them in its next evaluation."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from accesslist.projects.changes import project_update
from alerting.configs.changes import alert_config_delete, alert_config_set_enabled, alert_config_update
from alerting.configs.store import KeptIndexes, concerned_configs, concerned_indexes
from alerting.engine.config_index import ConfigIndex
from alerting.engine.evaluation import evaluate_signals
from alerting.engine.transition import ConfigView
from alerting.models import Alert, AlertConfig
from events.models import Signal
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import by_column, make_config, make_global_config
from tests.factories.automation import host_report, ingest
from tests.hostile.budget import LONG
from tests.integration.alerting.pipeline import evaluate, statuses
from tests.racing import in_other_session

pytestmark = pytest.mark.django_db

TYPES = (EventType.HOST_DOWN, EventType.HOST_RECOVERING, EventType.OUTSIDE_METRIC_THRESHOLD)
ELSEWHERE: dict[str, Any] = {
    "matchers": [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "elsewhere"}]
}
STEPS = 2_000 if LONG else 60
Change = Callable[[AlertConfig, Project], object]


def kept(project: Project) -> dict[str, ConfigView]:
    """The configurations that an evaluation of the project would use now, by id."""
    indexes = concerned_indexes(project.id, TYPES)
    return {config_id: view for index in indexes.values() for config_id, view in index.configs.items()}


def stored(project: Project) -> dict[str, ConfigView]:
    """The configurations that cover the project now, by id."""
    return {view.id: view for view in concerned_configs(project.id, TYPES)}


def test_a_configuration_that_cannot_be_read_holds_no_other_back(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    unreadable, other = make_config(project), make_config(project)
    matchers = [{"fieldName": "OF_A_LATER_VERSION", "operator": "EQUALS", "value": "x"}]
    AlertConfig.objects.filter(id=unreadable.id).update(matchers=matchers)
    ingest(project, host_report(reachable=False), now=clock.now())
    evaluate(clock.now())
    assert (statuses(unreadable), statuses(other)) == ([], ["OPEN"])
    assert unreadable.id in caplog.text
    # The change of a configuration that a later version wrote waits for that version.
    assert Signal.objects.get().payload["alertConfigId"] == unreadable.id


def change(config: AlertConfig, _: Project | None = None, **values: Any) -> None:
    """Change fields of a configuration, by their names on the wire."""
    alert_config_update(config=config, read=lambda _: by_column(values), actor=SYSTEM, now=clock.now())


def change_twice(config: AlertConfig, _: Project) -> None:
    """Two updates in one transaction, the first of which changes nothing that matters."""
    with transaction.atomic():
        change(config, matchers=[])
        change(config, **ELSEWHERE)


def disable(config: AlertConfig, _: Project) -> None:
    """Disable it."""
    alert_config_set_enabled(config=config, enabled=False, actor=SYSTEM, now=clock.now())


def delete(config: AlertConfig, _: Project) -> None:
    """Delete it."""
    alert_config_delete(config=config, actor=SYSTEM, now=clock.now())


def retag(_: AlertConfig, project: Project) -> None:
    """Give the project other tags."""
    project_update(group_id=project.id, changes={"tags": ["dev"]}, actor=SYSTEM, now=clock.now())


def restore(config: AlertConfig, _: Project) -> None:
    """Replace the row by an older row of a backup, which has the same time."""
    row = AlertConfig.objects.get(id=config.id)
    AlertConfig.objects.filter(id=config.id).delete()
    row.matchers = [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "elsewhere"}]
    row.save(force_insert=True)


def write_unnoticed(config: AlertConfig, _: Project) -> None:
    """Change the row past all services."""
    AlertConfig.objects.filter(id=config.id).update(matchers=ELSEWHERE["matchers"])


OWN: list[Change] = [partial(change, **ELSEWHERE), change_twice, disable, delete, restore, write_unnoticed]
GLOBAL: list[Change] = [
    *OWN,
    retag,
    partial(change, tags=["dev"]),
    partial(change, forAllGroups=False, groupIds=["other"]),
]


@pytest.fixture
def tagged(db: None) -> Project:
    """A project with a tag, in which a host is up."""
    project: Project = ProjectFactory.create(tags=["prod"])
    ingest(project, host_report(reachable=True))
    evaluate()
    return project


def host_goes_down(project: Project) -> None:
    """Report it, and evaluate the report."""
    ingest(project, host_report(reachable=False))
    evaluate()


@each("make_it_so", OWN, ids=str)
def test_a_change_of_a_configuration_is_seen(tagged: Project, make_it_so: Change) -> None:
    config = make_config(tagged)
    evaluate()
    assert kept(tagged).keys() == {config.id}
    make_it_so(config, tagged)
    host_goes_down(tagged)
    assert statuses(config) == []
    assert kept(tagged) == stored(tagged)


@each("make_it_so", GLOBAL, ids=str)
def test_a_change_of_a_global_configuration_or_of_tags_is_seen(tagged: Project, make_it_so: Change) -> None:
    other: Project = ProjectFactory.create()
    config = make_global_config(tags=["prod"])
    evaluate()
    assert kept(tagged).keys() == {config.id}
    if isinstance(make_it_so, partial) and "groupIds" in make_it_so.keywords:
        make_it_so = partial(change, forAllGroups=False, groupIds=[other.id], tags=[])
    make_it_so(config, tagged)
    host_goes_down(tagged)
    assert statuses(config) == []
    assert kept(tagged) == stored(tagged)


def test_what_begins_to_cover_a_project_is_seen(tagged: Project) -> None:
    assert kept(tagged) == {}
    own, everywhere = make_config(tagged), make_global_config()
    switched_off, for_others = make_config(tagged, enabled=False), make_global_config(tags=["dev"])
    evaluate()
    assert kept(tagged).keys() == {own.id, everywhere.id}
    alert_config_set_enabled(config=switched_off, enabled=True, actor=SYSTEM, now=clock.now())
    assert kept(tagged).keys() == {own.id, everywhere.id, switched_off.id}
    retag(for_others, tagged)
    evaluate()
    assert kept(tagged).keys() == {own.id, everywhere.id, switched_off.id, for_others.id}
    host_goes_down(tagged)
    assert Alert.objects.filter(group_id=tagged.id, status="OPEN").count() == 4


def test_another_shortest_delay_is_seen(tagged: Project) -> None:
    config = make_config(tagged)
    assert kept(tagged).keys() == {config.id}
    delayed = {"typeName": "EMAIL", "emailAddress": "oncall@example.com", "delayMin": 5}
    change(config, notifications=[delayed])
    host_goes_down(tagged)
    assert statuses(config) == ["TRACKING"]


def test_updates_of_one_transaction_are_distinguished(tagged: Project) -> None:
    config = make_config(tagged)
    row = AlertConfig.objects.filter(id=config.id)
    with transaction.atomic():  # all have the same number of a transaction
        for host in ("a", "b"):
            row.update(matchers=[{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": host}])
            assert [matcher.value for matcher in kept(tagged)[config.id].matchers] == [host]


def test_an_update_that_is_undone_is_forgotten(tagged: Project) -> None:
    config = make_config(tagged)
    before = kept(tagged)
    with transaction.atomic():
        write_unnoticed(config, tagged)
        assert kept(tagged) != before
        transaction.set_rollback(True)
    assert kept(tagged) == before


def test_random_changes_are_seen(tagged: Project) -> None:
    random = Random(15)
    rows = [make_config(tagged).id, make_global_config().id, make_global_config(tags=["prod"]).id]
    of_project, of_rows = Project.objects.filter(id=tagged.id), AlertConfig.objects.filter(id__in=rows)
    for number in range(STEPS):
        row = of_rows.filter(id=random.choice(rows))
        steps: list[Callable[[], object]] = [
            partial(row.update, enabled=random.random() < 0.7),
            partial(row.update, matchers=[{"fieldName": "PORT", "operator": "EQUALS", "value": str(number)}]),
            partial(row.update, event_type=random.choice(TYPES[:2]).value),
            partial(row.update, deleted=random.choice((None, clock.now()))),
            partial(of_rows.exclude(tags=[]).update, tags=random.choice((["prod"], ["dev"]))),
            partial(of_project.update, tags=random.choice(([], ["prod"], ["dev", "prod"]))),
            partial(of_project.update, name=F("name")),
        ]
        random.choice(steps)()
        if random.random() < 0.7:  # sometimes several changes come between two evaluations
            assert kept(tagged) == stored(tagged)


@pytest.mark.django_db(transaction=True)
def test_a_change_by_another_process_is_seen_after_its_commit_and_not_before(project: Project) -> None:
    config = make_config(project)
    evaluate()
    before = kept(project)
    with transaction.atomic():
        write_unnoticed(config, project)
        assert in_other_session(lambda: kept(project)) == before
    assert kept(project) == stored(project) != before


@pytest.mark.django_db(transaction=True)
def test_nothing_is_evaluated_while_a_configuration_is_written(project: Project) -> None:
    config = make_config(project)
    evaluate()
    assert kept(project).keys() == {config.id}
    ingest(project, host_report(reachable=False))
    with transaction.atomic():
        delete(config, project)
        assert in_other_session(lambda: evaluate_signals(now=clock.now())) == 0
    evaluate()
    assert statuses(config) == []
    assert not Signal.objects.exists()


def test_without_a_change_no_configuration_is_read_again(tagged: Project) -> None:
    make_config(tagged)
    make_config(tagged, eventTypeName="HOST_RECOVERING")
    first = concerned_indexes(tagged.id, TYPES)
    with CaptureQueriesContext(connection) as queries:
        second = concerned_indexes(tagged.id, TYPES)
    assert len(queries) == 1
    assert [second[name] is index for name, index in first.items()] == [True, True]


def test_a_change_leaves_the_other_event_types_as_they_are(tagged: Project) -> None:
    config = make_config(tagged)
    make_config(tagged, eventTypeName="HOST_RECOVERING")
    before = concerned_indexes(tagged.id, TYPES)
    change(config, **ELSEWHERE)
    after = concerned_indexes(tagged.id, TYPES)
    changed = {name for name, index in before.items() if after[name] is not index}
    assert changed == {EventType.HOST_DOWN}
    assert [view.id for view in after[EventType.HOST_DOWN].configs.values()] == [config.id]


class TestRoom:
    """What a process keeps is bounded by the number of configurations."""

    def test_the_longest_unused_go(self) -> None:
        room = KeptIndexes(5)
        first, second, third = (index_of(2), index_of(2), index_of(2))
        room.keep("first", EventType.HOST_DOWN, b"1", first)
        room.keep("second", EventType.HOST_DOWN, b"1", second)
        assert room.get("first", EventType.HOST_DOWN, b"1") is first
        room.keep("third", EventType.HOST_DOWN, b"1", third)
        assert room.get("second", EventType.HOST_DOWN, b"1") is None
        assert room.get("first", EventType.HOST_DOWN, b"1") is first
        assert room.get("third", EventType.HOST_DOWN, b"1") is third

    def test_a_newer_version_takes_the_room_of_the_older(self) -> None:
        room = KeptIndexes(5)
        other, newest = index_of(2), index_of(3)
        room.keep("other", EventType.HOST_DOWN, b"1", other)
        for number in range(10):
            room.keep("one", EventType.HOST_DOWN, bytes([number]), index_of(2))
        room.keep("one", EventType.HOST_DOWN, b"newest", newest)
        assert room.get("one", EventType.HOST_DOWN, bytes([9])) is None
        assert room.get("one", EventType.HOST_DOWN, b"newest") is newest
        assert room.get("other", EventType.HOST_DOWN, b"1") is other

    def test_what_is_larger_than_the_room_is_not_kept(self) -> None:
        room = KeptIndexes(5)
        room.keep("one", EventType.HOST_DOWN, b"1", index_of(6))
        assert room.get("one", EventType.HOST_DOWN, b"1") is None
        small = index_of(5)
        room.keep("one", EventType.HOST_DOWN, b"2", small)
        assert room.get("one", EventType.HOST_DOWN, b"2") is small


def index_of(count: int) -> ConfigIndex:
    """An index of so many configurations."""
    return ConfigIndex(ConfigView(f"c{number}", EventType.HOST_DOWN) for number in range(count))
