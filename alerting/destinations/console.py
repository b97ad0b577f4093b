"""Destinations in the console: how receivers are doing, and what waits for them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from alerting.access import WRITE, WRITE_GLOBAL
from alerting.destinations.choices import DestinationState
from alerting.destinations.models import Destination, UnreachableHost
from alerting.destinations.presentation import notifications_waiting_url
from alerting.destinations.store import host_unreachable, waiting_for, with_state, with_waiting
from alerting.engine.models import Notification
from alerting.engine.notification_log import NotifiedEvent, events_of_notifications
from alerting.engine.resend import destination_send_now
from automation.quantities import counted_words
from events.wording import in_words, target_words
from integrations.channels import CHANNELS
from opsapi import clock
from opsapi.api.permissions import Access
from opsapi.api.principal import VisibleScope
from opsapi.clock import age_words, ago_words
from opsapi.console.actions import Action
from opsapi.console.admin_urls import page_url
from opsapi.console.display import Context, ago, link, project, short, short_field
from opsapi.console.filters import ChoiceFilter, RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.console.widgets import Tone
from opsapi.first_rows import first_rows

DESTINATION_WORDS: Mapping[str, str] = {
    destination_state.value: destination_state.value.replace("_", " ")
    for destination_state in DestinationState
}
_DESTINATION_TONES: Mapping[str, Tone] = {
    DestinationState.FAILING: Tone.BAD,
    DestinationState.SLOWED: Tone.WARNING,
    DestinationState.HEALTHY: Tone.GOOD,
    DestinationState.UNTRIED: Tone.PLAIN,
}
DESTINATION_LABELS = {word: _DESTINATION_TONES[state] for state, word in DESTINATION_WORDS.items()}
"""By word, as the columns of the theme need it."""


_TROUBLED = (DestinationState.FAILING, DestinationState.SLOWED)


def _may_send(destination: Destination | None) -> Access:
    """As for sending a notification again; for global configurations as for changing them."""
    if destination is not None and (destination.is_global or destination.group_id is None):
        return WRITE_GLOBAL
    return WRITE


SEND_NOW = Action(
    label="Send now",
    done="Sending now",
    text="Ends the pause and sends the waiting notifications now. While the destination fails, one "
    "message is sent first; the others follow when the destination accepts it. Maintenance windows and "
    "acknowledgements still hold back notifications.",
    run=lambda call: destination_send_now(destination_id=call.row.id, actor=call.actor, now=call.now),
    access=_may_send,
    icon="send",
    bulk=True,
    creates=True,
    offered=lambda destination, _now: destination.waiting_count > 0 or destination.state in _TROUBLED,
)


class DestinationStateFilter(ChoiceFilter):
    title = "state"
    parameter_name = "state"
    offered = tuple((state, words.capitalize()) for state, words in DESTINATION_WORDS.items())

    def chosen(self, rows: QuerySet[Destination], value: str) -> QuerySet[Destination]:
        return with_state(rows).filter(state=value)


class DestinationChannelFilter(ChoiceFilter):
    title = "channel"
    parameter_name = "channel"
    offered = tuple((name, channel.label) for name, channel in CHANNELS.items())


@admin.register(Destination)
class DestinationAdmin(ConsoleAdmin):
    """Destinations, the latest failures first, with errors and waiting notifications."""

    help = "channels/index#when-a-receiver-fails"
    group_path = "group_id"
    actions_of_row = {"send_now": SEND_NOW}

    list_display = [
        "named",
        "channel_words",
        "state_words",
        "since",
        short_field("last_error"),
        "waiting",
        "oldest",
        project,
    ]
    list_filter = [DestinationStateFilter, DestinationChannelFilter, ("group", RelatedFilter)]
    list_select_related = ["group"]
    search_fields = ["recipient", "host"]
    search_help_text = "Part of a recipient or of a host name."
    sortable_by = ()
    fields = [
        "recipient",
        "channel",
        "host",
        "group",
        "is_global",
        "failures",
        "failing_since",
        "last_error",
        "next_try",
        "pace_ms",
        "answered",
        "tried",
        "id",
    ]
    empty_text = "No destinations yet. A destination appears with its first notification."

    def visible(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        """Shows recipients of global configurations only to operators who can read these."""
        seen = super().visible(rows, visible_scope)
        return with_waiting(seen if visible_scope.everything else seen.filter(is_global=False))

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        now, waiting = clock.now(), first_rows(waiting_for(row.id).select_related("alert", "group"))
        events = events_of_notifications(waiting.rows)
        unreachable = host_unreachable(row.host) if row.failures else None
        until = unreachable.next_try if unreachable else row.next_try
        page = {
            "state": DESTINATION_WORDS[row.state],
            "tone": DESTINATION_LABELS[DESTINATION_WORDS[row.state]],
            "channel": in_words(row.channel),
            "since": ago_words(row.failing_since, now) if row.failing_since else "",
            "failures": f"{counted_words(row.failures, 'attempt')} in a row",
            "waiting_words": counted_words(row.waiting_count, "notification"),
            "pause": f"tried again in {age_words(until - now)}" if until and until > now else None,
            "pace": f"{row.pace_ms / 1000:g} s" if row.pace_ms else None,
            "waiting": [
                _waiting(notification, events.get(notification.id), now) for notification in waiting.rows
            ],
            "more": waiting.left_out_words,
            "waiting_url": notifications_waiting_url(row),
        }
        return {**super().page_context(request, row), "page": page}

    @admin.display(description="recipient")
    def named(self, destination: Destination) -> str | SafeString:
        return short(destination.recipient) or "–"

    @admin.display(description="channel")
    def channel_words(self, destination: Destination) -> str:
        return in_words(destination.channel)

    @display(description="state", label=DESTINATION_LABELS)  # type: ignore[untyped-decorator]  # the theme is not typed
    def state_words(self, destination: Any) -> str:
        return DESTINATION_WORDS[destination.state]

    @admin.display(description="failing since")
    def since(self, destination: Destination) -> SafeString | str | None:
        return ago(destination.failing_since) if destination.failing_since else None

    @admin.display(description="waiting")
    def waiting(self, destination: Any) -> SafeString | str:
        count = f"{destination.waiting_count:,}"
        return link(notifications_waiting_url(destination), count) if destination.waiting_count else count

    @admin.display(description="oldest")
    def oldest(self, destination: Any) -> SafeString | str | None:
        return _waited(destination.waiting_since)


def _waited(since: datetime | None) -> SafeString | str | None:
    """None if it has always been scheduled for later, such as for the end of a maintenance window."""
    return ago(since) if since and since <= clock.now() else None


def _waiting(notification: Notification, event: NotifiedEvent | None, now: datetime) -> Context:
    return {
        "row": notification,
        "words": notification.alert.words if notification.alert else event.words if event else "Event",
        "target": target_words(notification.alert.facts) if notification.alert else "",
        "alert_url": page_url(notification.alert) if notification.alert else "",
        "url": page_url(notification),
        "turn": _turn(notification, now),
        "waited": _waited(notification.first_attempt or notification.due),
    }


def _turn(notification: Notification, now: datetime) -> str:
    if notification.lease_token is not None:
        return "being sent"
    return f"in {age_words(notification.due - now)}" if notification.due > now else "next"


@admin.register(UnreachableHost)
class UnreachableHostAdmin(ConsoleAdmin):
    """Hosts that accept no connections; their destinations wait."""

    help = "channels/index#when-a-receiver-fails"

    list_display = [short_field("host"), "failures", "since", "next_try"]
    search_fields = ["host"]
    ordering = ["-since"]
    fields = ["host", "failures", "since", "next_try"]
    empty_text = (
        "No host is known to be unreachable. A host is listed here when a message cannot connect to it."
    )
