"""A project with its agent and receivers, for end-to-end tests."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from opsapi.embedded.layout import Layout
from tests.integration.embedded.sql import run_sql
from tests.processes.conftest import JsonCaller, ProcessCaller, make_first_user
from tests.processes.platform import RunningPlatform, prepared_installation
from tests.receivers import HttpReceiver, MailReceiver, ReceivedMail, ReceivedRequest

SECRET = "a webhook secret"
HOST = "db1.example.com:27017"
_numbers = itertools.count(1)


@dataclass(frozen=True)
class RunningSite:
    """A running platform, its mail server, and its first user."""

    platform: RunningPlatform
    mail_server: MailReceiver
    owner: ProcessCaller

    def ask(self, statement: str) -> Any:
        """One value from the database."""
        return self.platform.ask(statement)

    def is_idle(self) -> bool:
        """Whether no signal waits to be evaluated and no notification to be sent."""
        return bool(
            self.ask(
                "SELECT NOT EXISTS (SELECT FROM events_signal) AND NOT EXISTS "
                "(SELECT FROM alerting_notification WHERE status = 'PENDING' AND due <= now())"
            )
        )

    def workers(self) -> list[str]:
        """The workers ever seen, as `<machine>:<process id>`."""
        names: list[str] = self.ask("SELECT array_agg(name) FROM alerting_workerheartbeat")
        return names

    def let_agent_time_out(self, group_id: str, hostname: str) -> None:
        """Time passes for one agent: it was last heard five minutes ago, while everybody listened."""
        agent = f"group_id = '{group_id}' AND hostname = '{hostname}'"
        past = "now() - interval '5 min'"
        for statement in (
            f"UPDATE automation_agent SET last_report = {past} WHERE {agent}",  # noqa: S608 - the test's own
            f"UPDATE automation_fleetwatch SET counting_since = {past}, swept = now() - interval '11 s'",  # noqa: S608 - of no input
        ):
            run_sql(Layout(self.platform.data_dir), statement)


@contextmanager
def running_site(**environment: str) -> Iterator[RunningSite]:
    """A started installation that may notify receivers on this machine; it stops when the block ends."""
    with (
        MailReceiver().running() as mail_server,
        prepared_installation(
            OPSAPI_OUTBOUND_ALLOW="127.0.0.0/8",
            EMAIL_URL=f"smtp://127.0.0.1:{mail_server.port}",
            **environment,
        ) as platform,
    ):
        platform.start()
        yield RunningSite(platform, mail_server, make_first_user(platform))
        assert platform.stop() == 0


C = TypeVar("C", bound=JsonCaller)
HOSTS_DOWN: Mapping[str, Any] = {"eventTypeName": "HOST_DOWN"}


class WatchedProject(Generic[C]):
    """A project with the key of an agent and a configuration, by default for HOST_DOWN, with a webhook."""

    def __init__(self, owner: C, receiver: HttpReceiver, condition: Mapping[str, Any] = HOSTS_DOWN) -> None:
        self.receiver, self.owner = receiver, owner
        self.number = next(_numbers)
        self.group, self.org, self.agent = self.create()
        self.path = f"/groups/{self.group}"
        self.config = self.configure(condition)

    def create(self) -> tuple[str, str, C]:
        """A new project: its id, the id of its organization, and its agent."""
        group = self.owner.post("/groups", {"name": f"payments {self.number}"})
        key = {"desc": "agent", "roles": ["GROUP_AGENT"]}
        made = self.owner.post(f"/groups/{group['id']}/apiKeys", key)
        return group["id"], group["orgId"], self.owner.with_key(made)

    def configure(self, condition: Mapping[str, Any]) -> str:
        """The receivers are notified of this; answers the id of the configuration."""
        config = {**condition, "notifications": self.notifications()}
        made: str = self.owner.post(f"{self.path}/alertConfigs", config)["id"]
        return made

    def notifications(self) -> list[dict[str, Any]]:
        """The notifications for the receivers."""
        return [{"typeName": "WEBHOOK", "webhookUrl": self.receiver.url(), "webhookSecret": SECRET}]

    def report(self, *, reachable: bool) -> None:
        """The agent reports its only host; it was accepted when this returns."""
        hostname, port = HOST.split(":")
        host = {
            "hostname": hostname,
            "port": int(port),
            "typeName": "REPLICA_PRIMARY",
            "reachable": reachable,
        }
        assert self.send(hosts=[host])["hosts"] == 1

    def send(self, **said: Any) -> dict[str, int]:
        """Send a report of the agent; return the numbers of accepted parts."""
        agent = {"agentType": "MONITORING", "hostname": "agent1", "version": "1.0"}
        accepted: dict[str, int] = self.agent.report(self.group, {**agent, **said})["accepted"]
        return accepted

    def alerts(self) -> list[dict[str, Any]]:
        """The project's alerts, newest first."""
        found: list[dict[str, Any]] = self.owner.get(f"{self.path}/alerts")["results"]
        return found

    def log(self) -> list[str]:
        """The events of the project, oldest first; events of an alert end in `of alert`."""
        events = self.owner.get(f"{self.path}/events")["results"]
        return [
            event["eventTypeName"] + (" of alert" if "alertId" in event else "") for event in reversed(events)
        ]

    def webhooks(self, kind: str) -> list[ReceivedRequest]:
        """Requests received of one kind."""
        return [request for request in self.receiver.requests if request.headers["X-Ops-Event"] == kind]


class Scenario(WatchedProject[ProcessCaller]):
    """The same at a running platform; everything is mailed, too."""

    def __init__(
        self, site: RunningSite, receiver: HttpReceiver, condition: Mapping[str, Any] = HOSTS_DOWN
    ) -> None:
        self.site = site
        super().__init__(site.owner, receiver, condition)

    @property
    def address(self) -> str:
        """Where the mails go."""
        return f"oncall{self.number}@example.com"

    def notifications(self) -> list[dict[str, Any]]:
        """The notifications for both receivers."""
        return [*super().notifications(), {"typeName": "EMAIL", "emailAddress": self.address}]

    def mails(self, label: str) -> list[ReceivedMail]:
        """Mails received whose title starts with the label."""
        return [
            mail
            for mail in self.site.mail_server.mails
            if mail.recipients == (self.address,) and mail.message["Subject"].strip().startswith(f"[{label}]")
        ]

    def is_notified(self, kind: str, label: str) -> bool:
        """Whether both receivers know."""
        return bool(self.webhooks(kind) and self.mails(label))
