"""Second factors: set up, used once, removed, reset (accesslist.login.changes)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.login.changes import (
    SETUP_LASTS,
    recovery_codes_renew,
    second_factor_begin,
    second_factor_confirm,
    second_factor_remove,
    second_factor_reset,
    second_factor_use,
)
from accesslist.login.store import factor_state, has_second_factor
from accesslist.models import Project, SecondFactor, User
from accesslist.users.changes import user_delete
from events.models import Event
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.each import each
from tests.factories.accesslist import PASSWORD, UserFactory
from tests.factories.second_factors import STEP, acting, begin_second_factor, code_at, make_second_factor

NOW = datetime(2099, 11, 21, 12, tzinfo=UTC)
LATER = NOW + 2 * STEP
pytestmark = pytest.mark.django_db


def _use(user: User, code: str, now: datetime = LATER) -> None:
    second_factor_use(user_id=user.id, code=code, actor=acting(user), now=now)


def _fault(call: Callable[..., Any], **arguments: Any) -> tuple[str, str]:
    """The field that is refused, and why."""
    with pytest.raises(ApiError) as refusal:
        call(**arguments)
    (bad,) = refusal.value.bad_fields
    return bad.field, bad.message


def _recorded() -> list[str]:
    return list(Event.objects.order_by("id").values_list("event_type", flat=True))


def test_it_is_asked_for_from_its_first_code_on(ada: User) -> None:
    secret = begin_second_factor(ada, NOW)
    setup = factor_state(ada.id).setup
    assert setup
    assert setup.secret == secret
    assert f"secret={secret}" in setup.uri
    assert not has_second_factor(ada.id)
    codes = second_factor_confirm(code=code_at(secret, NOW), actor=acting(ada), now=NOW)
    state = factor_state(ada.id)
    assert (state.confirmed, state.recovery_codes_left, state.setup) == (NOW, 10, None)
    assert has_second_factor(ada.id)
    assert len(set(codes)) == 10


def test_the_secret_is_encrypted_and_recovery_codes_are_hashed(ada: User) -> None:
    secret, codes = make_second_factor(ada, NOW)
    row = SecondFactor.objects.values().get()
    for secret_text in (secret, *codes, *(code.replace("-", "") for code in codes)):
        assert secret_text not in str(row)
    everything = str(list(Event.objects.values("details", "diffs", "raw")))
    for secret_text in (secret, str(row["secret"]), PASSWORD, *codes, *row["recovery_hashes"]):
        assert secret_text not in everything


def test_setting_up_leaves_its_events(ada: User) -> None:
    make_second_factor(ada, NOW)
    assert _recorded() == ["USER_SECOND_FACTOR_BEGUN_AUDIT", "USER_SECOND_FACTOR_ADDED_AUDIT"]
    added = Event.objects.latest("id")
    assert added.details == {
        "userId": ada.id,
        "username": "ada",
        "isGlobalAdmin": False,
        "remoteAddress": "192.0.2.1",
        "targetUsername": "ada",
    }
    (changed,) = added.diffs
    assert (changed["id"], changed["status"]) == (ada.id, "MODIFIED")
    assert changed["params"] == [
        {"param": "secondFactor", "display": "secondFactor", "old": "false", "new": "true"}
    ]


def test_beginning_again_makes_another_secret(ada: User) -> None:
    first, second = begin_second_factor(ada, NOW), begin_second_factor(ada, NOW)
    confirm: dict[str, Any] = {"actor": acting(ada), "now": NOW}
    assert _fault(second_factor_confirm, code=code_at(first, NOW), **confirm)[0] == "code"
    assert second_factor_confirm(code=code_at(second, NOW), **confirm)


def test_the_setup_needs_the_password(ada: User) -> None:
    refused = _fault(second_factor_begin, password="wrong", actor=acting(ada), now=NOW)
    assert refused == ("password", "Incorrect password.")
    assert not SecondFactor.objects.exists()
    assert _recorded() == []


def test_the_setup_refuses_to_replace_a_second_factor(ada: User) -> None:
    secret, _ = make_second_factor(ada, NOW)
    assert _fault(second_factor_begin, password=PASSWORD, actor=acting(ada), now=NOW)[0] == "password"
    _use(ada, code_at(secret, LATER))


def test_a_wrong_first_code_changes_nothing(ada: User) -> None:
    begin_second_factor(ada, NOW)
    recorded = _recorded()
    assert _fault(second_factor_confirm, code="000000", actor=acting(ada), now=NOW)[0] == "code"
    assert not has_second_factor(ada.id)
    assert _recorded() == recorded


def test_confirmation_needs_a_setup(ada: User) -> None:
    confirm = {"code": "000000", "actor": acting(ada), "now": NOW}
    assert _fault(second_factor_confirm, **confirm) == (
        "code",
        "You have not started to set up a second factor.",
    )
    secret, _ = make_second_factor(ada, NOW)
    again = {**confirm, "code": code_at(secret, LATER), "now": LATER}
    assert _fault(second_factor_confirm, **again) == (
        "code",
        "You have not started to set up a second factor.",
    )


@each(("passed", "confirmed"), [(SETUP_LASTS - timedelta(seconds=1), True), (SETUP_LASTS, False)], ids=str)
def test_an_old_setup_expires(passed: timedelta, confirmed: bool, ada: User) -> None:
    secret, later = begin_second_factor(ada, NOW), NOW + passed
    confirm: dict[str, Any] = {"code": code_at(secret, later), "actor": acting(ada), "now": later}
    if confirmed:
        second_factor_confirm(**confirm)
    else:
        assert "has expired" in _fault(second_factor_confirm, **confirm)[1]
    assert has_second_factor(ada.id) is confirmed


@each("actor", [SYSTEM, None], ids=["system", "nobody known"])
def test_only_users_have_a_second_factor(actor: Any, db: None) -> None:
    unknown = acting(User(id=new_id(), username="gone"))
    with pytest.raises(ApiError, match="USER_NOT_FOUND"):
        second_factor_begin(password=PASSWORD, actor=actor or unknown, now=NOW)


def test_a_code_counts_once_including_the_confirming_code(ada: User) -> None:
    secret, _ = make_second_factor(ada, NOW)
    used = "This code has already been used. Wait for the next code."
    again = {"user_id": ada.id, "actor": acting(ada)}
    assert _fault(second_factor_use, code=code_at(secret, NOW), now=NOW, **again) == ("code", used)
    _use(ada, code_at(secret, LATER))
    assert _fault(second_factor_use, code=code_at(secret, LATER), now=LATER, **again) == ("code", used)
    _use(ada, code_at(secret, LATER + STEP), LATER + STEP)


def test_a_recovery_code_counts_once_and_reduces_the_number_left(ada: User) -> None:
    _, codes = make_second_factor(ada, NOW)
    _use(ada, codes[3].upper().replace("-", " "))
    assert factor_state(ada.id).recovery_codes_left == 9
    event = Event.objects.latest("id")
    assert event.event_type == "USER_RECOVERY_CODE_USED_AUDIT"
    assert event.diffs[0]["params"] == [
        {"param": "recoveryCodes", "display": "recoveryCodes", "old": "10", "new": "9"}
    ]
    again = {"user_id": ada.id, "code": codes[3], "actor": acting(ada), "now": LATER}
    assert _fault(second_factor_use, **again)[0] == "code"
    _use(ada, codes[4])


def test_codes_of_others_do_not_count(ada: User) -> None:
    make_second_factor(ada, NOW)
    other = UserFactory.create()
    secret, codes = make_second_factor(other, NOW)
    for code in (code_at(secret, LATER), codes[0]):
        arguments = {"user_id": ada.id, "code": code, "actor": acting(ada), "now": LATER}
        assert _fault(second_factor_use, **arguments)[0] == "code"


def test_a_user_without_second_factor_cannot_use_a_code(ada: User) -> None:
    secret = begin_second_factor(ada, NOW)
    arguments = {"user_id": ada.id, "code": code_at(secret, NOW), "actor": acting(ada), "now": NOW}
    assert _fault(second_factor_use, **arguments) == ("code", "You have no second factor.")


def test_new_recovery_codes_replace_the_old_ones(ada: User) -> None:
    secret, old = make_second_factor(ada, NOW)
    new = recovery_codes_renew(code=code_at(secret, LATER), actor=acting(ada), now=LATER)
    assert not {*old} & {*new}
    assert _recorded()[-1] == "USER_RECOVERY_CODES_MADE_AUDIT"
    assert _fault(second_factor_use, user_id=ada.id, code=old[0], actor=acting(ada), now=LATER)[0] == "code"
    _use(ada, new[0])


@each("service", [recovery_codes_renew, second_factor_remove])
def test_a_wrong_code_neither_removes_nor_renews(service: Callable[..., Any], ada: User) -> None:
    make_second_factor(ada, NOW)
    before, recorded = SecondFactor.objects.values().get(), _recorded()
    assert _fault(service, code="nonsense", actor=acting(ada), now=LATER)[0] == "code"
    assert SecondFactor.objects.values().get() == before
    assert _recorded() == recorded


def test_it_is_removed_with_a_code(ada: User) -> None:
    secret, _ = make_second_factor(ada, NOW)
    second_factor_remove(code=code_at(secret, LATER), actor=acting(ada), now=LATER)
    assert not SecondFactor.objects.exists()
    assert _recorded()[-1] == "USER_SECOND_FACTOR_REMOVED_AUDIT"
    make_second_factor(ada, LATER)


@each(
    ("held", "by", "allowed"),
    [
        (None, Role.GLOBAL_USER_ADMIN, True),
        (Role.GLOBAL_READ_ONLY, Role.GLOBAL_OWNER, True),
        (Role.GLOBAL_READ_ONLY, Role.GLOBAL_USER_ADMIN, False),
        (None, Role.GLOBAL_READ_ONLY, False),
        (None, Role.GLOBAL_MONITORING_ADMIN, False),
    ],
)
def test_user_admins_reset_it_and_owners_that_of_global_roles(
    held: Role | None, by: Role, allowed: bool, ada: User
) -> None:
    if held:
        ada.grants.create(role=held.value)
    make_second_factor(ada, NOW)
    admin = acting(UserFactory.create(username="grace"))
    recorded = _recorded()
    reset: dict[str, Any] = {"user_id": ada.id, "by": [Grant(by)], "actor": admin, "now": LATER}
    if not allowed:
        with pytest.raises(ApiError, match="USER_UNAUTHORIZED"):
            second_factor_reset(**reset)
        assert has_second_factor(ada.id)
        assert _recorded() == recorded
        return
    second_factor_reset(**reset)
    assert not has_second_factor(ada.id)
    event = Event.objects.latest("id")
    assert event.event_type == "USER_SECOND_FACTOR_REMOVED_AUDIT"
    assert (event.details["username"], event.details["targetUsername"]) == ("grace", "ada")


def test_an_owner_of_a_project_resets_none(ada: User, project: Project) -> None:
    make_second_factor(ada, NOW)
    by = [Grant(Role.GROUP_OWNER, group_id=project.id)]
    with pytest.raises(ApiError, match="USER_UNAUTHORIZED"):
        second_factor_reset(user_id=ada.id, by=by, actor=acting(UserFactory.create()), now=LATER)


def test_users_cannot_reset_their_own_or_a_missing_second_factor(ada: User) -> None:
    by = {"by": [Grant(Role.GLOBAL_OWNER)], "now": LATER}
    other = acting(UserFactory.create())
    assert _fault(second_factor_reset, user_id=ada.id, actor=other, **by) == (
        "user",
        "ada has no second factor",
    )
    begin_second_factor(ada, NOW)
    assert _fault(second_factor_reset, user_id=ada.id, actor=other, **by)[0] == "user"
    make_second_factor(ada, NOW)
    assert _fault(second_factor_reset, user_id=ada.id, actor=acting(ada), **by)[0] == "user"
    assert has_second_factor(ada.id)


@each("how", ["confirmed", "reset"])
def test_sessions_begun_before_end(how: str, ada: User) -> None:
    begun = ada.get_session_auth_hash()
    make_second_factor(ada, NOW)
    confirmed = User.objects.get(id=ada.id).get_session_auth_hash()
    assert confirmed != begun
    if how == "reset":
        second_factor_reset(user_id=ada.id, by=[Grant(Role.GLOBAL_OWNER)], actor=SYSTEM, now=LATER)
        assert User.objects.get(id=ada.id).get_session_auth_hash() not in {begun, confirmed}


def test_it_goes_with_its_user(ada: User) -> None:
    make_second_factor(ada, NOW)
    user_delete(user_id=ada.id, by=[Grant(Role.GLOBAL_OWNER)], actor=SYSTEM, now=LATER)
    assert not SecondFactor.objects.exists()
