"""Actions of users on their own account. Each calls its service."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest

from accesslist.account.forms import CodeForm, FirstCodeForm, OwnPasswordForm, PasswordForm
from accesslist.models import User
from accesslist.services.accounts import user_password_change, user_sessions_end
from accesslist.services.second_factors import (
    recovery_codes_renew,
    second_factor_begin,
    second_factor_confirm,
    second_factor_remove,
)
from opsapi import clock
from opsapi.console.actions import operator_of
from opsapi.console.forms import ConsoleForm

Typed = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountAction:
    """An action of users on their own account, with its own page.

    `run` can return new recovery codes; only this response shows them. `proof` is the field that proves the
    identity of the user, if any: a wrong value counts as a failed log-in. `done` is the message on the page
    that `leads_to` names.
    """

    title: str
    text: str
    label: str
    run: Callable[[HttpRequest, Typed], list[str] | None]
    done: str = ""
    form: type[ConsoleForm] = ConsoleForm
    proof: str = ""
    danger: bool = False
    template: str = "console/account_action.html"
    leads_to: str = "account"


def _change_password(request: HttpRequest, typed: Typed) -> None:
    actor, now = operator_of(request).actor(), clock.now()
    old, new = typed["oldPassword"], typed["password"]
    user = user_password_change(old_password=old, password=new, actor=actor, now=now)
    update_session_auth_hash(request, user)


def _end_sessions(request: HttpRequest, _: Typed) -> None:
    update_session_auth_hash(request, user_sessions_end(actor=operator_of(request).actor(), now=clock.now()))


def _begin(request: HttpRequest, typed: Typed) -> None:
    actor = operator_of(request).actor()
    second_factor_begin(password=typed["password"], actor=actor, now=clock.now())


def _confirm(request: HttpRequest, typed: Typed) -> list[str]:
    actor = operator_of(request).actor()
    codes = second_factor_confirm(code=typed["code"], actor=actor, now=clock.now())
    # All sessions have ended. This browser gets a new session because it sent the code.
    update_session_auth_hash(request, User.objects.get(pk=actor.id))
    return codes


def _renew_codes(request: HttpRequest, typed: Typed) -> list[str]:
    return recovery_codes_renew(code=typed["code"], actor=operator_of(request).actor(), now=clock.now())


def _remove(request: HttpRequest, typed: Typed) -> None:
    second_factor_remove(code=typed["code"], actor=operator_of(request).actor(), now=clock.now())


CHANGE_PASSWORD = AccountAction(
    title="Change your password",
    text="This ends your sessions in other browsers.",
    label="Change password",
    done="Your password has been changed.",
    form=PasswordForm,
    proof="oldPassword",
    run=_change_password,
)
END_SESSIONS = AccountAction(
    title="End your other sessions",
    text="You are logged out everywhere else. You stay logged in here.",
    label="End other sessions",
    done="Your other sessions have ended.",
    run=_end_sessions,
)
BEGIN = AccountAction(
    title="Set up a second factor",
    text="After your password, the log-in page also asks for a code from your authenticator app. Your "
    "password alone is no longer enough.",
    label="Continue",
    form=OwnPasswordForm,
    proof="password",
    run=_begin,
    leads_to="account_setup",
)
CONFIRM = AccountAction(
    title="Set up a second factor",
    text="",
    label="Turn on",
    form=FirstCodeForm,
    proof="code",
    run=_confirm,
    template="console/account_setup.html",
)
RENEW_CODES = AccountAction(
    title="Create new recovery codes",
    text="Your current recovery codes stop working.",
    label="Create new codes",
    form=CodeForm,
    proof="code",
    run=_renew_codes,
)
REMOVE = AccountAction(
    title="Remove the second factor",
    text="Anybody who knows your password can then log in as you.",
    label="Remove second factor",
    done="The second factor has been removed. You now log in with your password only.",
    form=CodeForm,
    proof="code",
    run=_remove,
    danger=True,
)
