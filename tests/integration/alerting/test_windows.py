"""Maintenance windows in delivery, and what follows from changing them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.models import MaintenanceWindow, Notification
from alerting.windows.changes import window_change, window_create, window_delete
from alerting.windows.rules import WindowRule
from alerting.windows.store import COMPARE_SECONDS, muting_windows, rules_since_start
from events.models import Event
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert, make_notification

NOW = datetime(2099, 11, 21, 12, 0, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
pytestmark = pytest.mark.django_db


def make_window(project: Project, start: datetime, end: datetime, *names: str) -> MaintenanceWindow:
    """A window for hosts unless something else is said."""
    values = {"start": start, "end": end, "alert_types": list(names or ("HOST",))}
    return window_create(group_id=project.id, values=values, actor=SYSTEM, now=NOW)


@pytest.fixture
def window(project: Project) -> MaintenanceWindow:
    """One that is active."""
    return make_window(project, NOW - HOUR, NOW + HOUR)


@pytest.fixture
def held_back(project: Project, window: MaintenanceWindow) -> Notification:
    """A notification put off to the end of it."""
    return make_notification(
        project, alert=make_alert(project), due=NOW + HOUR, created=NOW, silenced_by=window.id
    )


def shorten(window: MaintenanceWindow, **changes: Any) -> None:
    """Change it, by the names of the wire."""
    window_change(
        group_id=window.group_id,
        window_id=window.id,
        changes=changes or {"end": NOW + SECOND},
        actor=SYSTEM,
        now=NOW,
    )


def delete(window: MaintenanceWindow) -> None:
    """Delete it."""
    window_delete(group_id=window.group_id, window_id=window.id, actor=SYSTEM, now=NOW)


@each("write", [shorten, delete])
def test_notifications_it_muted_are_decided_again(
    window: MaintenanceWindow, held_back: Notification, write: Callable[[MaintenanceWindow], None]
) -> None:
    write(window)
    held_back.refresh_from_db()
    assert (held_back.due, held_back.status) == (NOW, "PENDING")


def test_what_a_new_window_and_another_description_do_not_concern_goes_on_waiting(
    project: Project, window: MaintenanceWindow, held_back: Notification
) -> None:
    make_window(project, NOW - HOUR, NOW + 2 * HOUR)
    shorten(window, description="the rack moves")
    held_back.refresh_from_db()
    assert held_back.due == NOW + HOUR


@each("write", [shorten, delete])
def test_what_another_window_holds_back_goes_on_waiting(
    project: Project, held_back: Notification, write: Callable[[MaintenanceWindow], None]
) -> None:
    write(make_window(project, NOW - HOUR, NOW + HOUR))
    held_back.refresh_from_db()
    assert held_back.due == NOW + HOUR


@each(
    "changes",
    [{"start": NOW + SECOND}, {"end": NOW + SECOND}, {"alert_types": ["CLUSTER"]}],
    ids=lambda changes: next(iter(changes)),
)
def test_notifications_it_no_longer_mutes_are_decided_again(
    window: MaintenanceWindow, held_back: Notification, changes: dict[str, Any]
) -> None:
    shorten(window, **changes)
    held_back.refresh_from_db()
    assert held_back.due == NOW


def test_nothing_is_looked_at_again_where_nothing_changes(
    window: MaintenanceWindow, held_back: Notification
) -> None:
    events = Event.objects.count()
    shorten(window, end=window.end, alert_types=["HOST"])
    held_back.refresh_from_db()
    assert held_back.due == NOW + HOUR
    assert Event.objects.count() == events


def test_what_waits_for_something_else_or_in_another_project_is_left_alone(
    project: Project, window: MaintenanceWindow
) -> None:
    other = ProjectFactory.create()
    elsewhere = make_notification(
        other, alert=make_alert(other), due=NOW + HOUR, silenced_by=make_window(other, NOW, NOW + HOUR).id
    )
    repeat = make_notification(project, alert=make_alert(project), kind="alert.update", due=NOW + HOUR)
    delete(window)
    for untouched in (elsewhere, repeat):
        untouched.refresh_from_db()
        assert untouched.due == NOW + HOUR


@each(
    ("first", "second"),
    [
        ({"start": NOW + HOUR / 2}, {"end": NOW + HOUR / 2}),
        ({"end": NOW}, {"start": NOW + SECOND}),
    ],
    ids=["start first", "end first"],
)
def test_two_changes_never_leave_it_ending_before_it_starts(
    window: MaintenanceWindow, first: dict[str, datetime], second: dict[str, datetime]
) -> None:
    # Both were checked against the window as it was before either.
    shorten(window, **first)
    events = Event.objects.count()
    with pytest.raises(ApiError) as refusal:
        shorten(window, **second)
    assert refusal.value.code == "MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE"
    window.refresh_from_db()
    assert window.start < window.end
    assert Event.objects.count() == events


@each("write", [shorten, delete])
def test_one_deleted_in_the_meantime_is_not_found(
    window: MaintenanceWindow, write: Callable[[MaintenanceWindow], None]
) -> None:
    delete(window)
    events = Event.objects.count()
    with pytest.raises(ApiError) as refusal:
        write(window)
    assert refusal.value.code == "MAINTENANCE_WINDOW_NOT_FOUND"
    assert Event.objects.count() == events


@each("write", [shorten, delete])
def test_another_projects_window_is_not_found(
    window: MaintenanceWindow, write: Callable[[MaintenanceWindow], None]
) -> None:
    strayed = MaintenanceWindow(id=window.id, group=ProjectFactory.create())
    with pytest.raises(ApiError) as refusal:
        write(strayed)
    assert refusal.value.code == "MAINTENANCE_WINDOW_NOT_FOUND"
    assert MaintenanceWindow.objects.filter(id=window.id, end=window.end).exists()


def test_in_a_project_deleted_in_the_meantime_none_is_created(project: Project) -> None:
    Project.objects.filter(id=project.id).update(deleted=NOW, org=None)
    with pytest.raises(ApiError) as refusal:
        make_window(project, NOW, NOW + HOUR)
    assert refusal.value.code == "GROUP_NOT_FOUND"
    assert not MaintenanceWindow.objects.exists()


@each("write", [shorten, delete])
def test_in_a_project_deleted_in_the_meantime_nothing_is_written(
    window: MaintenanceWindow, write: Callable[[MaintenanceWindow], None]
) -> None:
    Project.objects.filter(id=window.group_id).update(deleted=NOW, org=None)
    with pytest.raises(ApiError) as refusal:
        write(window)
    assert refusal.value.code == "GROUP_NOT_FOUND"
    assert MaintenanceWindow.objects.filter(id=window.id, end=window.end).exists()


def test_each_project_has_its_share_of_the_time_of_a_page(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ProjectFactory.create()
    dear, cheap = (
        [make_alert(owner, facts={"hostname": f"db{place}", "port": 1}) for place in range(3)]
        for owner in (project, other)
    )
    dear_window = make_window(project, NOW - HOUR, NOW + HOUR)
    make_window(other, NOW - HOUR, NOW + HOUR)
    now = 0.0

    def matches(rule: WindowRule, _: object, check: Callable[[], None]) -> bool:
        nonlocal now
        check()
        now += COMPARE_SECONDS if rule.id == dear_window.id else 0
        return True

    monkeypatch.setattr(WindowRule, "matches", matches)
    found = muting_windows([*dear, *cheap], now=NOW, clock=lambda: now)
    assert [found.is_muted(alert.id) for alert in dear] == [True, None, None]
    assert [found.is_muted(alert.id) for alert in cheap] == [True, True, True]


def test_windows_since_the_start_of_an_alert_are_compared_until_the_time_is_over(project: Project) -> None:
    alert = make_alert(project)
    for _ in range(3):
        make_window(project, NOW - HOUR, NOW + HOUR)
    seconds = iter([0.0, 0.0, 0.0, COMPARE_SECONDS + 1])
    cut = rules_since_start(alert, most=9, clock=lambda: next(seconds))
    assert (len(cut.rules), cut.is_cut) == (2, True)
    whole = rules_since_start(alert, most=9, clock=lambda: 0.0)
    assert (len(whole.rules), whole.is_cut) == (3, False)
