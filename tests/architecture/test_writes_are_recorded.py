"""Every write route records who did what from where, and what changed.

A new one needs a row here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from django.db.models import F

from accesslist.models import ApiKey
from events.models import Event
from opsapi.api.permissions import DeclaredAccess
from tests.api import bodies
from tests.api.routes import OF_NOTHING, ROUTES, Route
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import OrganizationFactory

ADDRESS = "192.0.2.7"
PUBLIC = "/api/public/v1.0"
INTEGRATION = "/groups/<group_id>/integrations/<path:integration_type>"
RECORDED: Mapping[str, tuple[Any, Sequence[str]]] = {
    "POST /unauth/users": (bodies.user(), ["USER_CREATED_AUDIT USERS:NEW"]),
    "POST /users": (bodies.user(), ["USER_CREATED_AUDIT USERS:NEW"]),
    "PATCH /users/<user_id>": ({"roles": ["GLOBAL_READ_ONLY"]}, ["USER_ROLES_CHANGED_AUDIT ROLES:NEW"]),
    "DELETE /users/<user_id>": (
        None,
        ["USER_DELETED_AUDIT USERS:REMOVED", "USER_REMOVED_FROM_TEAM_AUDIT USERS:REMOVED"],
    ),
    "POST /orgs/<org_id>/teams": (
        bodies.team(),
        [
            "JOINED_ORG ROLES:NEW",
            "TEAM_CREATED USERS:NEW",
            "USER_ADDED_TO_TEAM USERS:NEW",
            "USER_ROLES_CHANGED_AUDIT ROLES:NEW",
        ],
    ),
    "PATCH /orgs/<org_id>/teams/<team_id>": ({"name": "night shift"}, ["TEAM_CHANGED_AUDIT USERS:MODIFIED"]),
    "DELETE /orgs/<org_id>/teams/<team_id>": (
        None,
        ["TEAM_DELETED USERS:REMOVED", "TEAM_REMOVED_FROM_GROUP ROLES:REMOVED"],
    ),
    "POST /orgs/<org_id>/teams/<team_id>/users": (
        [{"username": bodies.COLLEAGUE}],
        ["JOINED_ORG ROLES:NEW", "USER_ADDED_TO_TEAM USERS:NEW", "USER_ROLES_CHANGED_AUDIT ROLES:NEW"],
    ),
    "DELETE /orgs/<org_id>/teams/<team_id>/users/<user_id>": (
        None,
        ["USER_REMOVED_FROM_TEAM_AUDIT USERS:REMOVED"],
    ),
    "POST /groups/<group_id>/teams": (
        bodies.team_roles("GROUP_OWNER"),
        ["TEAM_ROLES_CHANGED_AUDIT ROLES:MODIFIED"],
    ),
    "PATCH /groups/<group_id>/teams/<team_id>": (
        {"roleNames": ["GROUP_OWNER"]},
        ["TEAM_ROLES_CHANGED_AUDIT ROLES:MODIFIED"],
    ),
    "DELETE /groups/<group_id>/teams/<team_id>": (None, ["TEAM_REMOVED_FROM_GROUP ROLES:REMOVED"]),
    "POST /orgs/<org_id>/invites": (bodies.invitation("ORG_MEMBER"), ["INVITED_TO_ORG ROLES:NEW"]),
    "PATCH /orgs/<org_id>/invites/<org_invitation_id>": (
        {"roles": ["ORG_READ_ONLY"]},
        ["INVITATION_CHANGED_AUDIT ROLES:MODIFIED"],
    ),
    "POST /orgs/<org_id>/invites/<org_invitation_id>/resend": (
        None,
        ["INVITATION_RESENT_AUDIT ROLES:MODIFIED"],
    ),
    "DELETE /orgs/<org_id>/invites/<org_invitation_id>": (None, ["INVITATION_REVOKED_AUDIT ROLES:REMOVED"]),
    "POST /groups/<group_id>/invites": (bodies.invitation(), ["INVITED_TO_GROUP ROLES:NEW"]),
    "PATCH /groups/<group_id>/invites/<group_invitation_id>": (
        {"roles": ["GROUP_OWNER"]},
        ["INVITATION_CHANGED_AUDIT ROLES:MODIFIED"],
    ),
    "POST /groups/<group_id>/invites/<group_invitation_id>/resend": (
        None,
        ["INVITATION_RESENT_AUDIT ROLES:MODIFIED"],
    ),
    "DELETE /groups/<group_id>/invites/<group_invitation_id>": (
        None,
        ["INVITATION_REVOKED_AUDIT ROLES:REMOVED"],
    ),
    "POST /orgs": (bodies.org(), ["ORG_CREATED_AUDIT GROUP:NEW"]),
    "PATCH /orgs/<org_id>": (bodies.org(), ["ORG_RENAMED GROUP:MODIFIED"]),
    "DELETE /orgs/<org_id>": (None, ["ORG_DELETED_AUDIT GROUP:REMOVED"]),
    "POST /groups": (
        bodies.group(),
        [
            *["ALERT_CONFIG_ADDED_AUDIT ALERT_CONFIG:NEW"] * 3,
            "GROUP_CREATED GROUP:NEW",
            "ORG_CREATED_AUDIT GROUP:NEW",
        ],
    ),
    "PATCH /groups/<group_id>": (bodies.group(), ["GROUP_CHANGED_AUDIT GROUP:MODIFIED"]),
    "DELETE /groups/<group_id>": (
        None,
        ["ALERT_CANCELLED_AUDIT", "API_KEY_DELETED_AUDIT ROLES:REMOVED", "GROUP_DELETED_AUDIT GROUP:REMOVED"],
    ),
    "POST /groups/<group_id>/apiKeys": (bodies.api_key(), ["API_KEY_CREATED_AUDIT ROLES:NEW"]),
    "PATCH /groups/<group_id>/apiKeys/<key_id>": (
        {"desc": "for another script"},
        ["API_KEY_CHANGED_AUDIT AUTH:MODIFIED"],
    ),
    "DELETE /groups/<group_id>/apiKeys/<key_id>": (None, ["API_KEY_DELETED_AUDIT ROLES:REMOVED"]),
    "POST /orgs/<org_id>/apiKeys": (
        bodies.api_key(roles=["ORG_MEMBER"]),
        ["API_KEY_CREATED_AUDIT ROLES:NEW", "ORG_API_KEY_ADDED"],
    ),
    "PATCH /orgs/<org_id>/apiKeys/<key_id>": (
        {"desc": "for another script"},
        ["API_KEY_CHANGED_AUDIT AUTH:MODIFIED"],
    ),
    "DELETE /orgs/<org_id>/apiKeys/<key_id>": (None, ["API_KEY_DELETED_AUDIT ROLES:REMOVED"]),
    "POST /admin/apiKeys": (bodies.api_key(roles=["GLOBAL_READ_ONLY"]), ["API_KEY_CREATED_AUDIT ROLES:NEW"]),
    "PATCH /admin/apiKeys/<key_id>": (
        {"desc": "for another script"},
        ["API_KEY_CHANGED_AUDIT AUTH:MODIFIED"],
    ),
    "DELETE /admin/apiKeys/<key_id>": (None, ["API_KEY_DELETED_AUDIT ROLES:REMOVED"]),
    "POST /admin/accessList": (bodies.entry(), ["ACCESS_LIST_ENTRY_ADDED_AUDIT ACCESS_LIST:NEW"]),
    "PATCH /admin/accessList/<entry_id>": (
        {"description": "another office"},
        ["ACCESS_LIST_ENTRY_CHANGED_AUDIT ACCESS_LIST:MODIFIED"],
    ),
    "DELETE /admin/accessList/<entry_id>": (
        None,
        ["ACCESS_LIST_ENTRY_REMOVED_AUDIT ACCESS_LIST:REMOVED ACCESS_LIST:MODIFIED"],
    ),
    "POST /admin/whitelist": (bodies.entry(), ["ACCESS_LIST_ENTRY_ADDED_AUDIT ACCESS_LIST:NEW"]),
    "PATCH /admin/whitelist/<entry_id>": (
        {"description": "another office"},
        ["ACCESS_LIST_ENTRY_CHANGED_AUDIT ACCESS_LIST:MODIFIED"],
    ),
    "DELETE /admin/whitelist/<entry_id>": (
        None,
        ["ACCESS_LIST_ENTRY_REMOVED_AUDIT ACCESS_LIST:REMOVED ACCESS_LIST:MODIFIED"],
    ),
    "POST /admin/apiKeys/<key_id>/accessList": (
        [{"ipAddress": "198.51.100.7"}],
        ["ACCESS_LIST_ENTRY_ADDED_AUDIT ACCESS_LIST:NEW"],
    ),
    "DELETE /admin/apiKeys/<key_id>/accessList/<key_entry_id>": (
        None,
        ["ACCESS_LIST_ENTRY_REMOVED_AUDIT ACCESS_LIST:REMOVED ACCESS_LIST:MODIFIED"],
    ),
    "POST /orgs/<org_id>/apiKeys/<key_id>/accessList": (
        [{"ipAddress": "198.51.100.7"}],
        ["ACCESS_LIST_ENTRY_ADDED_AUDIT ACCESS_LIST:NEW"],
    ),
    "DELETE /orgs/<org_id>/apiKeys/<key_id>/accessList/<key_entry_id>": (
        None,
        ["ACCESS_LIST_ENTRY_REMOVED_AUDIT ACCESS_LIST:REMOVED ACCESS_LIST:MODIFIED"],
    ),
    "POST /groups/<group_id>/apiKeys/<key_id>/accessList": (
        [{"ipAddress": "198.51.100.7"}],
        ["ACCESS_LIST_ENTRY_ADDED_AUDIT ACCESS_LIST:NEW"],
    ),
    "DELETE /groups/<group_id>/apiKeys/<key_id>/accessList/<key_entry_id>": (
        None,
        ["ACCESS_LIST_ENTRY_REMOVED_AUDIT ACCESS_LIST:REMOVED ACCESS_LIST:MODIFIED"],
    ),
    "POST /groups/<group_id>/alertConfigs": (
        bodies.alert_config(),
        ["ALERT_CONFIG_ADDED_AUDIT ALERT_CONFIG:NEW"],
    ),
    "POST /groups/<group_id>/alertConfigs/presets": (
        bodies.presets("NO_PRIMARY"),
        ["ALERT_CONFIG_ADDED_AUDIT ALERT_CONFIG:NEW"],
    ),
    "DELETE /groups/<group_id>/alertConfigs/<config_id>": (
        None,
        ["ALERT_CANCELLED_AUDIT", "ALERT_CONFIG_DELETED_AUDIT ALERT_CONFIG:REMOVED"],
    ),
    "PUT /groups/<group_id>/alertConfigs/<config_id>": (
        bodies.alert_config(eventTypeName="NEW_HOST", enabled=False),
        [
            "ALERT_CANCELLED_AUDIT",
            "ALERT_CONFIG_CHANGED_AUDIT ALERT_CONFIG:MODIFIED",
            "ALERT_CONFIG_DISABLED_AUDIT ALERT_CONFIG:MODIFIED",
        ],
    ),
    "PATCH /groups/<group_id>/alertConfigs/<config_id>": (
        {"enabled": False},
        ["ALERT_CANCELLED_AUDIT", "ALERT_CONFIG_DISABLED_AUDIT ALERT_CONFIG:MODIFIED"],
    ),
    "POST /groups/<group_id>/alertConfigs/<config_id>/test": (None, ["ALERT_CONFIG_TESTED_AUDIT"]),
    "POST /globalAlertConfigs": (
        bodies.global_alert_config(),
        ["ALERT_CONFIG_ADDED_AUDIT ALERT_CONFIG:NEW"],
    ),
    "PUT /globalAlertConfigs/<global_config_id>": (
        bodies.global_alert_config(tags=["prod"]),
        ["ALERT_CONFIG_CHANGED_AUDIT ALERT_CONFIG:MODIFIED"],
    ),
    "PATCH /globalAlertConfigs/<global_config_id>": (
        {"enabled": False},
        ["ALERT_CONFIG_DISABLED_AUDIT ALERT_CONFIG:MODIFIED"],
    ),
    "DELETE /globalAlertConfigs/<global_config_id>": (
        None,
        ["ALERT_CONFIG_DELETED_AUDIT ALERT_CONFIG:REMOVED"],
    ),
    "POST /globalAlertConfigs/<global_config_id>/test": (None, ["ALERT_CONFIG_TESTED_AUDIT"]),
    "PATCH /groups/<group_id>/alerts/<alert_id>": (
        {"acknowledgedUntil": "2099-11-21T12:00:00Z"},
        ["ALERT_ACKNOWLEDGED_AUDIT ALERT_CONFIG:MODIFIED"],
    ),
    "PATCH /globalAlerts/<global_alert_id>": (
        {"acknowledgedUntil": "2099-11-21T12:00:00Z"},
        ["ALERT_ACKNOWLEDGED_AUDIT ALERT_CONFIG:MODIFIED"],
    ),
    "POST /groups/<group_id>/alerts/<alert_id>/notifications/<notification_id>/resend": (
        None,
        ["NOTIFICATION_RESENT_AUDIT ALERT_CONFIG:MODIFIED"],
    ),
    "POST /groups/<group_id>/maintenanceWindows": (
        bodies.window(),
        ["MAINTENANCE_WINDOW_ADDED_AUDIT MAINTENANCE_WINDOW:NEW"],
    ),
    "PATCH /groups/<group_id>/maintenanceWindows/<window_id>": (
        {"description": "newer disks"},
        ["MAINTENANCE_WINDOW_CHANGED_AUDIT MAINTENANCE_WINDOW:MODIFIED"],
    ),
    "DELETE /groups/<group_id>/maintenanceWindows/<window_id>": (
        None,
        ["MAINTENANCE_WINDOW_DELETED_AUDIT MAINTENANCE_WINDOW:REMOVED"],
    ),
    "POST /groups/<group_id>/hosts": (bodies.new_host(), ["ADD_HOST_AUDIT PROCESS:NEW"]),
    "PATCH /groups/<group_id>/hosts/<host_id>": (
        {"port": 27018},
        ["ALERT_CANCELLED_AUDIT", "HOST_CHANGED_AUDIT PROCESS:MODIFIED"],
    ),
    "DELETE /groups/<group_id>/hosts/<host_id>": (
        None,
        ["ALERT_CANCELLED_AUDIT", "DELETE_HOST_AUDIT PROCESS:REMOVED"],
    ),
    "DELETE /groups/<group_id>/agents/<agent_type>/<path:agent_name>": (
        None,
        ["AGENT_DELETED_AUDIT MONITORING_AGENT:REMOVED"],
    ),
    "PUT /groups/<group_id>/agents/settings": (
        bodies.agent_settings(intervalSeconds=20),
        ["AGENT_SETTINGS_CHANGED_AUDIT MONITORING_AGENT:NEW"],
    ),
    f"POST {INTEGRATION}": (
        {"url": f"https://hooks.example.com/in/{bodies.SECRET}", "secret": bodies.SECRET},
        ["INTEGRATION_ADDED_AUDIT INTEGRATION:NEW"],
    ),
    f"PUT {INTEGRATION}": (
        bodies.scraper(username="another scraper"),
        ["INTEGRATION_CHANGED_AUDIT INTEGRATION:MODIFIED"],
    ),
    f"DELETE {INTEGRATION}": (
        None,
        ["INTEGRATION_DELETED_AUDIT INTEGRATION:REMOVED"],
    ),
    "PUT /groups/<group_id>/automationConfig": (
        bodies.automation_config(version=2, processes=[]),
        ["AUTOMATION_CONFIG_PUBLISHED_AUDIT PROCESS:REMOVED PROCESS:REMOVED"],
    ),
    "POST /groups/<group_id>/automationConfig/revisions/<path:revision>/restore": (
        {"version": 2},
        ["AUTOMATION_CONFIG_PUBLISHED_AUDIT"],
    ),
    "POST /groups/<group_id>/automationConfig/pause": (
        {},
        ["AUTOMATION_PLAN_PAUSED_AUDIT AUTOMATION_AGENT:MODIFIED"],
    ),
    "POST /groups/<group_id>/automationConfig/resume": ({}, []),
    "POST /agents/v1.0/groups/<group_id>/turns": (
        bodies.turn(),
        ["AUTOMATION_MOVE_BEGUN_AUDIT PROCESS:NEW"],
    ),
    "PATCH /agents/v1.0/groups/<group_id>/turns/<turn_id>": (
        {"fence": 1, "outcome": "DONE"},
        ["AUTOMATION_MOVE_ENDED_AUDIT PROCESS:MODIFIED"],
    ),
    # Observations are news for a minute, as reports that say the same again.
    "POST /agents/v1.0/groups/<group_id>/observations": (bodies.observations(), []),
    "POST /agents/v1.0/groups/<group_id>/reports": (
        bodies.report(bodies.host(hostname="new.example.com")),
        ["NEW_HOST"],
    ),
}
"""Route → a body that changes something, and its events by name, each with `type:status` of its diffs."""

REFUSED: Mapping[str, tuple[Any, str]] = {
    "POST /unauth/users": (bodies.user(username=bodies.COLLEAGUE), "USER_ALREADY_EXISTS"),
    "POST /users": (bodies.user(username=bodies.COLLEAGUE), "USER_ALREADY_EXISTS"),
    "POST /orgs/<org_id>/teams": (bodies.team(usernames=[bodies.COLLEAGUE, "nobody"]), "INVALID_ATTRIBUTE"),
    "POST /orgs/<org_id>/teams/<team_id>/users": (
        [{"username": bodies.COLLEAGUE}, {"username": "nobody"}],
        "INVALID_ATTRIBUTE",
    ),
    "DELETE /orgs/<org_id>": (None, "ORG_NOT_EMPTY"),
    "POST /groups": (bodies.group(orgId=OF_NOTHING), "ORG_NOT_FOUND"),
    "POST /groups/<group_id>/teams": (
        [*bodies.team_roles("GROUP_OWNER"), *bodies.team_roles(teamId=OF_NOTHING)],
        "INVALID_ATTRIBUTE",
    ),
    "POST /groups/<group_id>/hosts": (bodies.new_host(hostname="db1.example.com"), "HOST_ALREADY_EXISTS"),
    "POST /globalAlertConfigs": (
        bodies.global_alert_config(forAllGroups=False, groupIds=[OF_NOTHING]),
        "INVALID_ATTRIBUTE",
    ),
    "PUT /globalAlertConfigs/<global_config_id>": (
        bodies.global_alert_config(forAllGroups=False, groupIds=[OF_NOTHING]),
        "INVALID_ATTRIBUTE",
    ),
    "PATCH /groups/<group_id>/maintenanceWindows/<window_id>": (
        {"endDate": bodies.window()["startDate"]},
        "MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE",
    ),
    "PUT /groups/<group_id>/agents/settings": (
        bodies.agent_settings(version="1"),
        "AGENT_SETTINGS_CONCURRENT_MODIFICATION",
    ),
    f"POST {INTEGRATION}": (bodies.scraper(), "INTEGRATION_ALREADY_CONFIGURED"),
    "PUT /groups/<group_id>/automationConfig": (
        bodies.automation_config(version=1),
        "AUTOMATION_CONFIG_CONCURRENT_MODIFICATION",
    ),
    "POST /agents/v1.0/groups/<group_id>/turns": (bodies.turn(process="nowhere"), "INVALID_ATTRIBUTE"),
    "PATCH /agents/v1.0/groups/<group_id>/turns/<turn_id>": ({"fence": 2}, "AUTOMATION_TURN_OVER"),
    "POST /agents/v1.0/groups/<group_id>/observations": (
        bodies.observations(goalVersion=7),
        "AUTOMATION_CONFIG_CONCURRENT_MODIFICATION",
    ),
    "POST /groups/<group_id>/automationConfig/revisions/<path:revision>/restore": (
        {"version": 1},
        "AUTOMATION_CONFIG_CONCURRENT_MODIFICATION",
    ),
}
"""Route → a body wrong only in what is in the database already or not at all, and the code."""

UNSIGNED = {"POST /unauth/users"}
"""Where the event names the user who was created."""

EMPTY_ONLY = {"DELETE /orgs/<org_id>"}
"""What takes an organization without projects."""

READS: Mapping[str, Any] = {
    "POST /groups/<group_id>/alertConfigs/dryRun": bodies.dry_run(),
    "POST /groups/<group_id>/alertConfigs/<config_id>/explain": bodies.question(),
    "POST /groups/<group_id>/maintenanceWindows/preview": bodies.window(),
}
"""Routes with a body that write nothing → a body that is answered."""

_WITH_BODIES = [route for route in ROUTES if route.method != "GET"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("known")]


def row_of(route: Route) -> str:
    """The route as the tables name it."""
    return str(route).replace(PUBLIC, "")


WRITES = [route for route in _WITH_BODIES if row_of(route) not in READS]
_BY_ROW = {**READS, **{row: body for row, (body, _) in RECORDED.items()}}
BODIES: Mapping[str, Any] = {
    str(route): _BY_ROW[row_of(route)] for route in _WITH_BODIES if row_of(route) in _BY_ROW
}
"""Route, by its whole name → a body that is accepted; the body of a write changes something."""

ANOTHER = {f"POST {PUBLIC}{INTEGRATION}": {"integration_type": "WEBHOOK"}}
"""Where what is known is there already → the parameters of what is not."""


def path_of(route: Route, known: Mapping[str, str]) -> str:
    """The path on which the route changes something."""
    if row_of(route) in EMPTY_ONLY:
        known = {**known, "org_id": OrganizationFactory.create().id}
    return route.path({**known, **ANOTHER.get(str(route), {})})


def words_of(event: Event) -> str:
    """An event as the table names it."""
    return " ".join([event.event_type, *(f"{each['type']}:{each['status']}" for each in event.diffs)])


def assert_says_who_and_from_where(event: Event, route: Route, caller: ApiClient) -> None:
    """An event carries the key it was done with, and the address."""
    assert event.details["remoteAddress"] == ADDRESS
    if row_of(route) not in UNSIGNED:
        assert caller.key
        assert event.details["apiKeyId"] == caller.key.id
        assert event.details["publicKey"] == caller.key.public_key


def assert_says_what_changed(event: Event) -> None:
    """Every diff has its entity, and the old and new text of every field."""
    for changed in event.diffs:
        assert changed["id"]
        assert changed["params"]
        assert all({"old", "new"} & set(param) for param in changed["params"])
        assert all(isinstance(value, str) for param in changed["params"] for value in param.values())


def test_every_write_route_has_a_row() -> None:
    assert {row_of(route) for route in WRITES} == set(RECORDED)
    assert set(REFUSED) <= set(RECORDED)


@pytest.mark.slow
@each("route", WRITES, ids=str)
def test_a_write_is_recorded(owner: ApiClient, known: Mapping[str, str], route: Route) -> None:
    before = list(Event.objects.values_list("id", flat=True))
    body, expected = RECORDED[row_of(route)]
    answer = owner.request(route.method, path_of(route, known), body, base="", REMOTE_ADDR=ADDRESS)
    assert answer.status_code < 300
    recorded = Event.objects.exclude(id__in=before)
    assert sorted(words_of(event) for event in recorded) == expected
    for event in recorded:
        assert_says_who_and_from_where(event, route, owner)
        assert_says_what_changed(event)


@each("route", [route for route in WRITES if row_of(route) in REFUSED], ids=str)
def test_what_a_service_refuses_records_nothing(
    owner: ApiClient, known: Mapping[str, str], route: Route
) -> None:
    before = Event.objects.count()
    body, code = REFUSED[row_of(route)]
    answer = owner.request(route.method, route.path(known), body, base="")
    assert answer.json()["errorCode"] == code
    assert Event.objects.count() == before


@pytest.mark.slow
def test_every_write_is_refused_when_something_of_the_key_was_revoked_since_it_was_let_in(
    owner: ApiClient, known: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every service that a route reaches begins with `actor_lock_shared` or `actor_lock_in_turn`."""
    check = DeclaredAccess.has_permission

    def has_permission(*arguments: Any) -> bool:
        let_in = check(*arguments)
        ApiKey.objects.update(revocations=F("revocations") + 1)
        return let_in

    monkeypatch.setattr(DeclaredAccess, "has_permission", has_permission)
    before = Event.objects.count()
    statuses = {
        str(route): owner.request(
            route.method, path_of(route, known), RECORDED[row_of(route)][0], base=""
        ).status_code
        for route in WRITES
        if route.needs_key
    }
    assert {route: status for route, status in statuses.items() if status != 503} == {}
    assert Event.objects.count() == before
