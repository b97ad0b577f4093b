"""Access lists in the console: who can change them, and the warning before a change blocks callers."""

from datetime import timedelta
from ipaddress import ip_network

import pytest
from django.db import transaction
from django.test import Client
from pytest_django import Settings

from accesslist.access_lists import store
from accesslist.models import AccessListEntry, ApiKey, Project, User
from events.log.changes import event_record
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import Actor, ActorKind
from opsapi.roles import Grant, Role
from tests.admin.operators import action_url, operator_with, page_of
from tests.admin.writing import confirm, leaves_events
from tests.each import each
from tests.factories.accesslist import make_entry, make_key

pytestmark = pytest.mark.django_db

ADD = "/admin/accesslist/accesslistentry/add/"
ADDED, CHANGED, REMOVED = (
    EventType.ACCESS_LIST_ENTRY_ADDED_AUDIT,
    EventType.ACCESS_LIST_ENTRY_CHANGED_AUDIT,
    EventType.ACCESS_LIST_ENTRY_REMOVED_AUDIT,
)
OWN = "192.0.2.0/24"
"""Has the address the operators of these tests come from."""


def a_key(*grants: Grant | Role) -> ApiKey:
    """A key with these roles."""
    return ApiKey.objects.get(id=make_key(*grants).id)


def has_called(key: ApiKey, address: str, *, days: int = 0) -> None:
    """The key has written something from there, so many days ago."""
    actor = Actor(ActorKind.KEY, key.id, key.public_key, False, address)
    with transaction.atomic():
        event_record(
            event_type=EventType.ORG_CREATED_AUDIT, actor=actor, now=clock.now() - timedelta(days=days)
        )


def blocks(key: ApiKey | None = None) -> list[str]:
    """The ranges of the list."""
    return list(
        AccessListEntry.objects.filter(api_key=key).order_by("id").values_list("cidr_block", flat=True)
    )


def test_ranges_are_added_to_the_global_list(console: Client, operator: User) -> None:
    with leaves_events(operator, ADDED, ADDED):
        confirm(console, ADD, ranges=f"{OWN}\n\n 198.51.100.7 ", description="offices")
    assert blocks() == [OWN, "198.51.100.7/32"]


def test_ranges_are_added_to_the_list_of_a_key(console: Client, operator: User, project: Project) -> None:
    key = a_key(Grant(Role.GROUP_AGENT, group_id=project.id))
    with leaves_events(operator, ADDED) as events:
        confirm(console, ADD, api_key=key.id, ranges=OWN)
    assert (blocks(), blocks(key)) == ([], [OWN])
    assert events[0].group_id == project.id
    assert events[0].details["targetPublicKey"] == key.public_key


@pytest.mark.slow
@each(
    ("values", "message"),
    [
        ({"ranges": "", "description": "x"}, "This field is required"),
        ({"ranges": "192.0.2.1/24", "description": "x"}, "must have no host bits set"),
        ({"ranges": "192.0.2.0/24\noffice", "description": "x"}, "office must be an address or a range"),
        ({"ranges": OWN}, "Enter a description"),
        ({"ranges": OWN, "description": "a\x07b"}, "control characters"),
        ({"ranges": "192.0.2.64/26", "description": "x"}, "already on the access list"),
        ({"ranges": OWN, "description": "x", "api_key": "0" * 24}, "Select a valid choice"),
        (
            {"ranges": "\n".join(f"10.0.0.{n}" for n in range(101)), "description": "x"},
            "at most 100 addresses",
        ),
    ],
)
def test_an_invalid_entry_is_refused_and_adds_nothing(
    values: dict[str, str], message: str, console: Client, operator: User
) -> None:
    make_entry("192.0.2.64/26")
    with leaves_events(operator):
        answer = confirm(console, ADD, **values)
    assert message in answer.content.decode()
    assert blocks() == ["192.0.2.64/26"]


