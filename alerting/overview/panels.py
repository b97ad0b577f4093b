"""Alerting on the start page of the console, and on the list and the pages of hosts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db.models import Model, Q

from alerting.access import WRITE
from alerting.configs.matchers import hosts_matcher
from alerting.configs.models import AlertConfig
from alerting.configs.notification_types import recipient_words
from alerting.configs.patterns import MAX_REGEX_LENGTH
from alerting.destinations.choices import DestinationState
from alerting.destinations.models import Destination
from alerting.destinations.presentation import notifications_waiting_url
from alerting.destinations.store import any_message_delivered, destinations_failing, proxy_fault_words
from alerting.engine.choices import NotificationStatus
from alerting.engine.console import worker_badge
from alerting.engine.lag import longest_waits
from alerting.engine.models import Notification, WorkerHeartbeat
from alerting.engine.notification_log import NotifiedEvent, events_of_notifications, origins_of
from alerting.engine.workers import clock_words_of, failing_loop_words_of, is_running, workers_known
from alerting.incidents.models import TARGET_NAME, Alert
from alerting.incidents.presentation import alert_cells
from alerting.incidents.rule_words import rule_of, with_rules
from alerting.incidents.store import Age, active_first_rows, alerts_matching
from alerting.incidents.tabs import AlertTab
from alerting.incidents.targets import targets_of
from alerting.overview.store import AgeCount, active_alerts, notifications_failing, windows_ahead
from alerting.windows.input import WindowPreset
from alerting.windows.models import MaintenanceWindow
from alerting.windows.presentation import STATE_LOOKS
from alerting.windows.rules import WindowState, category_list
from alerting.windows.store import muting_windows
from automation.models import Host
from events.types import Category
from events.wording import target_words
from integrations.choices import ChannelType
from opsapi.api.principal import VisibleScope
from opsapi.clock import age_words, ago_words
from opsapi.console.actions import LinkOfRows
from opsapi.console.admin_urls import add_url, list_url, page_url, page_url_of
from opsapi.console.widgets import Cell, Notice, Panel, PanelWhole, Tone, Widget, number_of
from opsapi.first_rows import FirstRows, in_visible_scope
from opsapi.own_url import REMEDY, guessed_url
from opsapi.program import COMMAND

_NO_WORKER = (
    "No worker is running, so alerts are not evaluated and nobody is notified. Start a worker with "
    f"{COMMAND} run_worker."
)


def _configs() -> Cell:
    return Cell("Alert configurations", list_url(AlertConfig))


def alerting_widgets(visible_scope: VisibleScope, now: datetime) -> Iterator[Widget]:
    """Panels of alerting; the panel of workers only for operators who read everything."""
    workers = workers_known(now)
    if not any(is_running(worker, now) for worker in workers.rows):
        yield Notice(_NO_WORKER)
    if visible_scope.everything and (guessed := guessed_url()):
        yield Notice(f"{guessed} {REMEDY}")
    late = longest_waits(now)
    for words in filter(
        None,
        (
            failing_loop_words_of(workers.rows, now),
            late.evaluation_words,
            late.delivery_words,
            clock_words_of(workers.rows, now),
        ),
    ):
        yield Notice(f"{words[0].upper()}{words[1:]}.")
    if visible_scope.everything and (fault := proxy_fault_words(now)):
        yield Notice(f"Outgoing proxy {settings.OPSAPI_OUTBOUND_PROXY}: {fault}.")
    yield _alerts(visible_scope, now)
    failing = notifications_failing(visible_scope=visible_scope, now=now)
    destinations = destinations_failing(visible_scope=visible_scope)
    nothing_sent = not (failing.rows and destinations.rows) and not any_message_delivered(visible_scope)
    sent = PanelWhole(0 if nothing_sent else 1, "No message has been delivered yet.", _configs())
    yield _notifications(failing, sent, now)
    yield _windows(visible_scope, now)
    yield _destinations(destinations, sent, now)
    if visible_scope.everything:
        yield _workers(workers, now)


def _alerts(visible_scope: VisibleScope, now: datetime) -> Panel:
    alerts = active_alerts(visible_scope=visible_scope, now=now)
    targets, muted = targets_of(alerts.rows), muting_windows(alerts.rows, now=now)
    return Panel(
        name="alerts",
        rank=10,
        title="Open and pending alerts",
        unit="alerts open or pending",
        headers=["Alert", "Severity", "Target", "Project", "State", "Age"],
        rows=[
            _alert(row, rule_of(row, visible_scope), targets.get(row.id), muted.is_muted(row.id), now)
            for row in alerts.rows
        ],
        count=alerts.count,
        url=list_url(Alert, state=AlertTab.ALL),
        empty="No open alerts. Alerts appear here when the condition of an enabled alert configuration "
        "is met.",
        remedy=_configs(),
        facts=_ages(alerts.ages),
        tone=Tone.BAD if any(age.unacknowledged for age in alerts.ages) else Tone.WARNING,
        is_wide=True,
    )


def _alert(
    alert: Alert, words: str, target: Model | None, is_muted: bool | None, now: datetime
) -> Sequence[Cell]:
    what, severity, state, age = alert_cells(alert, words, now, is_muted=is_muted)
    about = Cell(target_words(alert.facts), page_url(target) if target else "")
    project = Cell(alert.group.name, page_url(alert.group))
    return [what, severity, about, project, state, age]


def _ages(ages: Sequence[AgeCount]) -> list[Cell]:
    """Unacknowledged alerts, and all alerts by age, the oldest first; zero counts are left out."""
    if not any(age.count for age in ages):
        return []
    young, middle, old = ages
    waiting = sum(age.unacknowledged for age in ages)
    counted = [
        (old.count, "over 24 h", {"state": AlertTab.ALL, "age": Age.OLDER_THAN_DAY.value}),
        (middle.count, "1 h to 24 h", {}),
        (young.count, "under 1 h", {"state": AlertTab.ALL, "age": Age.HOUR.value}),
    ]
    return [
        Cell(f"not acknowledged: {number_of(waiting)}", list_url(Alert)),
        *(
            Cell(f"{name}: {number_of(count)}", list_url(Alert, **filters) if filters else "")
            for count, name, filters in counted
            if count
        ),
    ]


def _notifications(notifications: FirstRows[Notification], sent: PanelWhole, now: datetime) -> Panel:
    origins, events = origins_of(notifications.rows), events_of_notifications(notifications.rows)
    return Panel(
        name="notifications",
        rank=40,
        title="Failing notifications",
        unit="notifications failing",
        headers=["Recipient", "About", "Project", "State", "Attempts", "Reason"],
        rows=[
            _notification(row, origins[row.id].place, events.get(row.id), now) for row in notifications.rows
        ],
        count=notifications.count,
        url=list_url(Notification, status__exact=NotificationStatus.FAILED.value),
        empty="No failed deliveries in the last 24 hours. Failed and retrying notifications appear here, and "
        "notifications without recipients.",
        whole=sent,
        tone=Tone.BAD,
        is_wide=True,
    )


def _notification(
    notification: Notification, place: str, event: NotifiedEvent | None, now: datetime
) -> Sequence[Cell]:
    channel = ChannelType(notification.channel) if notification.channel else None
    to = recipient_words(
        type_name=notification.type_name, channel=channel, recipient=notification.recipient, place=place
    )
    return [
        Cell(to, page_url(notification)),
        _about(notification, event),
        Cell(notification.group.name, page_url(notification.group)) if notification.group else Cell("none"),
        _outcome(notification, now),
        Cell(f"{notification.attempts:,}"),
        Cell(notification.reason or ""),
    ]


def _about(notification: Notification, event: NotifiedEvent | None) -> Cell:
    """The alert or event, with a link if everybody who sees the notification sees its page."""
    if notification.alert:
        return Cell(str(notification.alert), page_url(notification.alert))
    if event is None:
        return Cell("an event that is no longer stored")
    return Cell(event.words, page_url_of("events.event", event.id) if event.is_of_project else "")


def _outcome(notification: Notification, now: datetime) -> Cell:
    if notification.status == NotificationStatus.FAILED:
        return Cell(f"failed {ago_words(notification.due, now)}", tone=Tone.BAD)
    if notification.status == NotificationStatus.DROPPED:
        return Cell(f"not sent {ago_words(notification.due, now)}", tone=Tone.BAD)
    wait = notification.due - now
    return Cell(f"retry in {age_words(wait)}" if wait > timedelta(0) else "retrying now", tone=Tone.WARNING)


def _windows(visible_scope: VisibleScope, now: datetime) -> Panel:
    windows = windows_ahead(visible_scope=visible_scope, now=now)
    return Panel(
        name="windows",
        rank=60,
        title="Maintenance windows",
        unit="windows active or scheduled",
        headers=["State", "Project", "Mutes", "When", "Description"],
        rows=[_window(row, now) for row in windows.rows],
        count=windows.count,
        url=list_url(MaintenanceWindow),
        empty="No maintenance windows now or in the next 7 days. A window mutes the notifications of "
        "its alert types.",
        remedy=Cell("Maintenance windows", list_url(MaintenanceWindow)),
        tone=Tone.INFO,
    )


def _window(window: MaintenanceWindow, now: datetime) -> Sequence[Cell]:
    state, until = window.rule.timed_state(now)
    look = STATE_LOOKS[state]
    ahead = f"in {age_words(until - now)}" if until else ""
    return [
        Cell(look.word, page_url(window), look.tone),
        Cell(window.group.name, page_url(window.group)),
        Cell(category_list(window.alert_types)),
        Cell(f"ends {ahead}" if state is WindowState.ACTIVE else ahead),
        Cell(window.description or ""),
    ]


def _destinations(destinations: FirstRows[Destination], sent: PanelWhole, now: datetime) -> Panel:
    return Panel(
        name="destinations",
        rank=50,
        title="Failing destinations",
        is_wide=True,
        unit="destinations failing",
        headers=["Destination", "Project", "Since", "Waiting", "Last error"],
        rows=[_destination(row, now) for row in destinations.rows],
        count=destinations.count,
        url=list_url(Destination, state=DestinationState.FAILING.value),
        empty="Every destination that a message was sent to accepted the last one.",
        whole=sent,
        tone=Tone.BAD,
    )


def _destination(row: Any, now: datetime) -> Sequence[Cell]:
    return [
        Cell(row.recipient or row.channel, page_url(row)),
        Cell(row.group.name, page_url(row.group)) if row.group else Cell(""),
        Cell(ago_words(row.failing_since, now)),
        Cell(f"{row.waiting_count:,}", notifications_waiting_url(row)),
        Cell(row.last_error or ""),
    ]


def _workers(workers: FirstRows[WorkerHeartbeat], now: datetime) -> Panel:
    return Panel(
        name="workers",
        rank=70,
        title="Workers",
        unit="workers in the last 24 hours",
        headers=["Worker", "State", "Last seen", "Stuck"],
        rows=[_worker(row, now) for row in workers.rows],
        count=workers.count,
        url=list_url(WorkerHeartbeat),
        empty=_NO_WORKER,
        tone=Tone.GOOD if any(is_running(row, now) for row in workers.rows) else Tone.BAD,
    )


def _worker(worker: WorkerHeartbeat, now: datetime) -> Sequence[Cell]:
    return [
        Cell(worker.name, page_url(worker)),
        _state(worker, now),
        Cell(ago_words(worker.seen, now)),
        _stuck(worker, now),
    ]


def _state(worker: WorkerHeartbeat, now: datetime) -> Cell:
    words, tone = worker_badge(worker, now)
    return Cell(words, tone=tone)


def _stuck(worker: WorkerHeartbeat, now: datetime) -> Cell:
    if worker.stuck is None:
        return Cell("")
    words = f"{worker.stuck_loop}, {ago_words(worker.stuck, now)}"
    return Cell(words, page_url(worker), Tone.BAD)


def alerts_of_host(visible_scope: VisibleScope, host: Host, now: datetime) -> Panel:
    """Its open and pending alerts, in the usual order."""
    of_project = in_visible_scope(Alert.objects.filter(group=host.group_id), visible_scope)
    about = f'"{host}"'
    matching = alerts_matching(of_project, about, visible_scope=visible_scope)
    alerts = active_first_rows(with_rules(matching), now=now)
    muted = muting_windows(alerts.rows, now=now)
    of_host = list_url(Alert, state=AlertTab.ALL, q=about, group__id__exact=host.group_id)
    all_alerts = Cell("All alerts of this host", of_host)
    return Panel(
        name="alerts",
        title="Open alerts",
        unit="open alerts",
        headers=["Alert", "Severity", "Status", "Age"],
        rows=[
            alert_cells(row, rule_of(row, visible_scope), now, is_muted=muted.is_muted(row.id))
            for row in alerts.rows
        ],
        count=alerts.count,
        url=of_host,
        empty="No open alerts about this host.",
        remedy=all_alerts,
        facts=[all_alerts] if alerts.rows else [],
    )


def alerts_of_set(visible_scope: VisibleScope, row: Any, hosts: Sequence[Host], now: datetime) -> Panel:
    """Open and pending alerts about a replica set or a cluster and about its hosts, in the usual order."""
    of_project = in_visible_scope(Alert.objects.filter(group=row.group_id), visible_scope)
    about = of_project.alias(target_name=TARGET_NAME)
    of_row = Q(target_name=row.name.lower(), facts__port__isnull=True)
    of_hosts = Q(facts__hostId__in=[host.id for host in hosts])
    alerts = active_first_rows(with_rules(about.filter(of_row | of_hosts)), now=now)
    targets, muted = targets_of(alerts.rows), muting_windows(alerts.rows, now=now)
    about_it = list_url(Alert, state=AlertTab.ALL, q=f'"{row.name}"', group__id__exact=row.group_id)
    return Panel(
        name="alerts",
        title="Open alerts",
        unit="open alerts",
        headers=["Alert", "Severity", "Target", "Status", "Age"],
        rows=[
            _alert_of_set(
                alert, rule_of(alert, visible_scope), targets.get(alert.id), muted.is_muted(alert.id), now
            )
            for alert in alerts.rows
        ],
        count=alerts.count,
        url=list_url(Alert, state=AlertTab.ALL, group__id__exact=row.group_id),
        empty="No open alerts about it or its hosts.",
        remedy=Cell("All alerts about it", about_it),
    )


def _alert_of_set(
    alert: Alert, words: str, target: Model | None, is_muted: bool | None, now: datetime
) -> Sequence[Cell]:
    what, severity, state, age = alert_cells(alert, words, now, is_muted=is_muted)
    return [what, severity, Cell(target_words(alert.facts), page_url(target) if target else ""), state, age]


def _window_of(hosts: Sequence[Host], **inputs: str) -> str:
    """The form of a maintenance window for these hosts, for an hour. `inputs`: other inputs of the form."""
    if len({host.group_id for host in hosts}) > 1:
        raise ValueError("Select hosts of one project: a maintenance window belongs to one project.")
    names = sorted(str(host) for host in hosts)
    if len(hosts_matcher(names)["value"]) > MAX_REGEX_LENGTH:
        raise ValueError("Select fewer hosts, or create a maintenance window with a matcher.")
    return add_url(
        "alerting.maintenancewindow",
        group=hosts[0].group_id,
        alertTypeNames=Category.HOST.value,
        hosts="\n".join(names),
        preset=WindowPreset.HOUR.value,
        **inputs,
    )


MUTE_HOSTS = LinkOfRows(name="mute", label="Mute", icon="build_circle", access=WRITE, url_of=_window_of)
MUTE_SETS = replace(MUTE_HOSTS, url_of=partial(_window_of, sets="on"))
