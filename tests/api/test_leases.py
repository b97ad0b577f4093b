"""Agents that share hosts: what a report asks for, what it is answered, and which reports count."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from automation.leases.rules import FORGOTTEN_AFTER
from automation.measurements.rules import NUMBERS
from automation.metrics import Metric
from automation.models import Agent, Host, HostLease, Reading, Watcher
from events.models import Event
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import make_key
from tests.steps import STEPS

pytestmark = pytest.mark.django_db

# In the future: nonces from before the start of the tests are refused.
NOW = datetime(2099, 11, 23, 12, 0, 0, tzinfo=UTC)
INTERVAL = timedelta(seconds=60)
LEASE = timedelta(seconds=150)
HOSTS: list[dict[str, Any]] = [{"hostname": f"db{number}.example.com", "port": 27017} for number in range(4)]


class Agents:
    """Agents of a project, at a time of the test's."""

    def __init__(self, client: ApiClient, project: Project, clock: time_machine.Traveller) -> None:
        """It is NOW."""
        self._client, self._project, self._clock = client, project, clock
        self.now = NOW

    def wait(self, time: timedelta) -> None:
        """Let this time pass."""
        self.now += time
        self._clock.move_to(self.now)

    def ask(self, name: str, hosts: Sequence[dict[str, Any]] = HOSTS, **changes: Any) -> dict[str, Any]:
        """What a report that asks is answered of leases."""
        asked = {"instance": name, "intervalSeconds": 60, "hosts": list(hosts), **changes}
        answer = self._client.report(self._project.id, bodies.report(hostname=name, leases=asked))
        assert answer.status_code == 202, answer.json()
        found: dict[str, Any] = answer.json()["leases"]
        return found

    def leases(self, name: str, **changes: Any) -> dict[str, str]:
        """The lease of each host that the agent watches, by hostname."""
        return {host["hostname"]: host["lease"] for host in self.ask(name, **changes)["hosts"]}

    def report(self, name: str, *hosts: dict[str, Any]) -> None:
        """Report hosts."""
        answer = self._client.report(self._project.id, bodies.report(*hosts, hostname=name))
        assert answer.status_code == 202, answer.json()


@pytest.fixture
def agents(agent: ApiClient, project: Project) -> Any:
    """Two, or more, that can watch the same hosts."""
    with time_machine.travel(NOW, tick=False) as clock:
        yield Agents(agent, project, clock)


