"""Set a new password for a user who forgot theirs."""

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
        message=f"{user.username} can now log in with the new password, and change it on their account page."
    )


RESET_PASSWORD = Action(
    label="Set a new password",
    text="For a user who forgot their password. This ends their sessions; a second factor stays on. "
    "Verify who is asking, and send the new password privately.",
    run=_reset,
    access=who_resets,
    form=NewPasswordForm,
    icon="lock_reset",
    danger=True,
)
"""The form on the page of a user."""
