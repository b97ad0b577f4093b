"""Second factors of users, and the action that resets a lost one."""

from datetime import datetime
from typing import Any

from django.contrib import admin

from accesslist.models import SecondFactor, User
from accesslist.rules.administration import resetter_of
from accesslist.selectors.second_factors import has_second_factor
from accesslist.services.second_factors import second_factor_reset
from opsapi.api.permissions import Access, in_installation
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.model_admin import ConsoleAdmin, Section


def _reset(call: ActionCall) -> ActionOutcome:
    user: User = call.row
    second_factor_reset(user_id=user.id, by=call.operator.grants, actor=call.actor, now=call.now)
    return ActionOutcome(
        message=f"{user.username} now logs in with the password only, and can set up a new second factor."
    )


def who_resets(user: User | None) -> Access:
    """Follows the rule of the service."""
    return in_installation(resetter_of(user.grants_held if user else ()))


def _has_one(user: Any, _: datetime) -> bool:
    return has_second_factor(user.id)


RESET_SECOND_FACTOR = Action(
    label="Reset second factor",
    text="For a user who lost their authenticator and their recovery codes. This ends their sessions; "
    "they can then log in with the password only. Verify who is asking.",
    run=_reset,
    access=who_resets,
    offered=_has_one,
    icon="phonelink_erase",
    danger=True,
)
"""The action on the page of a user."""


@admin.register(SecondFactor)
class SecondFactorAdmin(ConsoleAdmin):
    """Users with a second factor, without the secret and the recovery codes."""

    section = Section.ACCESS
    icon = "phonelink_lock"
    rank = 70
    list_display = ["user", "created", "confirmed"]
    list_select_related = ["user"]
    search_fields = ["user__username"]
    ordering = ["created", "id"]
    fields = ["user", "created", "confirmed", "recovery_codes_left"]
    empty_text = "No second factors yet. Users set up their own on their account page."

    @admin.display(description="recovery codes left")
    def recovery_codes_left(self, factor: SecondFactor) -> int:
        """Number of unused recovery codes."""
        return len(factor.recovery_hashes)