def measured(lease: str | None, taken: datetime, number: float = 1, **changes: Any) -> dict[str, Any]:
    """The first host, measured at this time under a lease."""
    sample = {
        "metricName": "CONNECTIONS",
        "number": number,
        "timestamp": taken.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return bodies.host(**HOSTS[0], lease=lease, measurements=[sample], **changes)


def numbers(metric: Metric = Metric.CONNECTIONS, database: str = "") -> list[float | None]:
    """All values of a host or a database that are stored, as they came."""
    rows = Reading.objects.filter(source__database=database).order_by("reported", "report", "-age")
    return [row.numbers[NUMBERS[metric] - 1] for row in rows]


def handed_over(agents: Agents) -> tuple[str, str]:
    """The first host watched by the first agent and then by the second: both leases."""
    first = agents.leases("agent1", hosts=HOSTS[:1])[HOSTS[0]["hostname"]]
    agents.ask("agent2", HOSTS[:1])
    agents.wait(INTERVAL)
    agents.ask("agent2", HOSTS[:1])
    agents.wait(INTERVAL)
    agents.ask("agent2", HOSTS[:1])
    agents.wait(LEASE - 2 * INTERVAL)
    second = agents.leases("agent2", hosts=HOSTS[:1])[HOSTS[0]["hostname"]]
    assert first != second
    return first, second


def test_an_agent_learns_the_hosts_of_its_leases_and_their_ends(agents: Agents) -> None:
    answer = agents.ask("agent1", [{"hostname": "DB1.example.com", "port": 1}, *HOSTS])
    assert [(host["hostname"], host["port"], host["until"]) for host in answer["hosts"]] == [
        (name, port, "2099-11-23T12:02:30Z")
        for name, port in [
            ("db0.example.com", 27017),
            ("DB1.example.com", 1),
            *((f"db{number}.example.com", 27017) for number in (1, 2, 3)),
        ]
    ]
    assert "askAgainInSeconds" not in answer


def test_a_report_that_asks_for_nothing_is_answered_as_before(agent: ApiClient, project: Project) -> None:
    assert agent.report(project.id, bodies.report()).json().keys() == {"accepted"}
    assert not Watcher.objects.exists()


def test_an_agent_says_why_it_did_not_update_itself_until_it_no_longer_says_so(
    agents: Agents, agent: ApiClient, project: Project
) -> None:
    def shown() -> list[Any]:
        path = f"/groups/{project.id}/agents/MONITORING"
        listed, single = (
            agent_reader.get(path).json()["results"][0],
            agent_reader.get(f"{path}/agent1").json(),
        )
        return [listed.get("updateProblem"), single.get("updateProblem")]

    agent_reader = ApiClient(make_key(Grant(Role.GROUP_READ_ONLY, group_id=project.id)))
    leases = {"instance": "a", "intervalSeconds": 60}
    problems = ["--check fails", "--check fails", "at mongodb://ada:hidden@db1", None]
    shows = []
    for problem in problems:
        said = {} if problem is None else {"updateProblem": problem}
        answer = agent.report(project.id, bodies.report(hostname="agent1", leases=leases, **said))
        assert answer.status_code == 202, answer.json()
        agents.report("agent1", bodies.host())  # A report without `leases` does not change it.
        shows.append(shown())
        agents.wait(INTERVAL)
    assert "hidden" not in str(shows)
    assert shows[:2] == [["--check fails"] * 2] * 2
    assert "mongodb://" in shows[2][0]
    assert shows[3] == [None, None]


def test_two_agents_share_and_of_one_that_dies_the_other_takes_over_when_its_lease_ends(
    agents: Agents,
) -> None:
    agents.ask("agent1")
    agents.ask("agent2")
    for _ in range(4):
        agents.wait(INTERVAL)
        first = agents.leases("agent1")
        agents.wait(timedelta(seconds=1))
        second = agents.leases("agent2")
        assert first.keys().isdisjoint(second)
    assert (len(first), len(second)) == (2, 2)
    died = agents.now - timedelta(seconds=1)
    for _ in range(2):
        agents.wait(INTERVAL)
        answer = agents.ask("agent2")
        assert len(answer["hosts"]) == 2
    assert agents.now + timedelta(seconds=answer["askAgainInSeconds"]) == died + LEASE
    agents.wait(timedelta(seconds=answer["askAgainInSeconds"]))
    assert len(agents.ask("agent2")["hosts"]) == 4


def test_members_of_a_set_are_watched_by_one_agent(agents: Agents) -> None:
    sets = [{**host, "together": f"rs{place // 2}"} for place, host in enumerate(HOSTS)]
    for _ in range(5):
        held = [set(agents.leases(name, hosts=sets)) for name in ("agent1", "agent2")]
        agents.wait(INTERVAL)
    names = [host["hostname"] for host in HOSTS]
    assert sorted(map(sorted, held)) == [names[:2], names[2:]]


def test_two_agents_of_one_hostname_differ_by_their_instance(agents: Agents) -> None:
    assert len(agents.leases("agent1", instance="a")) == 4
    assert agents.leases("agent1", instance="b") == {}
    assert Agent.objects.count() == 1


def test_an_agent_that_was_killed_and_starts_again_has_its_hosts_as_before(agents: Agents) -> None:
    before = agents.leases("agent1")
    agents.wait(timedelta(seconds=3))
    assert agents.leases("agent1") == before


def test_an_agent_that_stops_gives_its_hosts_back(agents: Agents) -> None:
    agents.ask("agent1")
    assert agents.ask("agent2")["hosts"] == []
    assert agents.ask("agent1", [], stopping=True) == {"hosts": []}
    assert len(agents.ask("agent2")["hosts"]) == 4


def test_the_hosts_of_a_deleted_agent_are_free_at_once(
    agents: Agents, admin: ApiClient, project: Project
) -> None:
    first = agents.leases("agent1")
    assert agents.ask("agent2")["hosts"] == []
    assert admin.delete(f"/groups/{project.id}/agents/MONITORING/agent1").status_code == 204
    second = agents.leases("agent2")
    assert (len(second), set(first.values()) & set(second.values())) == (4, set())
    assert agents.ask("agent1")["hosts"] == []


def test_a_repeat_is_answered_without_leases(agent: ApiClient, project: Project) -> None:
    """The leases of the first answer may have ended."""
    body = bodies.report(leases={"intervalSeconds": 60, "hosts": HOSTS})
    sent = [agent.report(project.id, body, HTTP_IDEMPOTENCY_KEY="k").json() for _ in range(2)]
    assert [answer.keys() for answer in sent] == [{"accepted", "leases"}, {"accepted"}]


# --- which reports count --------------------------------------------------------------------------


def test_a_report_under_the_lease_counts(agents: Agents) -> None:
    lease = agents.leases("agent1")[HOSTS[0]["hostname"]]
    agents.report("agent1", measured(lease, agents.now))
    assert (numbers(), Host.objects.get().down) == ([1], False)


def test_a_lease_that_ended_and_that_nobody_took_counts(agents: Agents) -> None:
    """While the platform was away the agent went on."""
    lease = agents.leases("agent1")[HOSTS[0]["hostname"]]
    agents.wait(timedelta(minutes=50))
    for minutes in range(50):
        agents.report("agent1", measured(lease, NOW + timedelta(minutes=minutes), minutes))
    assert numbers() == list(range(50))
    assert agents.leases("agent1")[HOSTS[0]["hostname"]] == lease


def test_what_an_agent_sends_late_counts_for_the_time_it_had_the_host(agents: Agents) -> None:
    first, second = handed_over(agents)
    agents.report("agent2", measured(second, agents.now, 9))
    before = agents.now - timedelta(seconds=1)
    agents.report("agent1", measured(first, before, 1), bodies.host(port=1))
    agents.report("agent1", measured(first, agents.now, 2))
    assert numbers() == [1, 9]
    assert Host.objects.filter(port=1).exists()


def test_what_is_measured_of_databases_counts_alike(agents: Agents) -> None:
    first, _ = handed_over(agents)
    samples = [
        {"metricName": "DATABASE_STORAGE_SIZE", "number": number, "timestamp": moment.isoformat()}
        for number, moment in enumerate((agents.now - timedelta(seconds=1), agents.now))
    ]
    databases = [{"databaseName": "shop", "measurements": samples}]
    agents.report("agent1", bodies.host(**HOSTS[0], lease=first, databases=databases))
    assert numbers(Metric.DATABASE_STORAGE_SIZE, "shop") == [0]


def test_the_state_that_an_agent_sends_late_changes_nothing(agents: Agents) -> None:
    first, second = handed_over(agents)
    agents.report("agent2", measured(second, agents.now, replicaSetName="rs0", clusterName="c"))
    known = Host.objects.values().get()
    agents.report(
        "agent1",
        measured(first, NOW, typeName="REPLICA_PRIMARY", reachable=False, version="1.0", clusterName="other"),
    )
    assert Host.objects.values().get() == known
    assert not Event.objects.filter(event_type="HOST_DOWN").exists()


def test_an_agent_that_slept_through_a_lease_of_another_adds_nothing_of_that_time(agents: Agents) -> None:
    """Though it has the host again by now."""
    first, _ = handed_over(agents)
    slept = agents.now + timedelta(seconds=10)
    agents.ask("agent1", [])
    agents.ask("agent2", [], stopping=True)
    agents.wait(timedelta(seconds=20))
    third = agents.leases("agent1", hosts=HOSTS[:1])[HOSTS[0]["hostname"]]
    agents.report("agent1", measured(first, NOW, 1))
    agents.report("agent1", measured(first, slept, 2))
    agents.report("agent1", measured(third, agents.now, 3))
    assert numbers() == [1, 3]


def test_a_lease_that_nobody_gave_counts_for_the_time_before_any(agents: Agents) -> None:
    """An agent that never reached the platform before it measured."""
    agents.report("agent2", measured("my own", agents.now, 1))
    agents.wait(timedelta(seconds=10))
    agents.ask("agent1")
    agents.report("agent2", measured("my own", agents.now - timedelta(seconds=1), 2))
    agents.report("agent2", measured("my own", agents.now, 3))
    assert numbers() == [1, 2]


@each("column", ["created", "earlier"])
@each("step", STEPS, ids=str)
def test_no_lease_ends_after_the_newest_began(agents: Agents, column: str, step: timedelta) -> None:
    """The clock was wrong when the end of the lease was written."""
    agents.ask("agent1")
    began = agents.now
    agents.wait(INTERVAL)
    end = agents.now + step
    changed = {"created": end} if column == "created" else {"earlier": {"my own": end.isoformat()}}
    HostLease.objects.update(**changed)
    for number, moment in enumerate((began - timedelta(seconds=1), began + timedelta(seconds=1))):
        agents.report("agent2", measured("my own", moment, number))
    assert numbers() == ([0] if step >= -INTERVAL else [])


def test_an_agent_that_knows_no_leases_reports_as_before(agents: Agents) -> None:
    handed_over(agents)
    agents.report("old", measured(None, agents.now, 7))
    assert numbers() == [7]


def test_leases_that_ended_long_ago_are_forgotten_with_their_agents(agents: Agents) -> None:
    agents.ask("agent1")
    agents.wait(LEASE + FORGOTTEN_AFTER + timedelta(seconds=1))
    agents.ask("agent2", [])
    assert list(Watcher.objects.values_list("instance", flat=True)) == ["agent2"]
    assert not HostLease.objects.exists()


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"intervalSeconds": 0}, "leases.intervalSeconds"),
        ({"intervalSeconds": 241}, "leases.intervalSeconds"),
        ({"intervalSeconds": None}, "leases.intervalSeconds"),
        ({"instance": "x" * 65}, "leases.instance"),
        ({"hosts": [{"hostname": "a b", "port": 1}]}, "leases.hosts[0].hostname"),
        ({"hosts": [HOSTS[0], {**HOSTS[0], "hostname": "DB0.example.com"}]}, "leases.hosts[1].hostname"),
        ({"hosts": [{**HOSTS[0], "metricSet": 0}]}, "leases.hosts[0].metricSet"),
        ({"metricSets": [{}] * 101}, "leases.metricSets"),
        ({"metricSets": [{"reported": ["X" * 101]}]}, "leases.metricSets[0].reported[0]"),
        ({"metricSets": [{"absent": ["X"] * 501}]}, "leases.metricSets[0].absent"),
        ({"more": 1}, "leases.more"),
    ],
)
def test_a_wrong_request_is_refused_by_field_and_changes_nothing(
    agent: ApiClient, project: Project, changes: dict[str, Any], field: str
) -> None:
    asked = {name: value for name, value in {"intervalSeconds": 60, **changes}.items() if value is not None}
    answer = agent.report(project.id, bodies.report(leases=asked))
    assert answer.status_code == 400
    assert [field["field"] for field in answer.json()["badFields"]] == [field]
    assert not Agent.objects.exists()


