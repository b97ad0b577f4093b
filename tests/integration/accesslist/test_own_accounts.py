"""What users do to their own account (accesslist.login.changes)."""

from datetime import UTC, datetime

import pytest

from accesslist.login.changes import user_password_change, user_sessions_end
from accesslist.models import User
from events.models import Event
from opsapi.api.errors import ApiError
from tests.each import each
from tests.factories.accesslist import PASSWORD, UserFactory
from tests.factories.second_factors import acting

NOW = datetime(2099, 11, 21, 12, tzinfo=UTC)
OTHER = "quite another passphrase"
pytestmark = pytest.mark.django_db


def _stored(user: User) -> User:
    return User.objects.get(id=user.id)


def test_a_changed_password_replaces_the_old_password(ada: User) -> None:
    begun = ada.get_session_auth_hash()
    user_password_change(old_password=PASSWORD, password=OTHER, actor=acting(ada), now=NOW)
    stored = _stored(ada)
    assert stored.check_password(OTHER)
    assert not stored.check_password(PASSWORD)
    assert stored.get_session_auth_hash() != begun
    event = Event.objects.get()
    assert event.event_type == "USER_PASSWORD_CHANGED_AUDIT"
    assert (event.details["username"], event.details["targetUsername"]) == ("ada", "ada")
    assert OTHER not in str((event.details, event.diffs, event.raw))


@each(
    ("old", "new", "field", "code"),
    [
        ("wrong", OTHER, "oldPassword", "INVALID_ATTRIBUTE"),
        ("", OTHER, "oldPassword", "INVALID_ATTRIBUTE"),
        (PASSWORD, "short", "password", "WEAK_PASSWORD"),
        (PASSWORD, "", "password", "WEAK_PASSWORD"),
        (PASSWORD, "1234567890123", "password", "WEAK_PASSWORD"),
        (PASSWORD, "password123", "password", "WEAK_PASSWORD"),
        (PASSWORD, "lovelace", "password", "WEAK_PASSWORD"),
    ],
)
def test_a_password_change_needs_the_old_password_and_a_strong_new_one(
    old: str, new: str, field: str, code: str, ada: User
) -> None:
    with pytest.raises(ApiError) as refusal:
        user_password_change(old_password=old, password=new, actor=acting(ada), now=NOW)
    assert refusal.value.code.value == code
    assert [bad.field for bad in refusal.value.bad_fields] == [field]
    assert _stored(ada).check_password(PASSWORD)
    assert not Event.objects.exists()


def test_ending_sessions_changes_only_the_session_hash(ada: User) -> None:
    begun, other = ada.get_session_auth_hash(), UserFactory.create()
    answered = user_sessions_end(actor=acting(ada), now=NOW)
    stored = _stored(ada)
    assert stored.get_session_auth_hash() == answered.get_session_auth_hash() != begun
    assert stored.check_password(PASSWORD)
    assert _stored(other).get_session_auth_hash() == other.get_session_auth_hash()
    assert Event.objects.get().event_type == "USER_SESSIONS_ENDED_AUDIT"
