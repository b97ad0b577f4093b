"""Hosts that are reachable and not measured: from reports, and from the worker's search."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from automation.choices import AgentType, HostType
from automation.models import Agent, Host
from events.models import Event, Signal
from tests.each import each
from tests.factories.automation import host_report, ingest, sweep

pytestmark = pytest.mark.django_db
START = datetime(2025, 1, 1, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
REFUSED = "password authentication failed"


def measuring_events() -> list[str]:
    """The events about measuring, oldest first."""
    names = ("HOST_NOT_MEASURED", "HOST_MEASURED")
    return list(
        Event.objects.filter(event_type__in=names).order_by("id").values_list("event_type", flat=True)
    )


def observe(project: Project, minutes: float, *, arrives: float | None = None, **said: Any) -> None:
    """Store a report of a host that was observed and arrived so many minutes after the start."""
    arrived = minutes if arrives is None else arrives
    ingest(project, host_report(**said), observed=START + minutes * MINUTE, now=START + arrived * MINUTE)


class TestReports:
    """The newest observations decide."""

    @each("said", [{}, {"problem": REFUSED}, {"problem": REFUSED, "CONNECTIONS": 1.0}])
    def test_after_four_minutes_without_a_measurement_until_the_first(
        self, project: Project, said: dict[str, Any]
    ) -> None:
        observe(project, 0, CONNECTIONS=1.0)
        observe(project, 1, **said)
        observe(project, 4.99, **said)
        assert measuring_events() == []
        observe(project, 5, **said)
        observe(project, 6, **said)
        event = Event.objects.get(event_type="HOST_NOT_MEASURED")
        assert (event.created, event.details["hostname"]) == (START + 5 * MINUTE, "db1")
        assert Signal.objects.filter(kind="hosts").latest("id").payload["hosts"][0]["notMeasured"]
        observe(project, 7, CONNECTIONS=1.0)
        assert measuring_events() == ["HOST_NOT_MEASURED", "HOST_MEASURED"]
        assert not Signal.objects.filter(kind="hosts").latest("id").payload["hosts"][0]["notMeasured"]
        host = Host.objects.get()
        assert (host.unmeasured_since, host.not_measured, host.problem) == (None, False, None)

    def test_late_reports_have_their_own_times(self, project: Project) -> None:
        observe(project, 0, arrives=10, problem=REFUSED)
        sweep(START + 10 * MINUTE)
        assert measuring_events() == []
        observe(project, 3, arrives=10, problem=REFUSED)
        observe(project, 5, arrives=10, problem=REFUSED)
        assert Event.objects.get(event_type="HOST_NOT_MEASURED").created == START + 5 * MINUTE

    def test_after_the_host_was_down_the_four_minutes_start_again(self, project: Project) -> None:
        observe(project, 0, problem=REFUSED)
        # Its agent reports other hosts, so the host is down.
        ingest(project, now=START + 3 * MINUTE)
        sweep(START + 5 * MINUTE)
        assert Host.objects.filter(down=True, unmeasured_since=None).exists()
        observe(project, 10, problem=REFUSED)
        observe(project, 13, problem=REFUSED)
        sweep(START + 13.5 * MINUTE)
        assert measuring_events() == []
        observe(project, 14, problem=REFUSED)
        assert measuring_events() == ["HOST_NOT_MEASURED"]

    def test_a_late_measurement_opens_and_ends_nothing(self, project: Project) -> None:
        observe(project, 0)
        observe(project, 3)
        observe(project, 2, arrives=3, CONNECTIONS=1.0)
        observe(project, 5)
        assert measuring_events() == []
        observe(project, 6)
        assert measuring_events() == ["HOST_NOT_MEASURED"]
        observe(project, 5.5, arrives=6, CONNECTIONS=1.0)
        assert measuring_events() == ["HOST_NOT_MEASURED"]

    def test_a_host_that_is_down_has_its_own_event(self, project: Project) -> None:
        observe(project, 0)
        observe(project, 5, reachable=False)
        observe(project, 6)
        observe(project, 9)
        assert measuring_events() == []
        observe(project, 10)
        observe(project, 11, reachable=False)
        observe(project, 12, reachable=True)
        assert measuring_events() == ["HOST_NOT_MEASURED"]
        observe(project, 13, CONNECTIONS=1.0)
        assert measuring_events() == ["HOST_NOT_MEASURED", "HOST_MEASURED"]

    def test_nothing_is_expected_of_an_arbiter(self, project: Project) -> None:
        for minutes in (0, 3, 5):
            observe(project, minutes, type_name=HostType.REPLICA_ARBITER)
        sweep(START + 6 * MINUTE)
        assert measuring_events() == []

    def test_reports_of_another_agent_without_measurements_change_nothing(self, project: Project) -> None:
        for minutes in range(7):
            now = START + minutes * MINUTE
            ingest(project, host_report(CONNECTIONS=1.0), agent="one", now=now)
            ingest(project, host_report(), agent="two", now=now + 30 * SECOND)
            sweep(now + 45 * SECOND)
        assert measuring_events() == []

    @each("agent_type", [AgentType.BACKUP, AgentType.AUTOMATION])
    def test_reports_of_agents_that_never_measure_decide_nothing(
        self, project: Project, agent_type: AgentType
    ) -> None:
        for minutes in range(7):
            now = START + minutes * MINUTE
            ingest(project, host_report(), agent_type=agent_type, now=now)
            sweep(now + SECOND)
        Host.objects.update(unmeasured_since=START)
        sweep(START + 6.5 * MINUTE)
        assert measuring_events() == []


class TestSweep:
    """No report must arrive."""

    @each(("later", "expected"), [(4 * MINUTE - SECOND, 0), (4 * MINUTE, 1), (5 * MINUTE, 1)])
    def test_a_worker_finds_it_after_four_minutes(
        self, project: Project, later: timedelta, expected: int
    ) -> None:
        observe(project, 0, problem=REFUSED)
        observe(project, 3, problem=REFUSED)
        Signal.objects.all().delete()
        for seconds in (0, 15):
            sweep(START + later + seconds * SECOND if expected else START + later)
        assert measuring_events() == ["HOST_NOT_MEASURED"] * expected
        states = [
            state for signal in Signal.objects.filter(kind="hosts") for state in signal.payload["hosts"]
        ]
        assert [(state["hostname"], state["notMeasured"]) for state in states] == [("db1", True)] * expected
        observe(project, 6, problem=REFUSED)
        observe(project, 7, CONNECTIONS=1.0)
        assert measuring_events() == ["HOST_NOT_MEASURED", "HOST_MEASURED"]

    @each(
        "changes",
        [
            {"down": True},
            {"demonstration": True},
            {"last_report": START},
            {"waiting_since": START + 4 * MINUTE},
        ],
    )
    def test_without_recent_reports_nothing_is_found(self, project: Project, changes: dict[str, Any]) -> None:
        observe(project, 0)
        observe(project, 3)
        Agent.objects.update(**changes)
        sweep(START + 4 * MINUTE)
        assert measuring_events() == []

    def test_a_host_without_reports_is_down_and_not_unmeasured(self, project: Project) -> None:
        observe(project, 0)
        ingest(project, now=START + 3 * MINUTE)
        sweep(START + 5 * MINUTE)
        assert measuring_events() == []
        assert Event.objects.filter(event_type="HOST_DOWN").exists()

    def test_a_host_that_no_agent_has_reported_is_not_expected(self, project: Project) -> None:
        observe(project, 0, hostname="other", CONNECTIONS=1.0)
        observe(project, 4, hostname="other", CONNECTIONS=1.0)
        Host.objects.create(group=project, hostname="new", port=27017, created=START)
        sweep(START + 5 * MINUTE)
        assert measuring_events() == []
