"""Setting another password for who forgot theirs."""

from accesslist.account.forms import NewPasswordForm
from accesslist.admin.second_factors import who_resets
from accesslist.models import User
from accesslist.services.passwords import user_password_reset
from opsapi.console.actions import Action, Call, Outcome


def _reset(call: Call) -> Outcome:
    user: User = call.row
    password, by = call.values["password"], call.operator.grants
    user_password_reset(user_id=user.id, password=password, by=by, actor=call.actor, now=call.now)
    return Outcome(
        message=f"{user.username} logs in with the new password, and changes it on their account page."
    )


RESET_PASSWORD = Action(
    label="Set a new password",
    text="For who forgot theirs: their sessions end, a second factor stays. Be sure that it is they who ask, "
    "and hand the password over in a way nobody else can read.",
    run=_reset,
    access=who_resets,
    form=NewPasswordForm,
    icon="lock_reset",
    danger=True,
)
"""On a user's page."""
