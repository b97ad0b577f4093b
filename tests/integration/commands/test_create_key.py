"""manage.py create_key."""

import io
import re

import pytest
from django.core.management import CommandError, call_command

from accesslist.models import ApiKey, Project
from events.models import Event
from opsapi.ids import new_id
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair

NOTHING = "a" * 24
pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[str, str]:
    """The public and the private key that the command prints."""
    printed = io.StringIO()
    call_command("create_key", *arguments, stdout=printed)
    public, private = re.findall(r"(?m)^(?:public|private) key +(\S+)$", printed.getvalue())
    return public, private


def test_a_shell_can_take_the_key() -> None:
    taken = io.StringIO()
    call_command("create_key", "--export", stdout=taken, stderr=io.StringIO())
    line = re.fullmatch(r"export PUBLIC_KEY=(\S+) PRIVATE_KEY=(\S+)\n", taken.getvalue())
    assert line
    assert ApiClient(KeyPair("", *line.groups())).get("/globalEvents").status_code == 200


def test_it_makes_a_global_owner_whose_key_opens_the_api() -> None:
    public, private = run()
    owner = ApiClient(KeyPair("", public, private))
    shown = owner.get(f"/admin/apiKeys/{ApiKey.objects.get().id}").json()
    assert shown["roles"] == [{"roleName": "GLOBAL_OWNER"}]
    assert shown["publicKey"] == public
    assert shown["privateKey"] == "******" + private[-4:]


def test_it_grants_roles_in_their_scopes(project: Project) -> None:
    roles = ["--role", "GROUP_AGENT", "--role", "ORG_MEMBER", "--role", "GLOBAL_READ_ONLY"]
    run("--desc", "mixed", *roles, "--group", project.id, "--org", str(project.org_id))
    grants = ApiKey.objects.get(desc="mixed").grants.order_by("id")
    assert list(grants.values_list("role", "org_id", "project_id")) == [
        ("GROUP_AGENT", None, project.id),
        ("ORG_MEMBER", project.org_id, None),
        ("GLOBAL_READ_ONLY", None, None),
    ]


def test_the_event_names_the_key_and_no_actor() -> None:
    public, private = run()
    event = Event.objects.get()
    assert event.event_type == "API_KEY_CREATED_AUDIT"
    assert event.details == {"targetPublicKey": public}
    assert event.raw["actor"] == "system"
    assert private not in str((event.details, event.diffs, event.raw))


@each(
    ("arguments", "message"),
    [
        (["--role", "GROUP_KING"], "GROUP_KING is not a role; allowed: GLOBAL_OWNER, "),
        (["--role", "GROUP_OWNER"], "GROUP_OWNER needs --group"),
        (["--role", "GROUP_OWNER", "--org", NOTHING], "GROUP_OWNER needs --group"),
        (["--role", "ORG_OWNER"], "ORG_OWNER needs --org"),
        (["--group", NOTHING], "--group needs a GROUP_ role"),
        (
            ["--role", "GROUP_OWNER", "--group", NOTHING, "--org", NOTHING],
            "--org needs a ORG_ role",
        ),
        (["--role", "GROUP_OWNER", "--group", NOTHING], "roles\\[0\\].groupId is invalid: names no project"),
        (["--role", "ORG_OWNER", "--org", NOTHING], "roles\\[0\\].orgId is invalid: names no organization"),
        (["--role", "GROUP_OWNER", "--group", "x"], "24 lower-case hex characters"),
        (["--desc", ""], "desc is invalid: must have 1 to 250 characters"),
        (["--desc", "x" * 251], "desc is invalid: must have 1 to 250 characters"),
        (["--desc", "a\nb"], "desc is invalid: must not contain control characters"),
    ],
)
def test_an_error_is_one_line_and_creates_nothing(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        run(*arguments)
    assert not ApiKey.objects.exists()
    assert not Event.objects.exists()


def test_it_refuses_an_unknown_project_next_to_a_valid_role() -> None:
    with pytest.raises(CommandError, match="names no project"):
        run("--role", "GLOBAL_READ_ONLY", "--role", "GROUP_OWNER", "--group", new_id())
    assert not ApiKey.objects.exists()
