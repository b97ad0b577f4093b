"""Every write of the API as a request; some with several bodies, each of which changes another part."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.api import bodies
from tests.api.routes import Route
from tests.architecture.test_writes_are_recorded import (
    ANOTHER,
    BODIES,
    EMPTY_ONLY,
    INTEGRATION,
    WRITES,
    row_of,
)

Known = Mapping[str, str]
EMPTY = {"org_id": "<empty_org_id>"}
"""An organization without projects, so that it may be deleted."""


@dataclass(frozen=True)
class Write:
    """A request: a route, its body, and what is in its path in the place of what is known."""

    route: Route
    body: Any
    instead: Known

    def __str__(self) -> str:
        body = "" if self.body is None else " " + json.dumps(self.body, ensure_ascii=False)[:150]
        named = " ".join(f"{name}={value}" for name, value in self.instead.items())
        return " ".join(filter(None, [row_of(self.route), named])) + body

    def path(self, known: Known) -> str:
        """The path with ids."""
        return self.route.path(
            {**known, **{name: _filled(value, known) for name, value in self.instead.items()}}
        )

    def filled(self, known: Known) -> Any:
        """The body with ids."""
        return None if self.body is None else json.loads(_filled(json.dumps(self.body), known))


_OWNER_HERE = [{"roleName": "GROUP_OWNER", "groupId": "<group_id>"}]
_CHANGED_KEY = {"roles": ["GROUP_OWNER"]}
_OTHER_ADDRESS = [bodies.email(emailAddress="second@example.com")]
MORE: Mapping[str, Sequence[Any]] = {
    "POST /users": [bodies.user(roles=_OWNER_HERE)],
    "PATCH /users/<user_id>": [{"roles": _OWNER_HERE}, {"roles": []}],
    "PATCH /orgs/<org_id>/teams/<team_id>": [{"usernames": [bodies.COLLEAGUE]}],
    "PATCH /groups/<group_id>/teams/<team_id>": [{"roleNames": ["GROUP_AUTOMATION_ADMIN"]}],
    "PATCH /orgs/<org_id>": [bodies.org(name="sales")],
    "POST /groups": [
        bodies.group(name="of an organization", orgId="<org_id>"),
        bodies.group(orgId="<empty_org_id>"),
    ],
    "PATCH /groups/<group_id>": [{"tags": ["prod"]}],
    "PATCH /groups/<group_id>/apiKeys/<key_id>": [_CHANGED_KEY],
    "PATCH /admin/apiKeys/<key_id>": [{"roles": ["GLOBAL_READ_ONLY"]}],
    "PATCH /admin/accessList/<entry_id>": [{"cidrBlock": bodies.entry()["cidrBlock"]}],
    "PUT /groups/<group_id>/alertConfigs/<config_id>": [
        bodies.alert_config(notifications=[bodies.webhook()])
    ],
    "PATCH /groups/<group_id>/alertConfigs/<config_id>": [{"notifications": _OTHER_ADDRESS}],
    "POST /globalAlertConfigs": [
        bodies.global_alert_config(eventTypeName="HOST_DOWN"),
        bodies.global_alert_config(eventTypeName="HOST_DOWN", forAllGroups=False, groupIds=["<group_id>"]),
    ],
    "PUT /globalAlertConfigs/<global_config_id>": [
        bodies.global_alert_config(eventTypeName="HOST_DOWN", forAllGroups=False, groupIds=["<group_id>"])
    ],
    "PATCH /groups/<group_id>/alerts/<alert_id>": [
        {"acknowledgedUntil": "2099-11-22T12:00:00Z", "acknowledgementComment": "disk ordered"},
        {"acknowledgedUntil": "2001-11-22T12:00:00Z"},
    ],
    # Each alone leaves a window that begins before it ends, both together do not.
    "PATCH /groups/<group_id>/maintenanceWindows/<window_id>": [
        {"startDate": "2099-11-28T23:00:00Z"},
        {"endDate": "2099-11-28T22:30:00Z"},
    ],
    "POST /groups/<group_id>/maintenanceWindows": [bodies.window(startDate="2001-01-01T00:00:00Z")],
    "PATCH /groups/<group_id>/hosts/<host_id>": [bodies.new_host()],
    f"POST {INTEGRATION}": [bodies.scraper(username="a third one")],
    f"PUT {INTEGRATION}": [bodies.scraper(password="another password")],
    "PUT /groups/<group_id>/automationConfig": [
        bodies.automation_config(version=2, options={"downloadBase": "/var/other"})
    ],
    # Another request for the same turn, a renewal, and a failure that stops the plan.
    "POST /agents/v1.0/groups/<group_id>/turns": [bodies.turn(requestId="another")],
    "PATCH /agents/v1.0/groups/<group_id>/turns/<turn_id>": [
        {"fence": 1},
        {"fence": 1, "outcome": "FAILED", "reason": "no disk"},
    ],
    "POST /agents/v1.0/groups/<group_id>/observations": [bodies.observations()],
    "POST /agents/v1.0/groups/<group_id>/reports": [
        bodies.report(bodies.host()),
        bodies.report(bodies.host(hostname="db2.example.com", clusterName="orders")),
    ],
}
"""Route → further bodies for it."""

OF_THE_EMPTY_ORGANIZATION = {
    "PATCH /orgs/<org_id>",
    "POST /orgs/<org_id>/teams",
    "POST /orgs/<org_id>/apiKeys",
}
"""Routes that are tried with the organization that may be deleted as well."""


def writes() -> list[Write]:
    """Every write, in the order of the routes; older names of paths are left out.

    Raises KeyError for a route of which no body is known.
    """
    return [each for route in WRITES if not _is_older_name(route) for each in _of(route)]


def _of(route: Route) -> list[Write]:
    row, instead = row_of(route), ANOTHER.get(str(route), {})
    first = Write(route, BODIES[str(route)], EMPTY if row in EMPTY_ONLY else instead)
    more = [Write(route, body, {}) for body in MORE.get(row, ())]
    if row in OF_THE_EMPTY_ORGANIZATION:
        more.append(Write(route, BODIES[str(route)], EMPTY))
    return [first, *more]


def _is_older_name(route: Route) -> bool:
    return "/whitelist" in route.template


def _filled(text: str, known: Known) -> str:
    for name, value in known.items():
        text = text.replace(f"<{name}>", value)
    return text
