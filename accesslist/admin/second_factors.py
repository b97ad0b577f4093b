"""Second factors of users: who has one, and taking it from who lost theirs."""

from datetime import datetime
from typing import Any

from django.contrib import admin

from accesslist.models import SecondFactor, User
from accesslist.rules.administering import resetter_of
from accesslist.selectors.second_factors import has_second_factor
from accesslist.services.second_factors import second_factor_reset
from opsapi.api.permissions import Access, in_installation
from opsapi.console.actions import Action, Call, Outcome
from opsapi.console.model_admin import ConsoleAdmin, Section


def _reset(call: Call) -> Outcome:
    user: User = call.row
    second_factor_reset(user_id=user.id, by=call.operator.grants, actor=call.actor, now=call.now)
    return Outcome(message=f"{user.username} logs in with the password alone until they set up another one.")


def who_resets(user: User | None) -> Access:
    """As the service decides."""
    return in_installation(resetter_of(user.grants_held if user else ()))


def _has_one(user: Any, _: datetime) -> bool:
    return has_second_factor(user.id)


RESET_SECOND_FACTOR = Action(
    label="Reset second factor",
    text="For who lost their authenticator and their recovery codes: their sessions end, and the password "
    "alone lets them in. Be sure that it is they who ask.",
    run=_reset,
    access=who_resets,
    offered=_has_one,
    icon="phonelink_erase",
    danger=True,
)
"""On a user's page."""


@admin.register(SecondFactor)
class SecondFactorAdmin(ConsoleAdmin):
    """Who has a second factor, without its secret and its recovery codes."""

    section = Section.ACCESS
    icon = "phonelink_lock"
    rank = 70
    list_display = ["user", "created", "confirmed"]
    list_select_related = ["user"]
    search_fields = ["user__username"]
    ordering = ["created", "id"]
    fields = ["user", "created", "confirmed", "recovery_codes_left"]
    empty_text = "Nobody has a second factor yet. Everybody sets up their own, on the page of their account."

    @admin.display(description="recovery codes left")
    def recovery_codes_left(self, factor: SecondFactor) -> int:
        """How many are left."""
        return len(factor.recovery_hashes)
