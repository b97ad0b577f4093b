"""Notifications and workers in the console."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from unfold.contrib.filters.admin import ChoicesDropdownFilter, DropdownFilter
from unfold.decorators import display

from alerting.access import WRITE
from alerting.configs.address_links import address_links
from alerting.configs.notification_types import NOTIFICATION_TYPES, recipient_words
from alerting.destinations.models import Destination
from alerting.destinations.store import waiting_for
from alerting.engine.choices import KIND_WORDS, NotificationStatus
from alerting.engine.models import EvaluationTurn, Notification, NotificationAttempt, WorkerHeartbeat
from alerting.engine.notification_log import (
    Origin,
    events_of_notifications,
    merged_into,
    of_own_configs,
    origins_of,
    scheduled,
    senders_of,
)
from alerting.engine.resend import notification_resend
from alerting.engine.rules import NotificationState, muted_by, notification_state
from alerting.engine.workers import is_running
from alerting.incidents.targets import targets_of
from alerting.insight.timeline_entries import UPDATED_IN_PLACE, TimelineNotification
from alerting.windows.models import MaintenanceWindow
from events.wording import target_words
from integrations.channels import CHANNELS
from integrations.choices import ChannelType, DeliveryStatus, MessageKind
from opsapi import clock
from opsapi.api.principal import VisibleScope
from opsapi.clock import difference_words
from opsapi.console.actions import Action, operator_of
from opsapi.console.admin_urls import list_url, page_url, page_url_of
from opsapi.console.display import (
    badge,
    link,
    moment,
    project,
    rows_seen,
    short,
    short_field,
    url_seen,
    urls_seen,
)
from opsapi.console.filters import ChoiceFilter, RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.console.widgets import Tone
from opsapi.first_rows import first_rows
from opsapi.program import COMMAND

NOTIFICATION_TONES: Mapping[NotificationState, Tone] = {
    NotificationState.DELIVERED: Tone.GOOD,
    NotificationState.FAILED: Tone.BAD,
    NotificationState.DROPPED: Tone.WARNING,
    NotificationState.MERGED: Tone.PLAIN,
    NotificationState.WAITING: Tone.INFO,
    NotificationState.SCHEDULED: Tone.PLAIN,
}
ATTEMPT_TONES: Mapping[str, Tone] = {
    DeliveryStatus.DELIVERED: Tone.GOOD,
    DeliveryStatus.RETRY: Tone.WARNING,
    DeliveryStatus.FAILED: Tone.BAD,
}


def notification_badge(
    notification: Notification | TimelineNotification, now: datetime
) -> tuple[NotificationState, Tone]:
    state = notification_state(
        NotificationStatus(notification.status),
        kind=MessageKind(notification.kind),
        due=notification.due,
        attempts=notification.attempts,
        is_held=notification.reason is not None,
        is_merged=notification.merged_into is not None,
        now=now,
    )
    return state, NOTIFICATION_TONES[state]


def worker_badge(worker: WorkerHeartbeat, now: datetime) -> tuple[str, Tone]:
    """Whether the worker was seen in the last minute, in words."""
    return ("running", Tone.GOOD) if is_running(worker, now) else ("stopped", Tone.WARNING)


RESEND = Action(
    label="Send again",
    done="Queued again",
    text="Sends the notification again now, with the same delivery ID. Retries go on for up to an hour.",
    run=lambda call: notification_resend(notification=call.row, actor=call.actor, now=call.now),
    access=WRITE,
    icon="replay",
    bulk=True,
    offered=lambda row, _now: row.alert_id is not None and row.status == NotificationStatus.FAILED,
)


class NotificationStateFilter(ChoiceFilter):
    """Filter by state. Scheduled notifications are shown only on request."""

    title = "state"
    parameter_name = "status__exact"
    offered = (
        *(
            (notification_state.name, notification_state.value)
            for notification_state in NotificationState
            if notification_state.name in NotificationStatus.__members__
        ),
        (NotificationStatus.PENDING.value, NotificationState.WAITING.value),
        (NotificationState.SCHEDULED.name, NotificationState.SCHEDULED.value),
    )

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Without scheduled notifications, unless selected."""
        to_come = scheduled(clock.now())
        if self.value() == NotificationState.SCHEDULED.name:
            return queryset.filter(to_come)
        return super().queryset(request, queryset).exclude(to_come)


class ChannelFilter(ChoiceFilter):
    title = "channel"
    parameter_name = "channel__exact"
    offered = tuple((name, channel.label) for name, channel in CHANNELS.items())


