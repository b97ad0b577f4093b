"""Agents and hosts that should report and do not, and the platform's own absence."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.engine.absence import SWEPT_AGAIN, Absence
from alerting.engine.worker import Worker
from automation.agents.changes import heartbeats_sweep, sweep_begin, sweep_goes_on
from automation.agents.rules import DetectionGap
from automation.agents.store import any_agent_exists, detection_now, last_sweep
from automation.choices import AgentType, HostType
from automation.models import Agent, FleetWatch, Host, ReplicaSet
from events.models import Event, Signal
from opsapi import clock
from opsapi.sql import database_time
from tests.each import each
from tests.factories.automation import host_report, ingest, make_host, sweep
from tests.steps import STEPS

pytestmark = pytest.mark.django_db
START = datetime(2025, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def without_trigger(write: Callable[[], object]) -> None:
    """What an earlier version, or a restored backup, may have left."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE automation_fleetwatch DISABLE TRIGGER fleet_watch_not_ahead")
        write()
        cursor.execute("ALTER TABLE automation_fleetwatch ENABLE TRIGGER fleet_watch_not_ahead")


def recorded(*names: str) -> list[str]:
    """Which of these events there are, oldest first."""
    return list(
        Event.objects.filter(event_type__in=names).order_by("id").values_list("event_type", flat=True)
    )


def down() -> set[str]:
    """The hosts that are down."""
    return set(Host.objects.filter(down=True).values_list("hostname", flat=True))


def timed_out() -> set[str]:
    """The agents with a heartbeat timeout."""
    return set(Agent.objects.filter(down=True).values_list("hostname", flat=True))


class TestHosts:
    """The timeout of a host whose agent still reports."""

    @each(
        ("later", "expected"),
        [(4 * MINUTE - SECOND, set()), (4 * MINUTE, {"b"}), (4 * MINUTE + SECOND, {"b"})],
        ids=["before", "at", "after"],
    )
    def test_a_host_that_its_agent_no_longer_reports_is_down_after_four_minutes(
        self, project: Project, later: timedelta, expected: set[str]
    ) -> None:
        ingest(project, host_report("a"), host_report("b"), now=START)
        ingest(project, host_report("a"), now=START + 3 * MINUTE)
        sweep(START + later)
        assert down() == expected
        assert recorded("HOST_DOWN") == ["HOST_DOWN"] * len(expected)
        assert timed_out() == set()

    def test_it_is_reported_once_with_its_state_and_comes_back_with_a_report(self, project: Project) -> None:
        ingest(project, host_report("a", CONNECTIONS=1.0), host_report("b"), now=START)
        ingest(project, host_report("a", CONNECTIONS=1.0), now=START + 3 * MINUTE)
        Signal.objects.all().delete()
        for seconds in (0, 15, 30):
            sweep(START + 4 * MINUTE + seconds * SECOND)
        (signal,) = Signal.objects.all()
        assert [(host["hostname"], host["reachable"]) for host in signal.payload["hosts"]] == [("b", False)]
        event = Event.objects.get(event_type="HOST_DOWN")
        assert (event.details["hostname"], event.created) == ("b", START + 4 * MINUTE)
        ingest(project, host_report("b"), now=START + 5 * MINUTE)
        assert recorded("HOST_DOWN", "HOST_UP") == ["HOST_DOWN", "HOST_UP"]
        assert down() == set()

    def test_a_host_that_another_agent_reports_meanwhile_has_no_timeout(self, project: Project) -> None:
        ingest(project, host_report("a"), host_report("b"), agent="one", now=START)
        ingest(project, host_report("b"), agent="two", now=START + 2 * MINUTE)
        ingest(project, host_report("a"), agent="one", now=START + 4 * MINUTE)
        sweep(START + 5 * MINUTE)
        assert down() == set()
        sweep(START + 6 * MINUTE)
        # Agent two has a timeout now itself, so its host keeps its state.
        assert (down(), timed_out()) == (set(), {"two"})

    def test_one_that_was_never_reported_or_is_deleted_or_down_already_is_left_alone(
        self, project: Project
    ) -> None:
        ingest(project, host_report("b", reachable=False), host_report("gone"), now=START)
        make_host(project, "new")
        Host.objects.filter(hostname="gone").update(deleted=START)
        ingest(project, now=START + 4 * MINUTE)
        sweep(START + 5 * MINUTE)
        assert down() == {"b"}
        assert recorded("HOST_DOWN") == ["HOST_DOWN"]

    def test_an_agent_that_returns_has_four_minutes_to_speak_of_its_hosts(self, project: Project) -> None:
        ingest(project, host_report("a"), host_report("b"), now=START)
        sweep(START + 4 * MINUTE)
        ingest(project, host_report("a"), now=START + 10 * MINUTE)
        sweep(START + 14 * MINUTE - SECOND)
        assert down() == set()
        ingest(project, host_report("a"), now=START + 14 * MINUTE - SECOND)
        sweep(START + 14 * MINUTE)
        assert down() == {"b"}

    @each(
        ("away", "spared"), [(4 * MINUTE - SECOND, False), (4 * MINUTE, True)], ids=["shorter", "timed out"]
    )
    def test_an_agent_whose_timeout_no_sweep_found_has_as_long(
        self, project: Project, away: timedelta, spared: bool
    ) -> None:
        ingest(project, host_report("a"), host_report("b"), now=START)
        ingest(project, agent="other", now=START + 3 * MINUTE)
        ingest(project, host_report("a"), now=START + away)
        sweep(START + away + 15 * SECOND)
        assert down() == (set() if spared else {"b"})
        assert recorded("MONITORING_AGENT_DOWN", "MONITORING_AGENT_UP") == []

    def test_its_replica_set_is_counted_again(self, project: Project) -> None:
        primary = host_report("b", type_name=HostType.REPLICA_PRIMARY, replica_set_name="rs0")
        ingest(project, host_report("a"), primary, now=START)
        ingest(project, host_report("a"), now=START + 3 * MINUTE)
        sweep(START + 4 * MINUTE)
        replica_set = ReplicaSet.objects.get()
        assert (replica_set.primaries, replica_set.healthy, replica_set.unhealthy) == (0, 0, 1)
        assert recorded("NO_PRIMARY") == ["NO_PRIMARY"]
        states = Signal.objects.filter(kind="hosts").latest("id").payload["replicaSets"]
        assert [state["primaries"] for state in states] == [0]


