"""The events of keys: each scope records its own roles, and no event holds a secret."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from accesslist.models import ApiKey, Project
from events.models import Event
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair, ProjectFactory, make_key

pytestmark = pytest.mark.django_db
RecordedChange = tuple[str, str, dict[str, tuple[Any, Any]]]
"""Place, event type, and of each changed parameter old and new."""


class Installation:
    """Two projects of one organization, and the events recorded in them."""

    def __init__(self, project: Project, owner: ApiClient) -> None:
        self.project, self.sister, self.owner = project, ProjectFactory.create(org=project.org), owner
        self.org_id = str(project.org_id)
        self.names = {project.id: "project", self.sister.id: "sister", self.org_id: "organization"}

    def key(self, *roles: tuple[Role, str]) -> KeyPair:
        """A key with these roles, each in the place of that name."""
        return make_key(*(self._grant(role, place) for role, place in roles))

    def new_events(self) -> list[RecordedChange]:
        """The events since the last call, in the order they were recorded."""
        found = [self._recorded(event) for event in Event.objects.order_by("id")]
        Event.objects.all().delete()
        return found

    def _grant(self, role: Role, place: str) -> Grant:
        (found,) = [key for key, name in self.names.items() if name == place] or [None]
        return Grant(role, org_id=found) if role.is_org else Grant(role, group_id=found)

    def _recorded(self, event: Event) -> RecordedChange:
        assert not (event.group_id and event.org_id)
        place = self.names.get(event.group_id or event.org_id or "", "installation")
        changes = {
            param["param"]: (self._short(param.get("old")), self._short(param.get("new")))
            for diff in event.diffs
            for param in diff["params"]
        }
        return place, event.event_type, changes

    def _short(self, text: str | None) -> Any:
        """The names of the roles, after checking that their scope is the scope of the event."""
        return (
            [role["roleName"] for role in json.loads(text)] if text is not None and text[0] == "[" else text
        )


@pytest.fixture
def installation(project: Project, owner: ApiClient) -> Installation:
    """Nothing happened in it yet."""
    return Installation(project, owner)


CREATED, CHANGED, DELETED = (f"API_KEY_{what}_AUDIT" for what in ("CREATED", "CHANGED", "DELETED"))


def test_a_new_key_is_recorded_in_each_scope_of_its_roles(installation: Installation) -> None:
    wanted = [
        "GLOBAL_READ_ONLY",
        {"roleName": "ORG_MEMBER", "orgId": installation.org_id},
        {"roleName": "GROUP_AGENT", "groupId": installation.project.id},
        {"roleName": "GROUP_OWNER", "groupId": installation.project.id},
    ]
    assert installation.owner.post("/admin/apiKeys", bodies.api_key(roles=wanted)).status_code == 201
    assert installation.new_events() == [
        ("installation", CREATED, {"roles": (None, ["GLOBAL_READ_ONLY"])}),
        ("organization", CREATED, {"roles": (None, ["ORG_MEMBER"])}),
        ("organization", "ORG_API_KEY_ADDED", {}),
        ("project", CREATED, {"roles": (None, ["GROUP_AGENT", "GROUP_OWNER"])}),
    ]


@each(
    ("place", "body", "new_events"),
    [
        ("project", {"desc": "test key"}, []),
        ("project", {"roles": ["GROUP_AGENT"]}, []),
        (
            "project",
            {"roles": ["GROUP_OWNER"]},
            [("project", CHANGED, {"roles": (["GROUP_AGENT"], ["GROUP_OWNER"])})],
        ),
        (
            "project",
            {"desc": "night"},
            [
                ("project", CHANGED, {"desc": ("test key", "night")}),
                ("sister", CHANGED, {"desc": ("test key", "night")}),
            ],
        ),
        (
            "project",
            {"desc": "night", "roles": ["GROUP_AGENT", "GROUP_OWNER"]},
            [
                (
                    "project",
                    CHANGED,
                    {
                        "desc": ("test key", "night"),
                        "roles": (["GROUP_AGENT"], ["GROUP_AGENT", "GROUP_OWNER"]),
                    },
                ),
                ("sister", CHANGED, {"desc": ("test key", "night")}),
            ],
        ),
        (
            "organization",
            {"roles": ["ORG_OWNER"]},
            [
                ("project", CHANGED, {"roles": (["GROUP_AGENT"], [])}),
                ("sister", CHANGED, {"roles": (["GROUP_OWNER"], [])}),
                ("organization", CHANGED, {"roles": ([], ["ORG_OWNER"])}),
                ("organization", "ORG_API_KEY_ADDED", {}),
            ],
        ),
    ],
)
def test_a_change_is_recorded_in_the_changed_scopes(
    installation: Installation, place: str, body: dict[str, Any], new_events: Sequence[RecordedChange]
) -> None:
    key = installation.key((Role.GROUP_AGENT, "project"), (Role.GROUP_OWNER, "sister"))
    base = {"project": f"/groups/{installation.project.id}", "organization": f"/orgs/{installation.org_id}"}
    assert installation.owner.patch(f"{base[place]}/apiKeys/{key.id}", body).status_code == 200
    assert installation.new_events() == new_events


def test_a_key_that_lives_on_elsewhere_is_changed_and_then_deleted(installation: Installation) -> None:
    key = installation.key((Role.GROUP_AGENT, "project"), (Role.ORG_MEMBER, "organization"))
    installation.owner.delete(f"/groups/{installation.project.id}/apiKeys/{key.id}")
    assert installation.new_events() == [("project", CHANGED, {"roles": (["GROUP_AGENT"], [])})]
    installation.owner.delete(f"/orgs/{installation.org_id}/apiKeys/{key.id}")
    assert installation.new_events() == [
        ("organization", DELETED, {"roles": (["ORG_MEMBER"], None)}),
        ("organization", "ORG_API_KEY_DELETED", {}),
    ]


def test_a_deleted_key_is_recorded_in_each_scope_of_its_roles(installation: Installation) -> None:
    key = installation.key((Role.GLOBAL_READ_ONLY, ""), (Role.GROUP_AGENT, "project"))
    installation.owner.delete(f"/admin/apiKeys/{key.id}")
    assert installation.new_events() == [
        ("installation", DELETED, {"roles": (["GLOBAL_READ_ONLY"], None)}),
        ("project", DELETED, {"roles": (["GROUP_AGENT"], None)}),
    ]


def test_a_key_without_roles_is_recorded_in_the_installation(installation: Installation) -> None:
    path = f"/admin/apiKeys/{make_key().id}"
    installation.owner.patch(path, {"desc": "night"})
    installation.owner.delete(path)
    assert installation.new_events() == [
        ("installation", CHANGED, {"desc": ("test key", "night")}),
        ("installation", DELETED, {"roles": ([], None)}),
    ]


def test_an_event_names_the_actor_and_the_key(installation: Installation) -> None:
    key, caller = installation.key((Role.GROUP_AGENT, "project")), installation.owner.key
    assert caller
    path = f"/groups/{installation.project.id}/apiKeys/{key.id}"
    installation.owner.patch(path, {"desc": "night", "roles": ["GROUP_OWNER"]}, REMOTE_ADDR="192.0.2.7")
    event = Event.objects.get()
    assert event.details == {
        "apiKeyId": caller.id,
        "publicKey": caller.public_key,
        "isGlobalAdmin": True,
        "remoteAddress": "192.0.2.7",
        "targetPublicKey": key.public_key,
    }
    assert [(diff["id"], diff["type"], diff["status"]) for diff in event.diffs] == [
        (key.id, "AUTH", "MODIFIED"),
        (key.id, "ROLES", "MODIFIED"),
    ]


def test_events_contain_no_secret_of_a_key(installation: Installation) -> None:
    keys = f"/groups/{installation.project.id}/apiKeys"
    made = installation.owner.post(keys, bodies.api_key()).json()
    encrypted = ApiKey.objects.get(id=made["id"]).ha1
    installation.owner.patch(f"{keys}/{made['id']}", {"desc": "x", "roles": ["GROUP_OWNER"]})
    installation.owner.delete(f"{keys}/{made['id']}")
    recorded = str(list(Event.objects.values_list("details", "diffs", "raw")))
    assert Event.objects.count() == 3
    assert encrypted
    assert not any(secret in recorded for secret in (made["privateKey"], made["privateKey"][-4:], encrypted))
