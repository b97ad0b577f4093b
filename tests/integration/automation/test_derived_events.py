"""The events that ingestion derives from a report and from what was known before."""

from datetime import UTC, datetime, timedelta

import pytest

from accesslist.models import Project
from automation.choices import AgentType, HostType
from automation.hosts.changes import host_delete
from automation.hosts.versions import version_marks_update
from automation.models import Agent, Host
from events.models import Event, Signal
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.each import each
from tests.factories.automation import host_report, ingest, make_host, sweep

pytestmark = pytest.mark.django_db
START = datetime(2025, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PRIMARY, SECONDARY = HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY


def recorded(*names: str) -> list[str]:
    """Which of these events there are, oldest first."""
    return list(
        Event.objects.filter(event_type__in=names).order_by("id").values_list("event_type", flat=True)
    )


def signalled(name: str) -> list[Signal]:
    """The signals of events of a type."""
    return list(Signal.objects.filter(kind="event", payload__eventTypeName=name))


def versions_signals() -> int:
    """How often versions are to be weighed."""
    return Signal.objects.filter(kind="versions").count()


class TestHosts:
    """Each host against what was said of it before."""

    def test_a_new_role_a_restart_and_an_upgrade_are_reported_once_with_the_new_state(
        self, project: Project
    ) -> None:
        ingest(project, host_report("a", type_name=SECONDARY, version="7.0.1", uptime_seconds=100))
        ingest(project, host_report("a", type_name=PRIMARY, version="7.0.2", uptime_seconds=1))
        ingest(project, host_report("a", type_name=PRIMARY, version="7.0.2", uptime_seconds=61))
        names = ("HOST_NOW_PRIMARY", "HOST_RESTARTED", "HOST_UPGRADED")
        assert sorted(recorded(*names)) == sorted(names)
        for name in names:
            (signal,) = signalled(name)
            assert (signal.payload["typeName"], signal.payload["hostname"]) == ("REPLICA_PRIMARY", "a")

    def test_a_first_report_records_neither_role_nor_upgrade(self, project: Project) -> None:
        make_host(project, "a")
        ingest(project, host_report("a", type_name=PRIMARY, version="7.0.1", uptime_seconds=1))
        assert recorded("HOST_NOW_PRIMARY", "HOST_UPGRADED", "HOST_RESTARTED", "NO_PRIMARY") == []

    def test_recovering_is_left_to_the_signal_of_the_report(self, project: Project) -> None:
        ingest(project, host_report("a", type_name=HostType.RECOVERING))
        ingest(project, host_report("a", type_name=HostType.RECOVERING))
        ingest(project, host_report("a", type_name=SECONDARY))
        assert recorded("HOST_RECOVERING", "HOST_RECOVERED") == ["HOST_RECOVERING", "HOST_RECOVERED"]
        assert not signalled("HOST_RECOVERING") + signalled("HOST_RECOVERED")

    def test_a_field_that_a_report_leaves_out_records_nothing(self, project: Project) -> None:
        ingest(project, host_report("a", version="7.0.1", uptime_seconds=100))
        ingest(project, host_report("a"))
        host = Host.objects.get()
        assert (host.version, host.uptime_seconds) == ("7.0.1", 100)
        assert recorded("HOST_DOWNGRADED", "HOST_RESTARTED") == []


class TestVersions:
    """Weighed when one came, went or changed, and not with every report."""

    def test_only_a_version_that_changed_is_weighed(self, project: Project) -> None:
        ingest(project, host_report("a"))
        assert versions_signals() == 1  # the agent's own
        ingest(project, host_report("a"))
        assert versions_signals() == 1
        ingest(project, host_report("a", version="7.0.1"), host_report("b", version="7.0.1"))
        assert versions_signals() == 2
        ingest(project, host_report("a", version="7.0.1"), host_report("b"))
        assert versions_signals() == 2
        ingest(project, host_report("a", version="7.0.2"))
        assert versions_signals() == 3
        ingest(project, version="1.1")
        assert versions_signals() == 4

    def test_an_agent_with_an_old_version_has_an_event_and_a_signal(self, project: Project) -> None:
        ingest(project, host_report("a", version="7.0.1"), host_report("b", version="7.0.2"))
        ingest(project, host_report("c", version="6.0.15"), host_report("d"))
        version_marks_update(group_id=project.id, now=clock.now())
        assert list(Host.objects.filter(version_behind=True).values_list("hostname", flat=True)) == ["a"]
        newest = Signal.objects.filter(kind="hosts").latest("id")
        assert [(host["hostname"], host["versionBehind"]) for host in newest.payload["hosts"]] == [
            ("a", True)
        ]
        assert recorded("VERSION_BEHIND") == ["VERSION_BEHIND"]
        assert not signalled("VERSION_BEHIND")

    def test_evaluating_again_records_nothing_new(self, project: Project) -> None:
        ingest(project, host_report("a", version="7.0.1"), host_report("b", version="7.0.2"))
        version_marks_update(group_id=project.id, now=clock.now())
        before = (Event.objects.count(), Signal.objects.count())
        version_marks_update(group_id=project.id, now=clock.now())
        assert (Event.objects.count(), Signal.objects.count()) == before

    def test_the_one_ahead_may_go(self, project: Project) -> None:
        ingest(project, host_report("a", version="7.0.1"), host_report("b", version="7.0.2"))
        version_marks_update(group_id=project.id, now=clock.now())
        ahead = Host.objects.get(hostname="b")
        weighed = versions_signals()
        host_delete(group_id=project.id, host_id=ahead.id, actor=SYSTEM, now=clock.now())
        assert versions_signals() == weighed + 1
        version_marks_update(group_id=project.id, now=clock.now())
        assert not Host.objects.filter(version_behind=True).exists()
        assert recorded("VERSION_CURRENT") == ["VERSION_CURRENT"]

    def test_more_than_go_at_once_are_weighed_in_turn(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ingest(project, *(host_report(name, version="7.0.1") for name in "abc"))
        ingest(project, host_report("d", version="7.0.2"))
        Signal.objects.all().delete()
        monkeypatch.setattr("automation.hosts.versions.ROWS_AT_ONCE", 2)
        for behind, left in ((2, 1), (3, 1), (3, 1)):
            version_marks_update(group_id=project.id, now=clock.now())
            assert Host.objects.filter(version_behind=True).count() == behind
            assert versions_signals() == left

    @each(
        ("agent_type", "expected"),
        [
            (AgentType.MONITORING, ["MONITORING_AGENT_VERSION_BEHIND", "MONITORING_AGENT_VERSION_CURRENT"]),
            (AgentType.BACKUP, ["BACKUP_AGENT_VERSION_BEHIND", "BACKUP_AGENT_VERSION_CURRENT"]),
            (AgentType.AUTOMATION, []),
        ],
    )
    def test_an_agent_is_behind_others_of_its_type(
        self, project: Project, agent_type: AgentType, expected: list[str]
    ) -> None:
        names = (
            [f"{agent_type.value}_AGENT_VERSION_{state}" for state in ("BEHIND", "CURRENT")]
            if expected
            else []
        )
        for agent, version in (("a", "1.0"), ("b", "1.1"), ("a", "1.1")):
            ingest(project, agent=agent, agent_type=agent_type, version=version)
            version_marks_update(group_id=project.id, now=clock.now())
        events = Event.objects.filter(event_type__contains="AGENT_VERSION").order_by("id")
        assert [event.event_type for event in events] == expected == names
        assert {event.details["hostname"] for event in events} <= {"a"}
        assert [len(signalled(name)) for name in expected] == [1] * len(expected)

    def test_the_version_of_an_agent_with_a_timeout_leaves_no_other_behind(self, project: Project) -> None:
        def weigh() -> set[str]:
            version_marks_update(group_id=project.id, now=START)
            return set(Agent.objects.filter(version_behind=True).values_list("hostname", flat=True))

        ingest(project, agent="ahead", version="99.0", now=START)
        ingest(project, agent="usual", version="1.0", now=START + 3 * MINUTE)
        assert weigh() == {"usual"}
        weighed = versions_signals()
        sweep(START + 4 * MINUTE)
        assert versions_signals() == weighed + 1
        assert weigh() == set()
        ingest(project, agent="ahead", version="99.0", now=START + 5 * MINUTE)
        assert versions_signals() == weighed + 2
        assert weigh() == {"usual"}

    def test_an_agent_with_a_timeout_has_no_event_about_its_version(self, project: Project) -> None:
        ingest(project, agent="behind", version="1.0", now=START)
        ingest(project, agent="ahead", version="1.1", now=START)
        version_marks_update(group_id=project.id, now=START)
        sweep(START + 4 * MINUTE)
        ingest(project, agent="ahead", version="1.0", now=START + 5 * MINUTE)
        version_marks_update(group_id=project.id, now=START + 5 * MINUTE)
        assert Agent.objects.get(version_behind=True).hostname == "behind"
        assert recorded("MONITORING_AGENT_VERSION_CURRENT") == []

    def test_agents_of_another_type_or_project_count_for_nothing(
        self, project: Project, other_project: Project
    ) -> None:
        ingest(project, version="1.0")
        ingest(project, agent_type=AgentType.BACKUP, version="2.0")
        ingest(other_project, host_report("a", version="7.0.9"), version="3.0")
        ingest(project, host_report("a", version="7.0.1"))
        version_marks_update(group_id=project.id, now=clock.now())
        assert not Event.objects.filter(event_type__contains="BEHIND").exists()

    def test_agents_of_another_project_stay_unchanged(self, project: Project, other_project: Project) -> None:
        ingest(other_project, host_report("a", version="7.0.1"), version="1.0")
        ingest(project, host_report("a", version="7.0.1"), host_report("b", version="7.0.2"), version="1.0")
        ingest(project, agent="agent2", version="1.1")
        version_marks_update(group_id=project.id, now=clock.now())
        for model in (Host, Agent):
            assert [row.group_id for row in model.objects.filter(version_behind=True)] == [project.id]

    def test_a_deleted_project_is_not_weighed(self, project: Project) -> None:
        ingest(project, host_report("a", version="7.0.1"), host_report("b", version="7.0.2"))
        Project.objects.filter(id=project.id).update(deleted=clock.now(), org=None)
        version_marks_update(group_id=project.id, now=clock.now())
        assert not Host.objects.filter(version_behind=True).exists()
