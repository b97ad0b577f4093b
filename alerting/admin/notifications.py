"""Who was told of alerts and events, in the console, and each try to tell them."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from alerting.choices import NotificationStatus
from alerting.looks import ATTEMPT_TONES, NOTIFICATION_TONES
from alerting.models import Notification, NotificationAttempt
from alerting.selectors.notification_log import of_own_configs
from alerting.services.resending import notification_resend
from alerting.views.resending import ResendingViewSet
from opsapi.api.principal import Reach
from opsapi.console.actions import Action, Call
from opsapi.console.display import link, project, short
from opsapi.console.filters import RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin, Section
from opsapi.console.places import list_url


def _resend(call: Call) -> None:
    notification_resend(notification=call.row, actor=call.actor, now=call.now)


def _can_be_resent(notification: Notification, _now: datetime) -> bool:
    return notification.alert_id is not None and notification.status == NotificationStatus.FAILED


RESEND = Action(
    label="Send again",
    done="Due again",
    text="It is due again at once, under the same delivery id and with a new hour of retries.",
    run=_resend,
    access=ResendingViewSet.access["resend"],
    icon="replay",
    bulk=True,
    offered=_can_be_resent,
)


@admin.register(Notification)
class NotificationAdmin(ConsoleAdmin):
    """Who was told of what, when, and why somebody was not; newest first. What failed can be sent again."""

    section = Section.ALERTING
    icon = "outgoing_mail"
    rank = 40
    group_path = "group_id"
    actions_of_row = {"resend": RESEND}

    list_display = ["created", "kind", "state", "type_name", "to", "attempts", "why", project]
    list_filter = [
        ("status", ChoicesDropdownFilter),
        ("kind", ChoicesDropdownFilter),
        ("channel", ChoicesDropdownFilter),
        ("group", RelatedFilter),
    ]
    list_select_related = ["group"]
    search_fields = ["id__exact", "alert__id__exact", "group__id__exact"]
    search_help_text = "A whole id of a notification, an alert or a project."
    ordering = ["-id"]
    sortable_by = ()
    fields = [
        "kind",
        "state",
        "reason",
        "type_name",
        "channel",
        "recipient",
        "group",
        "alert",
        "event_id",
        "created",
        "due",
        "attempts",
        "tries",
        "first_attempt",
        "lease_until",
        "delivered",
        "latency_ms",
        "silenced_by",
        "setting_id",
        "id",
    ]
    empty_text = "Nobody was told of anything yet. Alert configurations say who is told of what."

    def visible(self, rows: QuerySet[Any], reach: Reach) -> QuerySet[Any]:
        """Whom a global configuration tells is shown only to who may read global ones (decisions 10)."""
        seen = super().visible(rows, reach)
        return seen if reach.everything else of_own_configs(seen)

    @display(description="status", label=NOTIFICATION_TONES)  # type: ignore[untyped-decorator]  # as above
    def state(self, notification: Notification) -> str:
        """Where it stands."""
        return notification.status

    @admin.display(description="recipient")
    def to(self, notification: Notification) -> str | None:
        """Whom it tells; people have no name until they are looked up."""
        return short(notification.recipient) or None

    @admin.display(description="why")
    def why(self, notification: Notification) -> str | None:
        """Why it was not delivered, or not yet."""
        return short(notification.reason)

    @admin.display(description="each attempt")
    def tries(self, notification: Notification) -> SafeString:
        """Its attempts."""
        attempts = list_url(NotificationAttempt, q=notification.id)
        return link(attempts, "Its attempts, with outcome and reason")


@admin.register(NotificationAttempt)
class NotificationAttemptAdmin(ConsoleAdmin):
    """Every try to deliver a notification, newest first."""

    group_path = "notification__group_id"

    list_display = ["ended", "notification", "number", "outcome", "why", "latency_ms"]
    list_filter = [("status", ChoicesDropdownFilter)]
    list_select_related = ["notification"]
    search_fields = ["notification__id__exact"]
    search_help_text = "A whole id of a notification."
    ordering = ["-id"]
    sortable_by = ()
    fields = ["notification", "number", "ended", "outcome", "reason", "latency_ms"]
    empty_text = "Nothing was sent yet."

    def visible(self, rows: QuerySet[Any], reach: Reach) -> QuerySet[Any]:
        """As the notifications."""
        seen = super().visible(rows, reach)
        if reach.everything:
            return seen
        return seen.filter(notification__in=of_own_configs(Notification.objects.all()))

    @admin.display(description="why")
    def why(self, attempt: NotificationAttempt) -> str | None:
        """What went wrong."""
        return short(attempt.reason)

    @display(description="outcome", label=ATTEMPT_TONES)  # type: ignore[untyped-decorator]  # as above
    def outcome(self, attempt: NotificationAttempt) -> str:
        """How it ended."""
        return attempt.status