@each(
    ("role", "may"),
    [(Role.GLOBAL_OWNER, True), (Role.GLOBAL_USER_ADMIN, False), (Role.GLOBAL_READ_ONLY, False)],
)
def test_roles_that_write_the_global_list(role: Role, may: bool) -> None:
    entry = make_entry(OWN)
    user, browser = operator_with(role)
    with leaves_events(user, *([REMOVED] if may else []), as_owner=may):
        assert confirm(browser, action_url(entry, "remove")).status_code == (302 if may else 403)
    assert (
        action_url(entry, "change") in browser.get(page_of(make_entry("10.0.0.0/8"))).content.decode()
    ) is False
    assert bool(blocks()) is True


@each(("role", "may"), [(Role.GROUP_USER_ADMIN, True), (Role.GROUP_AUTOMATION_ADMIN, False)])
def test_roles_that_write_the_list_of_a_projects_key(role: Role, may: bool, project: Project) -> None:
    key = a_key(Grant(Role.GROUP_AGENT, group_id=project.id))
    entry = make_entry(OWN, key.id)
    user, browser = operator_with(role, project=project)
    with leaves_events(user, *([ADDED, REMOVED] if may else []), as_owner=False):
        answers = [
            confirm(browser, action_url(key, "allow"), ranges="198.51.100.7"),
            confirm(browser, action_url(entry, "remove"), anyway="on"),
        ]
    assert [answer.status_code for answer in answers] == [302 if may else 403] * 2
    assert blocks(key) == (["198.51.100.7/32"] if may else [OWN])


def test_writing_the_list_of_a_key_needs_roles_in_all_its_scopes(project: Project) -> None:
    key = a_key(Grant(Role.GROUP_AGENT, group_id=project.id), Role.GLOBAL_READ_ONLY)
    user, browser = operator_with(Role.GROUP_OWNER, project=project)
    with leaves_events(user, as_owner=False):
        assert confirm(browser, action_url(key, "allow"), ranges=OWN).status_code == 403
        answer = confirm(browser, ADD, api_key=key.id, ranges=OWN)
    assert "role GLOBAL_OWNER" in answer.content.decode()
    assert blocks(key) == []


def test_the_global_list_is_hidden_without_a_global_role(project: Project) -> None:
    entry = make_entry(OWN)
    _, browser = operator_with(Role.GROUP_OWNER, project=project)
    assert browser.get(page_of(entry)).status_code == 404
    assert OWN not in browser.get("/admin/accesslist/accesslistentry/").content.decode()


def test_an_entry_is_changed(console: Client, operator: User) -> None:
    entry = make_entry(OWN, description="office")
    with leaves_events(operator, CHANGED):
        confirm(console, action_url(entry, "change"), ranges="192.0.2.0/25", description="half of it")
    entry.refresh_from_db()
    assert (entry.cidr_block, entry.description) == ("192.0.2.0/25", "half of it")


def test_an_unchanged_entry_records_no_event(console: Client, operator: User) -> None:
    entry = make_entry(OWN, description="office")
    with leaves_events(operator):
        confirm(console, action_url(entry, "change"), ranges=OWN, description="office")


def test_a_new_list_warns_about_callers_that_it_would_block(console: Client, operator: User) -> None:
    key, unused = a_key(Role.GLOBAL_READ_ONLY), a_key(Role.GLOBAL_READ_ONLY)
    has_called(key, "198.51.100.1")
    has_called(key, "198.51.100.1")
    has_called(key, "192.0.2.9")
    has_called(unused, "198.51.100.2", days=31)
    with leaves_events(operator):
        first = confirm(console, ADD, ranges=OWN, description="office").content.decode()
    assert "1 caller of the last" in first
    assert f"{key.public_key} from 198.51.100.1, last seen" in first
    assert unused.public_key not in first
    assert 'name="anyway"' in first
    assert blocks() == []
    with leaves_events(operator, ADDED):
        confirm(console, ADD, ranges=OWN, description="office", anyway="on")
    assert blocks() == [OWN]


def test_the_warning_names_only_callers_that_the_list_applies_to(console: Client, project: Project) -> None:
    local = a_key(Grant(Role.GROUP_AGENT, group_id=project.id))
    has_called(local, "198.51.100.1")
    assert confirm(console, ADD, ranges=OWN, description="office").status_code == 302
    answer = confirm(console, action_url(local, "allow"), ranges=OWN)
    assert f"{local.public_key} from 198.51.100.1" in answer.content.decode()


