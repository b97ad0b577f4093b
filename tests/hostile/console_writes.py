"""Writes that only the console has, as calls of services: accounts, invitations, marks of the set-up."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from unittest.mock import patch

from django.contrib.auth.hashers import BasePasswordHasher

from accesslist.invitations import changes as invitations
from accesslist.invitations.changes import LinkRefusedError, invitation_accept, invitation_accept_as_new
from accesslist.invitations.rules import Proof
from accesslist.login import changes as accounts
from accesslist.login.rules import recovery_hash
from accesslist.models import Invitation, SecondFactor, User
from accesslist.users.changes import NewUser
from alerting.configs.setup import channel_tested, checklist_dismiss, host_down_notice_dismiss
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor, ActorKind
from opsapi.encryption import encrypt
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.factories.accesslist import PASSWORD, UserFactory
from tests.hostile.writes import Known

CODE = "aaaa-bbbb-cccc"
"""A recovery code of the user's second factor."""
_OTHER, _THIRD = "another long password 7", "a third long password 9"
_OWNER = (Grant(Role.GLOBAL_OWNER),)
OPERATOR = Actor(ActorKind.USER, "0" * 24, "operator")


@dataclass(frozen=True)
class ConsoleWrite:
    """A call of a service, as a page of the console makes it."""

    name: str
    serve: Callable[[Known], object]

    def __str__(self) -> str:
        return f"console: {self.name}"

    def answer(self, known: Known) -> tuple[int, str]:
        """Status and error code, as the API would answer."""
        try:
            self.serve(known)
        except ApiError as error:
            return error.status, error.code.name
        except LinkRefusedError as error:
            return 410, error.fault.name
        return 200, ""


def _me(known: Known) -> Actor:
    return Actor(ActorKind.USER, known["user_id"], known["username"])


def _proof(known: Known) -> Proof:
    return Proof(known["group_invitation_id"], known["token_hash"])


def _accept_as_new(known: Known) -> object:
    new = NewUser(username="grace", password=_OTHER, first_name="Grace", last_name="Hopper")
    return invitation_accept_as_new(proof=_proof(known), new=new, remote_address=None, now=clock.now())


def _change_password(known: Known) -> object:
    return accounts.user_password_change(
        old_password=PASSWORD, password=_OTHER, actor=_me(known), now=clock.now()
    )


def _reset_password(known: Known) -> object:
    return accounts.user_password_reset(
        user_id=known["user_id"], password=_THIRD, by=_OWNER, actor=OPERATOR, now=clock.now()
    )


def _reset_second_factor(known: Known) -> None:
    accounts.second_factor_reset(user_id=known["user_id"], by=_OWNER, actor=OPERATOR, now=clock.now())


def _use_code(known: Known) -> object:
    return accounts.second_factor_use(user_id=known["user_id"], code=CODE, actor=_me(known), now=clock.now())


CONSOLE_WRITES = [
    ConsoleWrite("accept an invitation as a new user", _accept_as_new),
    ConsoleWrite(
        "accept an invitation",
        lambda known: invitation_accept(proof=_proof(known), actor=_me(known), now=clock.now()),
    ),
    ConsoleWrite("change the own password", _change_password),
    ConsoleWrite("reset a password", _reset_password),
    ConsoleWrite(
        "end the own sessions", lambda known: accounts.user_sessions_end(actor=_me(known), now=clock.now())
    ),
    ConsoleWrite(
        "begin a second factor",
        lambda known: accounts.second_factor_begin(password=PASSWORD, actor=_me(known), now=clock.now()),
    ),
    ConsoleWrite("use a recovery code", _use_code),
    ConsoleWrite(
        "renew the recovery codes",
        lambda known: accounts.recovery_codes_renew(code=CODE, actor=_me(known), now=clock.now()),
    ),
    ConsoleWrite(
        "remove the own second factor",
        lambda known: accounts.second_factor_remove(code=CODE, actor=_me(known), now=clock.now()),
    ),
    ConsoleWrite("reset a second factor", _reset_second_factor),
    ConsoleWrite(
        "mark a tested channel",
        lambda known: channel_tested(group_id=known["group_id"], actor=OPERATOR, now=clock.now()),
    ),
    ConsoleWrite(
        "dismiss the notice",
        lambda known: host_down_notice_dismiss(group_id=known["group_id"], actor=OPERATOR, now=clock.now()),
    ),
    ConsoleWrite("dismiss the checklist", lambda known: checklist_dismiss(actor=OPERATOR, now=clock.now())),
]


def known_to_the_console(known: Known) -> Mapping[str, str]:
    """Give the known user a password and a second factor, and return what is known of the invitation, too."""
    user = User.objects.get(id=known["user_id"])
    user.set_password(PASSWORD)
    user.password_given = True
    user.save()
    UserFactory.create(id=OPERATOR.id, username=OPERATOR.name, password=None)
    factor_id = new_id()
    SecondFactor.objects.create(
        id=factor_id,
        user=user,
        secret=encrypt("A" * 32, owner=factor_id),
        recovery_hashes=[recovery_hash(CODE, owner=factor_id)],
        created=clock.now(),
        confirmed=clock.now(),
    )
    invitation = Invitation.objects.get(id=known["group_invitation_id"])
    return {**known, "token_hash": invitation.token_hash}


def nothing_drawn() -> list[AbstractContextManager[object]]:
    """Patches with which secrets and salts are the same each time, so that rows can be compared."""
    return [
        patch.object(BasePasswordHasher, "salt", lambda _: "the same salt each time"),
        patch.object(invitations, "new_secret", lambda: "c" * 43),
        patch.object(accounts, "new_secret", lambda: "B" * 32),
        patch.object(accounts, "new_recovery_codes", lambda: ["dddd-eeee-ffff"]),
    ]
