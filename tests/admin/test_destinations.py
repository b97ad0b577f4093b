"""Destinations in the console: their health, waiting messages, "Send now", and who sees them."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project, User
from alerting.destinations.choices import DestinationState
from alerting.models import Destination, Notification, UnreachableHost
from events.models import Event
from events.types import EventType
from opsapi import clock
from opsapi.ids import new_id
from opsapi.roles import Role
from tests.admin.operators import action_url, browser_with, operator_with, page_of
from tests.admin.reading import shown
from tests.admin.writing import confirm, leaves_events, post, token
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert, make_destination, make_notification

pytestmark = pytest.mark.django_db

DESTINATIONS = "/admin/alerting/destination/"
NOTIFICATIONS = "/admin/alerting/notification/"
MINUTE = timedelta(minutes=1)
RECIPIENT = "http://elsewhere.example.com/******"
STATES: Mapping[DestinationState, Mapping[str, Any]] = {
    DestinationState.FAILING: {},
    DestinationState.SLOWED: {"failures": 0, "failing_since": None, "pace_ms": 2000},
    DestinationState.HEALTHY: {"failures": 0, "failing_since": None, "answered": clock.now()},
    DestinationState.UNTRIED: {"failures": 0, "failing_since": None},
}


def make_waiting(destination: Destination, **changes: Any) -> Notification:
    """A retry that waits for its time, ten minutes from now; tried first an hour ago."""
    now, project = clock.now(), destination.group
    assert project is not None
    values = {
        "alert": make_alert(project, target_key=new_id(), is_global=destination.is_global),
        "type_name": destination.channel,
        "channel": destination.channel,
        "destination": destination.id,
        "first_attempt": now - 60 * MINUTE,
        "attempts": 3,
        "due": now + 10 * MINUTE,
        "reason": "the receiver answered 500",
    }
    return make_notification(project, **(values | changes))


class TestPages:
    """What somebody on call reads."""

    @each("state", STATES)
    def test_the_list_is_filtered_by_state(
        self, console: Client, project: Project, state: DestinationState
    ) -> None:
        found = {state: make_destination(project, **values) for state, values in STATES.items()}
        page = shown(console, f"{DESTINATIONS}?state={state.value}")
        assert {state for state, row in found.items() if page_of(row) in page} == {state}

    def test_the_list_is_filtered_by_project(self, console: Client, project: Project) -> None:
        mine, other = make_destination(project), make_destination(ProjectFactory.create())
        page = shown(console, f"{DESTINATIONS}?group__id__exact={project.id}")
        assert page_of(mine) in page
        assert page_of(other) not in page

    def test_the_count_of_what_waits_leads_to_it(self, console: Client, project: Project) -> None:
        destination = make_destination(project)
        waiting = [make_waiting(destination), make_waiting(destination)]
        gone = make_waiting(destination, status="DELIVERED")
        other = make_waiting(make_destination(project))
        url = f"{NOTIFICATIONS}?waiting_for={destination.id}"
        assert f'<a class="console-link" href="{url}">2</a>' in shown(console, DESTINATIONS)
        page = shown(console, url)
        assert all(page_of(row) in page for row in waiting)
        assert page_of(gone) not in page
        assert page_of(other) not in page

    def test_a_retry_waits_since_it_was_first_tried(self, console: Client, project: Project) -> None:
        make_waiting(make_destination(project))
        assert '<span class="console-age">1 h</span> ago' in shown(console, DESTINATIONS)

    def test_the_page_shows_the_alerts_that_wait(self, console: Client, project: Project) -> None:
        destination = make_destination(project, channel="CHAT_SERVICE", pace_ms=4000)
        waiting = make_waiting(destination)
        page = shown(console, page_of(destination))
        assert waiting.alert is not None
        for text in (
            page_of(waiting),
            page_of(waiting.alert),
            "Chat service",
            "the receiver answered 500",
            "one message every 4 s",
            "in 9 min",
        ):
            assert text in page, text

    def test_the_page_shows_the_first_ten_and_how_many_more(self, console: Client, project: Project) -> None:
        destination = make_destination(project)
        for _ in range(12):
            make_waiting(destination)
        page = shown(console, page_of(destination))
        assert page.count('data-label="Attempts"') == 10
        assert "… and 2 more" in page

    def test_more_rows_take_no_more_statements(self, console: Client, project: Project) -> None:
        def statements(url: str) -> int:
            with CaptureQueriesContext(connection) as made:
                shown(console, url)
            return len(made)

        destination = make_destination(project)
        make_waiting(destination)
        pages = (DESTINATIONS, page_of(destination), f"{NOTIFICATIONS}?waiting_for={destination.id}")
        for url in pages:
            shown(console, url)  # what a session and a process ask once
        few = [statements(url) for url in pages]
        for _ in range(5):
            make_waiting(destination)
            make_waiting(make_destination(ProjectFactory.create()))
        assert [statements(url) for url in pages] == few


class TestSendingNow:
    """Somebody knows that the receiver is back."""

    def test_what_waits_is_due_and_pause_and_pace_end(
        self, console: Client, operator: User, project: Project
    ) -> None:
        later, host = clock.now() + 5 * MINUTE, "http://hooks.example.com:80"
        UnreachableHost.objects.create(host=host, failures=9, since=clock.now(), next_try=later)
        asked = {"next_try": later, "paused_until": later, "pace_ms": 8000}
        destination = make_destination(project, failures=7, tried=clock.now(), **asked)
        first, second = make_waiting(destination), make_waiting(destination)
        with leaves_events(operator, EventType.NOTIFICATION_RESENT_AUDIT) as events:
            assert confirm(console, action_url(destination, "send_now")).status_code == 302
        now = clock.now()
        destination.refresh_from_db()
        assert (destination.next_try, destination.pace_ms, destination.failures) == (None, 0, 7)
        assert destination.paused_until is None
        assert destination.tried is None
        assert UnreachableHost.objects.get().next_try <= now
        assert all(
            notification.due <= now
            for notification in Notification.objects.filter(id__in=[first.id, second.id])
        )
        (event,) = events
        assert event.group_id == project.id
        assert [diff["id"] for diff in event.diffs or ()] == [destination.id]

    def test_what_something_else_holds_back_stays(self, console: Client, project: Project) -> None:
        destination = make_destination(project)
        held = make_waiting(destination, first_attempt=None, silenced_by=new_id())
        other = make_waiting(make_destination(project))
        confirm(console, action_url(destination, "send_now"))
        for notification in (held, other):
            assert Notification.objects.get(id=notification.id).due == notification.due

    def test_many_at_once(self, console: Client, operator: User, project: Project) -> None:
        chosen = [make_destination(project, pace_ms=1000) for _ in range(3)]
        picked = {"action": "send_now", "_selected_action": [destination.id for destination in chosen]}
        once = post(console, DESTINATIONS, **picked).context["token"]
        with leaves_events(operator, *[EventType.NOTIFICATION_RESENT_AUDIT] * 3):
            for _ in range(2):
                answer = post(console, DESTINATIONS, **picked, confirmed="yes", once=once)
                assert answer.status_code == 302
        assert not Destination.objects.filter(pace_ms__gt=0).exists()

    def test_a_page_that_is_sent_again_does_nothing_more(
        self, console: Client, operator: User, project: Project
    ) -> None:
        destination = make_destination(project)
        url = action_url(destination, "send_now")
        once = token(console, url)
        with leaves_events(operator, EventType.NOTIFICATION_RESENT_AUDIT):
            for _ in range(2):
                assert post(console, url, confirmed="yes", once=once).status_code == 302

    def test_it_is_offered_where_there_is_something_to_send(self, console: Client, project: Project) -> None:
        healthy = make_destination(project, **STATES[DestinationState.HEALTHY])
        assert action_url(healthy, "send_now") not in shown(console, page_of(healthy))
        make_waiting(healthy)
        assert action_url(healthy, "send_now") in shown(console, page_of(healthy))

    def test_it_takes_the_role(self, monitor: Client, automator: Client, project: Project) -> None:
        url = action_url(make_destination(project), "send_now")
        assert confirm(automator, url).status_code == 403
        assert not Event.objects.filter(event_type="NOTIFICATION_RESENT_AUDIT").exists()
        assert confirm(monitor, url).status_code == 302

    @each("with_project", [True, False])
    @each(("role", "status"), [(Role.GLOBAL_MONITORING_ADMIN, 302), (Role.GLOBAL_READ_ONLY, 403)])
    def test_of_a_global_configuration_it_takes_the_global_role(
        self, project: Project, role: Role, status: int, with_project: bool
    ) -> None:
        destination = make_destination(project if with_project else None, is_global=True)
        assert confirm(browser_with(role), action_url(destination, "send_now")).status_code == status

    def test_not_of_a_global_configuration_with_a_role_in_the_project(
        self, project: Project, monitor: Client
    ) -> None:
        user, reader = operator_with(Role.GLOBAL_READ_ONLY)
        user.grants.create(role=Role.GROUP_MONITORING_ADMIN.value, project=project)
        destination = make_destination(project, is_global=True, pace_ms=1000)
        for browser, statuses in ((reader, {403}), (monitor, {302, 403, 404})):
            assert confirm(browser, action_url(destination, "send_now")).status_code in statuses
        assert Destination.objects.get().pace_ms == 1000


class TestWhoSees:
    """Readers of a project see its recipients, but not the recipients of global configurations."""

    def test_recipients_of_global_configurations_are_hidden(self, project: Project, monitor: Client) -> None:
        destination = make_destination(project, is_global=True, recipient=RECIPIENT)
        make_waiting(destination)
        for url in (
            DESTINATIONS,
            f"{DESTINATIONS}?q=elsewhere",
            f"{NOTIFICATIONS}?waiting_for={destination.id}",
            "/admin/",
        ):
            page = shown(monitor, url)
            assert RECIPIENT not in page, url
            assert page_of(destination) not in page, url
        assert monitor.get(page_of(destination)).status_code in {302, 404}
        assert RECIPIENT in shown(browser_with(Role.GLOBAL_READ_ONLY), page_of(destination))

    def test_other_projects_are_hidden(self, project: Project, monitor: Client) -> None:
        other = make_destination(ProjectFactory.create(), recipient=RECIPIENT)
        make_waiting(other)
        for url in (DESTINATIONS, f"{NOTIFICATIONS}?waiting_for={other.id}"):
            assert RECIPIENT not in shown(monitor, url)
        assert monitor.get(page_of(other)).status_code in {302, 404}
