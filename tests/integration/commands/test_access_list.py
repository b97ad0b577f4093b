"""manage.py access_list."""

import io

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from accesslist.models import AccessListEntry
from events.models import Event
from opsapi.roles import Role
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import make_entry, make_key

ADDRESS = "203.0.113.9"
pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    """What the command prints."""
    printed = io.StringIO()
    call_command("access_list", *arguments, stdout=printed)
    return printed.getvalue()


def blocks(key_id: str | None = None) -> list[str]:
    """The ranges of a list."""
    return list(AccessListEntry.objects.filter(api_key_id=key_id).values_list("cidr_block", flat=True))


@pytest.mark.parametrize("way", [["add", ADDRESS], ["clear"]])
@pytest.mark.parametrize("own", [True, False])
def test_it_recovers_a_lock_out(settings: Settings, way: list[str], own: bool) -> None:
    settings.OPSAPI_ACCESS_LIST_EXEMPT = []
    key = make_key(Role.GLOBAL_OWNER)
    make_entry("192.0.2.0/24", key.id if own else None)
    assert ApiClient(key).get("/groups", REMOTE_ADDR=ADDRESS).status_code == 403
    run(*(["--key", key.public_key] if own else []), *way)
    assert ApiClient(key).get("/groups", REMOTE_ADDR=ADDRESS).status_code == 200


def test_it_shows_one_list() -> None:
    key = make_key()
    make_entry("192.0.2.0/24", description="office")
    make_entry("2001:db8::/32", key.id)
    assert run("list") == "192.0.2.0/24         never used                     office\n"
    assert run("--key", key.public_key, "list").split() == ["2001:db8::/32", "never", "used"]
    assert run("--key", make_key().public_key, "list") == "No entries. Keys can call from every address.\n"


def test_it_changes_one_list_and_records_it() -> None:
    key = make_key()
    make_entry("192.0.2.0/24")
    assert run("--key", key.public_key, "add", ADDRESS, "--description", "home") == f"Added {ADDRESS}/32.\n"
    assert (blocks(), blocks(key.id)) == (["192.0.2.0/24"], [f"{ADDRESS}/32"])
    assert AccessListEntry.objects.get(api_key_id=key.id).description == "home"
    assert run("--key", key.public_key, "clear") == "Removed 1 entry. Keys can call from every address.\n"
    assert (blocks(), blocks(key.id)) == (["192.0.2.0/24"], [])
    recorded = Event.objects.order_by("id").values_list("event_type", "details", "raw__actor")
    details = {"accessListEntry": f"{ADDRESS}/32", "targetPublicKey": key.public_key}
    assert list(recorded) == [
        ("ACCESS_LIST_ENTRY_ADDED_AUDIT", details, "system"),
        ("ACCESS_LIST_ENTRY_REMOVED_AUDIT", details, "system"),
    ]


def test_the_event_of_the_last_entry_ends_enforcement() -> None:
    for block in ("192.0.2.0/24", "198.51.100.0/24"):
        make_entry(block)
    run("clear")
    recorded = Event.objects.order_by("id").values_list("diffs", flat=True)
    assert [[diff["params"][0]["param"] for diff in diffs] for diffs in recorded] == [
        ["cidrBlock"],
        ["cidrBlock", "enforced"],
    ]


@each(
    ("arguments", "recorded"),
    [
        (["add", "nonsense"], "CIDR"),
        (["add", "192.0.2.7/24"], "192.0.2.0/24 is the range around it"),
        (["add", "192.0.2.0/24"], "already"),
        (["add", "10.0.0.0/8", "--description", "x" * 251], "description"),
        (["--key", "nobody", "list"], "nobody"),
        (["add"], "CIDR"),
        ([], "required"),
        (["remove"], "invalid choice"),
    ],
)
def test_an_error_is_one_line_and_changes_nothing(arguments: list[str], recorded: str) -> None:
    make_entry("192.0.2.0/24")
    with pytest.raises(CommandError, match=recorded):
        run(*arguments)
    assert blocks() == ["192.0.2.0/24"]
    assert not Event.objects.exists()
