"""The automation configuration by its services: what is stored, and what goes with its project."""

from typing import Any

import pytest

from accesslist.models import Project
from automation.desired_state.changes import automation_config_publish, automation_config_restore
from automation.desired_state.document.publish import NEW_PROJECT, Publication
from automation.desired_state.store import goal_document, goal_version, process_status
from automation.hosts.changes import fleet_purge
from automation.models import AutomationRevision
from events.models import Event, Signal
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM, Actor, ActorKind
from opsapi.encryption import decrypt
from tests.factories.documents import document, process

ADA = Actor(ActorKind.USER, "a" * 24, "ada@example.com")
pytestmark = pytest.mark.django_db


def publish(project: Project, *, actor: Actor = SYSTEM, dry_run: bool = False, **changes: Any) -> Publication:
    """Publish a document."""
    return automation_config_publish(
        group_id=project.id,
        sent=document(**{"version": 0, **changes}),
        if_match=None,
        dry_run=dry_run,
        actor=actor,
        now=clock.now(),
    )


def test_a_revision_keeps_who_published_what(project: Project) -> None:
    made = publish(project, actor=ADA)
    kept = AutomationRevision.objects.get()
    assert (kept.number, kept.processes, kept.changes) == (1, [["db_1", "db1.example.com"]], {"NEW": 1})
    assert (kept.actor_kind, kept.actor_id, kept.actor_name) == ("user", "a" * 24, "ada@example.com")
    assert kept.diffs == Event.objects.get(event_type="AUTOMATION_CONFIG_PUBLISHED_AUDIT").diffs
    assert goal_document(project.id) == made.new
    assert '"db1.example.com"' in decrypt(kept.document or "", owner=kept.id)


def test_a_publish_and_the_hosts_it_adds_are_reported_to_alerting(project: Project) -> None:
    publish(project)
    event_types = [
        signal.payload["eventTypeName"] for signal in Signal.objects.filter(kind="event").order_by("id")
    ]
    assert event_types == ["AUTOMATION_CONFIG_PUBLISHED_AUDIT", "ADD_HOST_AUDIT"]


def test_a_dry_run_leaves_no_trace(project: Project) -> None:
    assert publish(project, dry_run=True).new["version"] == 1
    assert (goal_version(project.id), goal_document(project.id)) == (0, NEW_PROJECT)
    assert not Event.objects.exists()


def test_the_status_of_more_processes_than_a_statement_has_parameters_can_be_read(project: Project) -> None:
    wanted = [(f"p{number}", "h") for number in range(65_536)]
    AutomationRevision.objects.create(
        group_id=project.id, number=1, processes=wanted, actor_kind="system", created=clock.now()
    )
    version, states = process_status(project.id, clock.now())
    assert (version, len(states)) == (1, len(wanted))


def test_each_project_has_versions_of_its_own(project: Project, other_project: Project) -> None:
    publish(project)
    publish(project, version=1, processes=[])
    publish(other_project)
    assert (goal_version(project.id), goal_version(other_project.id)) == (2, 1)


def test_another_project_s_revision_is_not_restored(project: Project, other_project: Project) -> None:
    publish(project)
    with pytest.raises(ApiError, match="AUTOMATION_CONFIG_REVISION_NOT_FOUND"):
        automation_config_restore(
            group_id=other_project.id,
            number=1,
            version=None,
            if_match=None,
            dry_run=False,
            actor=SYSTEM,
            now=clock.now(),
        )
    assert goal_version(other_project.id) == 0


def test_revisions_go_with_their_project(project: Project, other_project: Project) -> None:
    publish(project)
    publish(other_project)
    while fleet_purge(group_id=project.id, limit=1):
        pass
    assert [revision.group_id for revision in AutomationRevision.objects.all()] == [other_project.id]


@pytest.mark.parametrize("count", [1, 60])
def test_a_publish_of_many_processes_makes_no_more_statements(
    project: Project, count: int, django_assert_max_num_queries: Any
) -> None:
    processes = [process(name=f"p{_}", hostname=f"db{_}.example.com") for _ in range(count)]
    with django_assert_max_num_queries(24):
        publish(project, processes=processes)
    project.refresh_from_db()
    assert project.host_count == count