def test_agents_of_other_types_share_no_hosts(agent: ApiClient, project: Project) -> None:
    body = bodies.report(agentType="BACKUP", leases={"intervalSeconds": 60})
    assert [field["field"] for field in agent.report(project.id, body).json()["badFields"]] == ["leases"]


def test_more_hosts_than_a_project_may_have_are_refused(
    agents: Agents, agent: ApiClient, project: Project, settings: Any
) -> None:
    settings.OPSAPI_MAX_HOSTS = 4
    assert len(agents.ask("agent1")["hosts"]) == 4
    asked = {"intervalSeconds": 60, "hosts": [{"hostname": "one.more", "port": 1}]}
    answer = agent.report(project.id, bodies.report(hostname="agent2", leases=asked))
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "LIMIT_REACHED")
    assert HostLease.objects.count() == 4


# --- what an agent watches ------------------------------------------------------------------------


def test_an_agent_is_shown_with_its_hosts_and_what_becomes_of_each_metric(
    agents: Agents, reader: ApiClient, project: Project
) -> None:
    sets = [
        {"reported": ["CONNECTIONS"], "absent": ["PG_IO_READS"]},
        {"refused": ["CONNECTIONS"], "failed": ["PG_WAL_BYTES"], "role": "pg_monitor"},
        {"reported": ["OF_ANOTHER_AGENT"]},
    ]
    hosts = [
        {"hostname": "db1.example.com", "port": 5432, "metricSet": 1},
        {"hostname": "::1", "port": 5432, "metricSet": 0},
        {"hostname": "db3.example.com", "port": 5432},
    ]
    agents.ask("agent1", [{"hostname": "db2.example.com", "port": 1, "metricSet": 2}], metricSets=sets)
    agents.ask("agent2", hosts, metricSets=sets)
    shown = reader.get(f"/groups/{project.id}/agents/MONITORING/AGENT2").json()
    until = {"since": "2099-11-23T12:00:00Z", "until": "2099-11-23T12:02:30Z"}
    assert shown["hosts"] == [
        {"hostname": "::1", "port": 5432, "hostnamePort": "[::1]:5432", "metricSet": 0, **until},
        {
            "hostname": "db1.example.com",
            "port": 5432,
            "hostnamePort": "db1.example.com:5432",
            "metricSet": 1,
            **until,
        },
        {"hostname": "db3.example.com", "port": 5432, "hostnamePort": "db3.example.com:5432", **until},
    ]
    assert shown["metricSets"] == [
        {
            "metrics": [
                {"metricName": "CONNECTIONS", "stateName": "REPORTED"},
                {"metricName": "PG_IO_READS", "stateName": "ABSENT"},
            ]
        },
        {
            "metrics": [
                {"metricName": "CONNECTIONS", "stateName": "REFUSED", "roleName": "pg_monitor"},
                {"metricName": "PG_WAL_BYTES", "stateName": "FAILED"},
            ]
        },
    ]
    agents.wait(LEASE)
    assert reader.get(f"/groups/{project.id}/agents/MONITORING/agent2").json()["hosts"] == []


