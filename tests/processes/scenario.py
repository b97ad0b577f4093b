"""A project with its agent and receivers, for end-to-end tests."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opsapi.embedded.layout import Layout
from tests.integration.embedded.sql import ask, run_sql
from tests.processes.conftest import ProcessCaller
from tests.processes.platform import RunningPlatform
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
        return ask(Layout(self.platform.data_dir), statement)

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


HOSTS_DOWN: Mapping[str, Any] = {"eventTypeName": "HOST_DOWN"}


class Scenario:
    """A project with the key of an agent and a configuration, by default for HOST_DOWN."""

    def __init__(
        self, site: RunningSite, receiver: HttpReceiver, condition: Mapping[str, Any] = HOSTS_DOWN
    ) -> None:
        self._site, self.receiver, self.owner = site, receiver, site.owner
        number = next(_numbers)
        self.address = f"oncall{number}@example.com"
        group = self.owner.post("/groups", {"name": f"payments {number}"})
        self.group: str = group["id"]
        self.org: str = group["orgId"]
        self.path = f"/groups/{self.group}"
        key = self.owner.post(f"{self.path}/apiKeys", {"desc": "agent", "roles": ["GROUP_AGENT"]})
        self.agent = self.owner.with_key(key)
        self.config = self.configure(condition)

    def configure(self, condition: Mapping[str, Any]) -> str:
        """Both receivers are notified of this; answers the id of the configuration."""
        config = {**condition, "notifications": self.notifications()}
        made: str = self.owner.post(f"{self.path}/alertConfigs", config)["id"]
        return made

    def notifications(self) -> list[dict[str, Any]]:
        """The notifications for both receivers."""
        webhook = {"typeName": "WEBHOOK", "webhookUrl": self.receiver.url(), "webhookSecret": SECRET}
        return [webhook, {"typeName": "EMAIL", "emailAddress": self.address}]

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

    def mails(self, label: str) -> list[ReceivedMail]:
        """Mails received whose title starts with the label."""
        return [
            mail
            for mail in self._site.mail_server.mails
            if mail.recipients == (self.address,) and mail.message["Subject"].strip().startswith(f"[{label}]")
        ]

    def is_notified(self, kind: str, label: str) -> bool:
        """Whether both receivers know."""
        return bool(self.webhooks(kind) and self.mails(label))