def test_there_is_no_warning_without_permission_for_the_list(project: Project) -> None:
    key = a_key(Role.GLOBAL_READ_ONLY)
    has_called(key, "198.51.100.1")
    user, browser = operator_with(Role.GROUP_OWNER, project=project)
    with leaves_events(user, as_owner=False):
        page = confirm(browser, ADD, ranges=OWN, description="x", anyway="on").content.decode()
    assert "role GLOBAL_OWNER" in page
    assert key.public_key not in page
    assert "198.51.100.1" not in page
    assert blocks() == []


def test_the_warning_names_the_operators_own_address(console: Client, operator: User) -> None:
    with leaves_events(operator):
        answer = confirm(console, ADD, ranges="198.51.100.0/24", description="office")
    assert "Your own address, 192.0.2.1, would be blocked" in answer.content.decode()


def test_there_is_no_warning_about_exempt_addresses(console: Client, settings: Settings) -> None:
    settings.OPSAPI_ACCESS_LIST_EXEMPT = [ip_network("192.0.2.0/28"), ip_network("198.51.100.1")]
    has_called(a_key(Role.GLOBAL_READ_ONLY), "198.51.100.1")
    assert confirm(console, ADD, ranges="203.0.113.0/24", description="office").status_code == 302


def test_a_removal_warns_about_callers_of_the_range(console: Client, operator: User) -> None:
    make_entry(OWN)
    entry = make_entry("198.51.100.0/24", last_used=clock.now())
    key = a_key(Role.GLOBAL_READ_ONLY)
    has_called(key, "198.51.100.1")
    with leaves_events(operator):
        page = confirm(console, action_url(entry, "remove")).content.decode()
    assert f"{key.public_key} from 198.51.100.1" in page
    assert "198.51.100.0/24 was last used" in page
    with leaves_events(operator, REMOVED):
        confirm(console, action_url(entry, "remove"), anyway="on")
    assert blocks() == [OWN]


def test_removing_the_last_entry_needs_no_confirmation(console: Client, operator: User) -> None:
    entry = make_entry("198.51.100.0/24", last_used=clock.now())
    has_called(a_key(Role.GLOBAL_READ_ONLY), "198.51.100.1")
    with leaves_events(operator, REMOVED):
        answer = confirm(console, action_url(entry, "remove"))
    assert "allows every address" in console.get(answer["Location"]).content.decode()
    assert blocks() == []


def test_callers_are_looked_for_among_the_newest_events_only(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_MOST_EVENTS", 1)
    key = a_key(Role.GLOBAL_READ_ONLY)
    has_called(key, "198.51.100.1", days=1)
    has_called(key, "198.51.100.2")
    assert [caller.address for caller in store.recent_callers(None, now=clock.now())] == ["198.51.100.2"]


@each(
    ("address", "message"),
    [
        ("192.0.2.7", "Allowed: "),
        ("198.51.100.1", "the access list of the API key"),
        ("203.0.113.1", "the global access list"),
        ("127.0.0.1", "no access list applies"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("192.0.2.0/24", "must be an address"),
        ("", "This field is required"),
    ],
)
def test_an_address_is_checked_for_a_key(address: str, message: str, console: Client, operator: User) -> None:
    key = a_key(Role.GLOBAL_READ_ONLY)
    for block in (OWN, "198.51.100.0/24"):
        make_entry(block)
    make_entry(OWN, key.id)
    with leaves_events(operator):
        answer = confirm(console, action_url(key, "check-address"), address=address)
    assert message in answer.content.decode()


def test_the_global_list_does_not_apply_to_a_projects_key(console: Client, project: Project) -> None:
    make_entry(OWN)
    key = a_key(Grant(Role.GROUP_AGENT, group_id=project.id))
    answer = confirm(console, action_url(key, "check-address"), address="203.0.113.1")
    assert "Allowed: " in answer.content.decode()