class WaitingForFilter(DropdownFilter):  # type: ignore[misc]  # the theme is not typed
    """Filter by destination, offered only on links from a destination, because there may be very many."""

    title = "waiting for"
    parameter_name = "waiting_for"

    def lookups(self, request: HttpRequest, model_admin: ConsoleAdmin) -> list[tuple[str, str]]:
        """The selected destination, if the operator can see it."""
        chosen = request.GET.get(self.parameter_name)
        if not chosen:
            return []
        known = model_admin.admin_site.get_model_admin(Destination).get_queryset(request)
        return [(chosen, str(known.filter(id=chosen).first() or "unknown destination"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        return queryset.filter(id__in=waiting_for(chosen).order_by().values("id")) if chosen else queryset


@admin.register(Notification)
class NotificationAdmin(ConsoleAdmin):
    """Notifications, newest first. Failed ones can be sent again."""

    help = "channels/index#what-is-sent"
    group_path = "group_id"
    actions_of_row = {"resend": RESEND}

    list_display = ["when", "about", "to", "state", "why", project]
    list_filter = [
        NotificationStateFilter,
        ("kind", ChoicesDropdownFilter),
        ChannelFilter,
        ("group", RelatedFilter),
        WaitingForFilter,
    ]
    list_select_related = ["group", "alert"]
    search_fields = ["id__exact", "alert__id__exact", "group__id__exact"]
    search_help_text = "Full ID of a notification, an alert or a project."
    ordering = ["-created", "-sequence"]
    sortable_by = ()
    fields = [
        "about",
        "to",
        "state",
        "why",
        "sent_by",
        "sent_for",
        "kind",
        "type_name",
        "channel",
        "recipient",
        "group",
        "alert",
        "config",
        "created",
        "due",
        "attempts",
        "tries",
        "first_attempt",
        "being_sent",
        "delivered",
        "latency_ms",
        "id",
    ]
    empty_text = "No notifications yet. Alert configurations define who is notified."

    def visible_in_scope(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        """Shows recipients of global configurations only to operators who can read these."""
        return of_own_configs(super().visible_in_scope(rows, visible_scope))

    def look_up(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        visible_scope, origins = operator_of(request).visible_scope(), origins_of(rows)
        targets = targets_of([row.alert for row in rows if row.alert])
        events = events_of_notifications(rows)
        event_ids = {event.id for event in events.values()}
        event_urls = urls_seen(self.admin_site, visible_scope, "events.event", "id", event_ids)
        held_by = {muted_by(row.silenced_by, row.reason) for row in rows}
        windows = {row.id: row for row in MaintenanceWindow.objects.filter(id__in=held_by)}
        senders = senders_of(rows, with_recipients=True)
        for row in rows:
            row.origin = origins.get(row.id, Origin())
            row.target = targets.get(row.alert_id or "")
            row.event = events.get(row.id)
            row.event_url = event_urls.get(row.event_id or "", "")
            row.window = windows.get(muted_by(row.silenced_by, row.reason) or "")
            row.sender = senders.get(row.id, "")
            row.config_url = url_seen(self.admin_site, visible_scope, row.origin.config)

    @admin.display(description="when")
    def when(self, notification: Notification) -> SafeString | str:
        """Time of creation; for scheduled notifications the due time."""
        state, _tone = notification_badge(notification, clock.now())
        return moment(notification.due if state is NotificationState.SCHEDULED else notification.created)

    @admin.display(description="about")
    def about(self, notification: Any) -> SafeString | str | None:
        if notification.alert is None:
            words = short(notification.event.words) if notification.event else None
            return link(notification.event_url, words) if words and notification.event_url else words
        alert, target = notification.alert, notification.target
        about = target_words(alert.facts)
        return format_html(
            "<div>{} {}<br>{}</div>",
            link(page_url(alert), alert.words),
            KIND_WORDS[MessageKind(notification.kind)],
            link(page_url(target), about) if target else about,
        )

    @admin.display(description="to")
    def to(self, notification: Any) -> str | SafeString | None:
        channel = ChannelType(notification.channel) if notification.channel else None
        words = recipient_words(
            type_name=notification.type_name,
            channel=channel,
            recipient=notification.recipient,
            place=notification.origin.place,
        )
        return short(words)

    @admin.display(description="result")
    def state(self, notification: Notification) -> SafeString:
        return badge(*notification_badge(notification, clock.now()))

    @admin.display(description="reason")
    def why(self, notification: Any) -> str | SafeString | None:
        """Why the notification was not delivered, or not yet, and the number of attempts.

        For a delivered notification, whether it changed an earlier message.
        """
        if notification.window is not None:
            return format_html(
                "<span>muted by {}</span>",
                link(page_url(notification.window), str(notification.window)),
            )
        if notification.in_place and notification.status == NotificationStatus.DELIVERED.value:
            return UPDATED_IN_PLACE
        if notification.sender:
            return format_html(
                "<span>merged into the message of {}</span>",
                link(page_url_of(Notification, notification.merged_into), short(f"“{notification.sender}”")),
            )
        if links := address_links(notification.reason):
            return format_html("<span>{}. {}</span>", notification.reason, links)
        if notification.reason and notification.attempts > 1:
            return short(f"{notification.reason} ({notification.attempts} attempts)")
        return short(notification.reason)

    @admin.display(description="alert configuration")
    def config(self, notification: Any) -> SafeString | str | None:
        config = notification.origin.config
        if config is None:
            return None
        return link(notification.config_url, config) if notification.config_url else str(config)

    @admin.display(description="sent by")
    def sent_by(self, notification: Notification) -> SafeString | None:
        """The notification that sent the same message to the same address."""
        into = Notification.objects.filter(id=notification.merged_into).first()
        return link(page_url(into), _origin_words(into)) if into else None

    @admin.display(description="also sent for")
    def sent_for(self, notification: Notification) -> SafeString | None:
        """The notifications that were merged into this one."""
        merged = first_rows(merged_into(notification.id))
        if not merged.rows:
            return None
        links = format_html_join(
            mark_safe("<br>"), "{}", ((link(page_url(row), _origin_words(row)),) for row in merged.rows)
        )
        return format_html("<div>{} {}</div>", links, merged.left_out_words)

    @admin.display(description="being sent, at most until")
    def being_sent(self, notification: Notification) -> SafeString | str | None:
        return moment(notification.lease_until) if notification.lease_until else None

    @admin.display(description="attempts")
    def tries(self, notification: Notification) -> SafeString:
        attempts = list_url(NotificationAttempt, q=notification.id)
        return link(attempts, "All attempts, with outcome and reason")


def _origin_words(notification: Notification) -> str:
    """The type of a notification that shares its recipient with others: `Team`."""
    return NOTIFICATION_TYPES[notification.type_name].label


@admin.register(NotificationAttempt)
class NotificationAttemptAdmin(ConsoleAdmin):
    """All attempts to deliver notifications, newest first."""

    help = "channels/index#when-a-receiver-fails"
    group_path = "notification__group_id"

    list_display = ["ended", "notification", "number", "outcome", "why", "latency_ms"]
    list_filter = [("status", ChoicesDropdownFilter)]
    list_select_related = ["notification"]
    search_fields = ["notification__id__exact"]
    search_help_text = "Full ID of a notification."
    ordering = ["-id"]
    sortable_by = ()
    fields = ["notification", "number", "ended", "outcome", "reason", "latency_ms"]
    empty_text = "No attempts yet."

    def visible_in_scope(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        seen = super().visible_in_scope(rows, visible_scope)
        return seen.filter(notification__in=of_own_configs(Notification.objects.all()))

    @admin.display(description="reason")
    def why(self, attempt: NotificationAttempt) -> str | None:
        return short(attempt.reason)

    @display(description="outcome", label=ATTEMPT_TONES)  # type: ignore[untyped-decorator]  # as above
    def outcome(self, attempt: NotificationAttempt) -> str:
        return attempt.status


@admin.register(EvaluationTurn)
class EvaluationTurnAdmin(ConsoleAdmin):
    """The last evaluation of each project's signals."""

    help = "runbooks/worker-gone"
    list_display = ["project", "served"]
    list_display_links = ["served"]  # The project is a link itself.
    ordering = ["served"]
    fields = ["project", "served"]
    empty_text = "No signals have been evaluated yet."

    def look_up(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        scope, ids = operator_of(request).visible_scope(), [row.group_id for row in rows]
        projects = {
            project.pk: project
            for project in rows_seen(self.admin_site, scope, "accesslist.project", "pk", ids)
        }
        for row in rows:
            row.project = projects.get(row.group_id)

    @admin.display(description="project", ordering="group_id")
    def project(self, turn: Any) -> SafeString | str:
        """The name; the ID of a deleted project, which has a turn until its signals are gone."""
        if turn.project is not None:
            return link(page_url(turn.project), short(turn.project.name))
        return turn.group_id or "events without a project"


@admin.register(WorkerHeartbeat)
class WorkerHeartbeatAdmin(ConsoleAdmin):
    """Workers with the time they were last seen."""

    help = "runbooks/worker-gone"

    list_display = [short_field("name"), "state", "seen", "clock", "stuck_loop", "stuck"]
    ordering = ["-seen"]
    fields = ["name", "state", "seen", "clock", "stuck_loop", "stuck"]
    empty_text = (
        f"No worker has ever run, so alerts are not evaluated. Start a worker with {COMMAND} run_worker."
    )

    @admin.display(description="state")
    def state(self, worker: WorkerHeartbeat) -> SafeString:
        return badge(*worker_badge(worker, clock.now()))

    @admin.display(description="clock")
    def clock(self, worker: WorkerHeartbeat) -> str:
        """How far the clock of its machine is from the database's, in whole seconds."""
        if abs(worker.clock_ahead) < timedelta(seconds=1):
            return "right"
        return f"{difference_words(worker.clock_ahead)} PostgreSQL"
