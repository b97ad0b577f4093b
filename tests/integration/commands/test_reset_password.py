"""manage.py reset_password."""

import io
import re

import pytest
from django.core.management import CommandError, call_command

from accesslist.models import User
from events.models import Event
from tests.admin.rows import make_operator
from tests.factories.accesslist import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db
OTHER = "quite another passphrase"


def run(username: str) -> str:
    """What the command prints."""
    printed = io.StringIO()
    call_command("reset_password", username, stdout=printed)
    return printed.getvalue()


def type_at_terminal(monkeypatch: pytest.MonkeyPatch, password: str) -> None:
    """Somebody sits there."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda _: password)


def test_it_prints_a_generated_password_also_for_a_global_owner() -> None:
    ada, grace = make_operator(username="ada"), make_operator(username="grace")
    begun = ada.get_session_auth_hash()
    printed = run("ADA")
    found = re.search(r"^password  (\S{20,})$", printed, re.MULTILINE)
    assert found
    stored = User.objects.get(id=ada.id)
    assert stored.check_password(found[1])
    assert not stored.check_password(PASSWORD)
    assert stored.get_session_auth_hash() != begun
    assert User.objects.get(id=grace.id).check_password(PASSWORD)
    event = Event.objects.get()
    assert event.event_type == "USER_PASSWORD_RESET_AUDIT"
    assert event.details == {"targetUsername": "ada"}
    assert event.raw["actor"] == "system"
    assert found[1] not in str((event.details, event.diffs, event.raw))


def test_it_does_not_print_a_typed_password(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = UserFactory.create(username="ada")
    type_at_terminal(monkeypatch, OTHER)
    assert "new password" in run("ada")
    assert User.objects.get(id=ada.id).check_password(OTHER)


@pytest.mark.parametrize(
    ("username", "typed", "message"),
    [("nobody", OTHER, "no user has the username nobody"), ("ada", "short", "too short")],
)
def test_an_error_is_one_line(
    username: str, typed: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = UserFactory.create(username="ada")
    type_at_terminal(monkeypatch, typed)
    with pytest.raises(CommandError, match=message):
        run(username)
    assert User.objects.get(id=ada.id).check_password(PASSWORD)
    assert not Event.objects.exists()