class TestAgents:
    """A heartbeat timeout is one event of the agent, and its hosts keep their state."""

    @each("agent_type", list(AgentType))
    @each(("later", "is_down"), [(4 * MINUTE - SECOND, False), (4 * MINUTE, True)], ids=["before", "at"])
    def test_one_is_down_after_four_minutes(
        self, project: Project, agent_type: AgentType, later: timedelta, is_down: bool
    ) -> None:
        ingest(project, host_report("a"), agent_type=agent_type, now=START)
        sweep(START + later)
        name = f"{agent_type.value}_AGENT_DOWN"
        assert recorded(name) == [name] * is_down
        assert Signal.objects.filter(payload__eventTypeName=name).count() == int(is_down)
        assert timed_out() == ({"agent1"} if is_down else set())
        assert (down(), recorded("HOST_DOWN")) == (set(), [])

    def test_it_is_reported_once_and_is_up_with_its_next_report(self, project: Project) -> None:
        ingest(project, now=START)
        for minutes in (4, 5, 6):
            sweep(START + minutes * MINUTE)
        ingest(project, now=START + 7 * MINUTE)
        ingest(project, now=START + 8 * MINUTE)
        names = ("MONITORING_AGENT_DOWN", "MONITORING_AGENT_UP")
        assert recorded(*names) == list(names)
        for event in Event.objects.filter(event_type__in=names):
            assert (event.details["hostname"], event.details["sourceTypeName"]) == ("agent1", "MONITORING")
        assert Signal.objects.filter(payload__eventTypeName="MONITORING_AGENT_UP").count() == 1

    def test_the_last_one_of_the_installation_is_reported_too(self, project: Project) -> None:
        ingest(project, now=START)
        sweep(START + 4 * MINUTE)
        assert timed_out() == {"agent1"}

    def test_an_agent_of_a_deleted_project_has_no_event_and_hides_no_other(
        self, project: Project, other_project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("automation.agents.changes.PROJECTS_AT_ONCE", 1)
        ingest(project, host_report("a"), agent="gone", now=START)
        ingest(other_project, agent="left", now=START)
        Project.objects.filter(id=project.id).update(deleted=START, org=None)
        sweep(START + 5 * MINUTE)
        assert timed_out() == {"left"}

    def test_however_many_there_are_all_are_found(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("automation.agents.changes.ROWS_AT_ONCE", 2)
        for number in range(5):
            ingest(project, agent=f"agent{number}", now=START)
        sweep(START + 5 * MINUTE)
        assert len(timed_out()) == 5


class TestAbsence:
    """After a time in which no agent could report, none has a timeout."""

    def test_a_first_report_after_four_minutes_without_any_starts_the_clocks_again(
        self, project: Project
    ) -> None:
        ingest(project, host_report("a"), host_report("b"), agent="one", now=START)
        ingest(project, host_report("c"), agent="two", now=START)
        back = START + 4 * MINUTE
        ingest(project, host_report("a"), agent="one", now=back)
        assert FleetWatch.objects.get().counting_since == back
        sweep(back + MINUTE, counting_since=FleetWatch.objects.get().counting_since)
        assert (down(), timed_out()) == (set(), set())
        ingest(project, host_report("a"), agent="one", now=back + 3 * MINUTE)
        sweep(back + 4 * MINUTE, counting_since=FleetWatch.objects.get().counting_since)
        assert (down(), timed_out()) == ({"b"}, {"two"})

    @each("agent", ["one", "new"])
    def test_a_report_in_time_does_not(self, project: Project, agent: str) -> None:
        ingest(project, agent="one", now=START)
        ingest(project, agent="two", now=START + SECOND)
        ingest(project, agent=agent, now=START + 4 * MINUTE)
        assert FleetWatch.objects.get().counting_since == START

    @each(("pause", "starts_anew"), [(60 * SECOND, False), (61 * SECOND, True)], ids=["sixty", "more"])
    def test_clocks_start_again_when_nothing_ran(
        self, project: Project, pause: timedelta, starts_anew: bool
    ) -> None:
        ingest(project, now=START)
        sweep(START + 3 * MINUTE + 30 * SECOND)
        now = START + 3 * MINUTE + 30 * SECOND + pause
        heartbeats_sweep(clock=lambda: now)
        assert timed_out() == (set() if starts_anew else {"agent1"})
        assert (FleetWatch.objects.get().counting_since == now) is starts_anew

    @each(("step", "starts_anew"), [(60 * SECOND, False), (61 * SECOND, True)], ids=["sixty", "more"])
    def test_a_long_sweep_is_no_absence_while_it_goes_on(
        self, project: Project, other_project: Project, step: timedelta, starts_anew: bool
    ) -> None:
        for a_project in (project, other_project):
            ingest(a_project, now=START)
        began = START + 4 * MINUTE
        FleetWatch.objects.update(counting_since=START, swept=began - 15 * SECOND)
        readings = [began, began + step, began + 2 * step]
        heartbeats_sweep(clock=iter(readings).__next__)
        assert Agent.objects.filter(down=True).count() == 2
        sweep_begin(now=began + 2 * step + 15 * SECOND)
        assert FleetWatch.objects.get().counting_since == (readings[-1] if starts_anew else START)

    def test_a_worker_whose_clock_is_behind_takes_back_nothing(self, project: Project) -> None:
        ingest(project, now=START)
        sweep_begin(now=START + MINUTE)
        sweep_goes_on(now=START)
        assert FleetWatch.objects.get().swept == START + MINUTE

    def test_the_first_sweep_of_all_finds_nobody(self, project: Project) -> None:
        ingest(project, now=START)
        FleetWatch.objects.all().delete()
        heartbeats_sweep(clock=lambda: START + 10 * MINUTE)
        assert timed_out() == set()

    def test_several_workers_sweep_as_one(self, project: Project) -> None:
        ingest(project, now=START)
        sweep(START + 4 * MINUTE - 2 * SECOND)
        heartbeats_sweep(clock=lambda: START + 4 * MINUTE)
        assert timed_out() == set()
        heartbeats_sweep(clock=lambda: START + 4 * MINUTE + 8 * SECOND)
        assert timed_out() == {"agent1"}


class TestClocks:
    """Times that a wrong clock wrote do not stop the search."""

    def test_the_database_refuses_a_start_in_the_future(self) -> None:
        now = clock.now()
        for ahead in (-DAY, timedelta(), 50 * SECOND):
            FleetWatch.objects.update_or_create(id=1, defaults={"counting_since": now + ahead})
        for write in (
            lambda: FleetWatch.objects.update(counting_since=now + 70 * SECOND),
            lambda: FleetWatch.objects.bulk_create([FleetWatch(id=1, counting_since=now + DAY)]),
        ):
            with pytest.raises(IntegrityError, match="cannot start in the future"), transaction.atomic():
                write()
        assert FleetWatch.objects.get().counting_since == now + 50 * SECOND

    def test_a_report_at_a_process_whose_clock_is_ahead_starts_them_now(self, project: Project) -> None:
        ingest(project, now=clock.now() + DAY)
        assert FleetWatch.objects.get().counting_since <= database_time()

    @each("column", ["swept", "counting_since"])
    def test_a_stored_future_is_repaired_by_the_next_sweep(self, project: Project, column: str) -> None:
        now = database_time()
        ingest(project, now=now - 10 * MINUTE)
        stored = {"counting_since": now - DAY, "swept": now - 15 * SECOND, column: now + DAY}
        without_trigger(lambda: FleetWatch.objects.update_or_create(id=1, defaults=stored))
        assert detection_now()[0].gap is DetectionGap.CLOCK_AHEAD
        heartbeats_sweep(clock=lambda: now)
        watch = FleetWatch.objects.get()
        assert (watch.counting_since, watch.swept) == (now, now)
        assert detection_now()[0].gap is DetectionGap.COUNTING
        FleetWatch.objects.update(counting_since=now - 4 * MINUTE, swept=now - 15 * SECOND)
        heartbeats_sweep(clock=lambda: now)
        assert timed_out() == {"agent1"}

    @each("step", STEPS, ids=str)
    def test_the_clocks_start_again_after_a_sweep_of_a_wrong_time(
        self, project: Project, step: timedelta
    ) -> None:
        now = database_time()
        ingest(project, now=now - 10 * MINUTE)
        running = {"counting_since": now - DAY, "swept": now + step}
        FleetWatch.objects.update_or_create(id=1, defaults=running)
        absence = Absence(last_sweep, lambda: 0.0)
        absence.begin_search(now)
        assert absence.since() == (now + step + SWEPT_AGAIN if step < timedelta() else None)
        is_near = abs(step) == MINUTE
        heartbeats_sweep(clock=lambda: now)
        watch = FleetWatch.objects.get()
        assert (watch.counting_since, watch.swept) == (now - DAY if is_near else now, now)
        assert timed_out() == ({"agent1"} if is_near else set())
        FleetWatch.objects.update(swept=now + 4 * MINUTE - 15 * SECOND)
        heartbeats_sweep(clock=lambda: now + 4 * MINUTE)
        assert timed_out() == {"agent1"}

    def test_a_worker_sweeps_by_the_clock_of_the_database(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = clock.now()
        ingest(project, now=now)
        FleetWatch.objects.update(counting_since=now - DAY, swept=now - 15 * SECOND)
        monkeypatch.setattr(clock, "now", lambda: now + DAY)
        Worker("host:1")._sweep()
        watch = FleetWatch.objects.get()
        assert (timed_out(), watch.counting_since) == (set(), now - DAY)
        assert watch.swept is not None
        assert watch.swept < now + MINUTE


class TestDetection:
    """Whether timeouts are noticed, by what is stored."""

    def test_it_needs_an_agent_a_sweep_and_four_minutes(self, project: Project) -> None:
        assert detection_now()[0].gap is DetectionGap.NO_AGENT
        now = database_time()
        ingest(project, now=now)
        assert detection_now()[0].gap is DetectionGap.NEVER_SWEPT
        heartbeats_sweep(clock=lambda: now)
        found, _ = detection_now()
        assert (found.gap, found.until) == (DetectionGap.COUNTING, now + 4 * MINUTE)
        FleetWatch.objects.update(counting_since=now - 4 * MINUTE)
        assert detection_now()[0].gap is None
        FleetWatch.objects.update(swept=now - 70 * SECOND)
        assert detection_now()[0].gap is DetectionGap.NOT_SWEPT

    def test_agents_of_the_demonstration_are_none(self, project: Project) -> None:
        ingest(project, demonstration=True, now=clock.now())
        assert detection_now()[0].gap is DetectionGap.NO_AGENT
        assert not any_agent_exists()


class TestDemonstration:
    """Agents of the demonstration do not report; nobody else is concerned."""

    def test_they_and_their_hosts_have_no_timeout(self, project: Project) -> None:
        ingest(project, host_report("a"), host_report("b"), demonstration=True, now=START)
        ingest(project, host_report("a"), demonstration=True, now=START + 3 * MINUTE)
        for minutes in (4, 5, 9, 9999):
            sweep(START + minutes * MINUTE)
        assert (down(), timed_out()) == (set(), set())
        assert recorded("HOST_DOWN", "MONITORING_AGENT_DOWN") == []

    def test_other_agents_and_hosts_of_the_project_time_out_as_usual(self, project: Project) -> None:
        ingest(project, host_report("a"), demonstration=True, now=START)
        ingest(project, agent="real", now=START)
        ingest(project, host_report("b"), host_report("c"), agent="other", now=START)
        ingest(project, host_report("b"), agent="other", now=START + 3 * MINUTE)
        sweep(START + 4 * MINUTE)
        assert (down(), timed_out()) == ({"c"}, {"real"})

    def test_they_never_start_the_clocks(self, project: Project) -> None:
        ingest(project, now=START)
        for minutes in (1, 20, 30):
            ingest(project, agent="shown", demonstration=True, now=START + minutes * MINUTE)
        assert FleetWatch.objects.get().counting_since == START
        FleetWatch.objects.all().delete()
        ingest(project, agent="later", demonstration=True, now=START + 40 * MINUTE)
        assert not FleetWatch.objects.exists()

    def test_they_do_not_hide_that_no_other_agent_could_report(self, project: Project) -> None:
        ingest(project, now=START)
        ingest(project, agent="shown", demonstration=True, now=START + 9 * MINUTE)
        ingest(project, now=START + 10 * MINUTE)
        assert FleetWatch.objects.get().counting_since == START + 10 * MINUTE

    @each("later", [SECOND / 2, MINUTE, DAY], ids=["at once", "soon", "later"])
    def test_a_real_report_ends_the_exemption(self, project: Project, later: timedelta) -> None:
        ingest(project, host_report("a"), host_report("b"), demonstration=True, now=START)
        real = START + later
        ingest(project, host_report("a"), now=real)
        assert not Agent.objects.get().demonstration
        sweep(real + 4 * MINUTE - SECOND)
        assert (down(), timed_out()) == (set(), set())
        ingest(project, host_report("a"), now=real + 3 * MINUTE)
        sweep(real + 4 * MINUTE)
        assert (down(), timed_out()) == ({"b"}, set())
        sweep(real + 7 * MINUTE)
        assert timed_out() == {"agent1"}


class TestCost:
    """A sweep that finds nobody takes the same few statements, whatever the fleet."""

    def statements(self, now: datetime) -> int:
        """How many a sweep takes."""
        FleetWatch.objects.update_or_create(
            id=1, defaults={"swept": now - 15 * SECOND, "counting_since": START - 9 * MINUTE}
        )
        with CaptureQueriesContext(connection) as queries:
            heartbeats_sweep(clock=lambda: now)
        return len(queries)

    def test_no_agent_timed_out(self, project: Project) -> None:
        before = self.statements(START)
        ingest(project, *(host_report(f"h{number}") for number in range(50)), now=START)
        assert self.statements(START + MINUTE) == before

    def test_however_many_agents_of_a_project_timed_out(
        self, project: Project, other_project: Project
    ) -> None:
        ingest(project, *(host_report(f"h{number}") for number in range(50)), now=START)
        ingest(project, now=START + 3 * MINUTE)
        many = self.statements(START + 4 * MINUTE)
        assert len(down()) == 50
        ingest(other_project, host_report("a"), now=START + 4 * MINUTE)
        ingest(other_project, now=START + 7 * MINUTE)
        ingest(project, now=START + 7 * MINUTE)
        assert self.statements(START + 8 * MINUTE) == many
        assert len(down()) == 51