def test_an_agent_that_shares_nothing_is_shown_without_hosts(
    agent: ApiClient, reader: ApiClient, project: Project
) -> None:
    agent.report(project.id, bodies.report(bodies.host()))
    (listed,) = reader.get(f"/groups/{project.id}/agents").json()["results"]
    path = listed["links"][0]["href"].partition("/api/public/v1.0")[2]
    shown = reader.get(path).json()
    assert (shown["hosts"], shown["metricSets"]) == ([], [])
    assert {name: shown[name] for name in listed if name != "links"} == {
        name: listed[name] for name in listed if name != "links"
    }


@pytest.mark.parametrize(
    "path", ["MONITORING/nobody", "BACKUP/agent1.example.com", "NONE/agent1.example.com"]
)
def test_an_agent_that_is_not_there_is_not_found(
    agent: ApiClient, reader: ApiClient, project: Project, path: str
) -> None:
    agent.report(project.id, bodies.report())
    answer = reader.get(f"/groups/{project.id}/agents/{path}")
    assert (answer.status_code, answer.json()["errorCode"]) == (404, "AGENT_NOT_FOUND")


# --- what it costs --------------------------------------------------------------------------------


def test_an_ask_takes_no_more_statements_for_more_hosts_and_writes_one_row_when_nothing_changes(
    agents: Agents,
) -> None:
    def statements(hosts: Sequence[dict[str, Any]]) -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            agents.ask("agent1", hosts)
        return [query["sql"] for query in queries]

    many = [{"hostname": f"db{number}.example.com", "port": 1} for number in range(1000)]
    counts = []
    for hosts in (HOSTS, many):
        agents.ask("agent1", hosts)
        asked = statements(hosts)
        counts.append(len(asked))
        written = [
            statement for statement in asked if "lease" in statement and not statement.startswith("SELECT")
        ]
        assert written == []
    assert counts[0] == counts[1]


def test_a_report_without_leases_asks_nothing_of_them(agents: Agents) -> None:
    agents.ask("agent1")
    with CaptureQueriesContext(connection) as queries:
        agents.report("agent1", bodies.host())
    assert not [query for query in queries if "lease" in query["sql"] or "watcher" in query["sql"]]
