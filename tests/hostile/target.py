"""A running platform that is attacked: a project with one of everything, callers of each kind, secrets."""

import itertools
from collections.abc import Mapping
from typing import Any

import requests
from requests.auth import HTTPDigestAuth

from opsapi.api.links import AGENTS, PUBLIC
from tests.api import bodies
from tests.api.canary import GUARDED, body_of
from tests.eventually import eventually
from tests.hostile.grammar import Known
from tests.hostile.signer import HostileCaller
from tests.processes.conftest import make_first_user
from tests.processes.platform import RunningPlatform

_SERVICES = (
    *("SMS", "PAGER", "OPS_ALERT_US", "OPS_ALERT_EU", "ON_CALL", "CHAT", "GROUP_CHAT"),
    *("METRICS_US", "METRICS_EU"),
)
ENVIRONMENT = {
    # No request is refused for being one of many.
    **dict.fromkeys(("OPSAPI_RATE_FAILED_AUTH", "OPSAPI_RATE_FIRST_USER"), "0"),
    # Nothing leaves the machine: the guard refuses every service.
    **{f"OPSAPI_{name}_BASE_URL": GUARDED for name in _SERVICES},
    "EMAIL_URL": "smtp://127.0.0.1:9",
}
ROLES = ("GROUP_OWNER", "GROUP_MONITORING_ADMIN", "GROUP_READ_ONLY", "GROUP_AGENT")


class HostileTarget:
    """A started platform. `renew` makes another project where requests have spoilt the last one."""

    def __init__(self, platform: RunningPlatform) -> None:
        self.port = platform.port
        self._numbers = itertools.count(1)
        owner = make_first_user(platform)
        self.owner = HostileCaller("GLOBAL_OWNER", owner.public_key, owner.private_key)
        self._session = requests.Session()
        self._session.auth = HTTPDigestAuth(owner.public_key, owner.private_key)
        reader = self._ask("POST", "/admin/apiKeys", bodies.api_key(roles=["GLOBAL_READ_ONLY"]))
        self._of_all = [self.owner, _caller(reader), HostileCaller("nobody")]
        self._of_all.append(HostileCaller("scraper", "scraper", bodies.SECRET, is_scraper=True))
        self._ask("POST", "/users", bodies.user(username=bodies.COLLEAGUE))
        self.secrets = {bodies.SECRET}
        self.secrets |= {(platform.data_dir / name).read_text().strip() for name in _SECRET_FILES}
        self.renew()

    def renew(self) -> None:
        """Make a project with one of everything, and keys that have roles in it."""
        number = next(self._numbers)
        group = self._ask("POST", "/groups", bodies.group(name=f"project {number}"))
        path = f"/groups/{group['id']}"
        fixed = {"integration_type": "SCRAPER", "database_name": "orders", "revision": "1"}
        names = {"group_id": group["id"], "group_name": group["name"], "org_name": group["name"]}
        made = self._made(path, group["id"], group["orgId"], number)
        self.known: Known = {**fixed, **names, **made, **self._reported(path, group["id"])}
        keys = [self._ask("POST", f"{path}/apiKeys", bodies.api_key(roles=[role])) for role in ROLES]
        self.callers = [*self._of_all, *map(_caller, keys)]
        for caller in self.callers:
            self.secrets |= caller.secrets

    def close(self) -> None:
        """End the connections."""
        self._session.close()

    @property
    def is_spoilt(self) -> bool:
        """Whether the project is gone."""
        path = f"http://127.0.0.1:{self.port}{PUBLIC}/groups/{self.known['group_id']}"
        return self._session.get(path, timeout=60).status_code != 200

    def _made(self, path: str, group_id: str, org_id: str, number: int) -> Known:
        """What requests of people make in a project."""
        config = body_of(f"POST {PUBLIC}/groups/<group_id>/alertConfigs")
        everywhere = {"eventTypeName": "HOST_DOWN", "forAllGroups": False, "groupIds": [group_id]}
        user = bodies.user(username=f"user{number}@example.com", password=bodies.SECRET)
        entry = bodies.entry(cidrBlock=f"10.{number // 256}.{number % 256}.0/24")
        key = self._ask("POST", f"{path}/apiKeys", bodies.api_key())["id"]
        entries = self._ask("POST", f"{path}/apiKeys/{key}/accessList", [{"cidrBlock": "192.0.0.0/16"}])
        person = self._ask("POST", "/users", user)
        team = self._ask("POST", f"/orgs/{org_id}/teams", bodies.team(usernames=[user["username"]]))
        self._ask("POST", f"{path}/teams", bodies.team_roles(teamId=team["id"]))
        self._ask("POST", f"{path}/integrations/SCRAPER", bodies.scraper())
        secrets: Any = {"auth": {"key": bodies.SECRET}}
        for version, more in enumerate(({}, secrets)):
            self._ask("PUT", f"{path}/automationConfig", bodies.automation_config(version=version, **more))
        return {
            "org_id": org_id,
            "config_id": self._ask("POST", f"{path}/alertConfigs", config)["id"],
            "global_config_id": self._ask(
                "POST", "/globalAlertConfigs", bodies.global_alert_config(**everywhere)
            )["id"],
            "window_id": self._ask("POST", f"{path}/maintenanceWindows", bodies.window())["id"],
            "key_id": key,
            "key_entry_id": entries["results"][0]["id"],
            "entry_id": self._ask("POST", "/admin/accessList", entry)["id"],
            "user_id": person["id"],
            "username": user["username"],
            "team_id": team["id"],
            "team_name": team["name"],
        }

    def _reported(self, path: str, group_id: str) -> Known:
        """What comes of an agent's report: a host that is down, and its alerts."""
        down = bodies.host(reachable=False, clusterName="orders", databases=[{"databaseName": "orders"}])
        self._ask("POST", f"/groups/{group_id}/reports", bodies.report(down), base=AGENTS)
        alert = self._first(f"{path}/alerts")["id"]
        host = self._first(f"{path}/hosts")
        agent = self._first(f"{path}/agents")
        return {
            "host_id": host["id"],
            "host_name": f"{host['hostname']}:{host['port']}",
            "agent_type": agent["typeName"],
            "agent_name": agent["hostname"],
            "cluster_id": self._first(f"{path}/clusters")["id"],
            "alert_id": alert,
            "notification_id": self._first(f"{path}/alerts/{alert}/notifications")["id"],
            "global_alert_id": self._first("/globalAlerts")["id"],
            "event_id": self._first(f"{path}/events")["id"],
        }

    def _first(self, path: str) -> Any:
        """The first of a list, as soon as there is one."""
        return eventually(lambda: self._ask("GET", path)["results"], message=path)[0]

    def _ask(self, method: str, path: str, body: Any = None, base: str = PUBLIC) -> Any:
        url = f"http://127.0.0.1:{self.port}{base}{path}"
        answer = self._session.request(method, url, json=body, timeout=60)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()


_SECRET_FILES = ("secret_key", "encryption_key")


def _caller(key: Mapping[str, Any]) -> HostileCaller:
    """Who has the key of a document."""
    return HostileCaller(key["roles"][0]["roleName"], key["publicKey"], key["privateKey"])
