"""Decisions about maintenance windows take turns: the windows of a project delay no message of another."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import count

import pytest

from accesslist.models import Project
from alerting.configs.matchers import Matcher, MatchSubject, compared_in_steps
from alerting.engine.claims import claim
from alerting.engine.delivery import decide
from alerting.engine.leases import leases_take
from alerting.engine.muting import MuteDesk
from alerting.models import Alert, MaintenanceWindow, Notification
from integrations.channels.outcome import Outcome
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert, make_config, make_notification
from tests.integration.alerting.overviews import HOUR, NOW, make_window

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)
WINDOWS = 5
MATCHERS = 4


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The patterns that were compared, in order."""
    found: list[str] = []

    def compare(matcher: Matcher, subject: MatchSubject) -> Iterator[bool]:
        found.append(matcher.value)
        return compared_in_steps(matcher, subject)

    monkeypatch.setattr("alerting.windows.rules.compared_in_steps", compare)
    return found


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> MuteDesk:
    """A desk that makes a few comparisons in a step: each look at the clock takes a second."""
    monkeypatch.setattr("alerting.engine.muting.MUTE_SECONDS", 14)
    monkeypatch.setattr("alerting.engine.muting.TURN_SECONDS", 2)
    monkeypatch.setattr("alerting.engine.muting.REMEMBERED_SECONDS", 10_000)
    return MuteDesk(clock=partial(next, count()))


def matcher(value: str) -> Mapping[str, str]:
    return {"fieldName": "HOSTNAME", "operator": "REGEX", "value": value}


def make_dear(project: Project, alerts: int = 2) -> list[Notification]:
    """Windows of which only the last matcher fails, except of the last window, and messages that are due."""
    for number in range(WINDOWS):
        last = "db1$" if number == WINDOWS - 1 else "never"
        patterns = [f"d{'b' * place}" for place in range(1, 2)] * (MATCHERS - 1)
        window = make_window(project, -HOUR, (WINDOWS - number) * HOUR)
        stored = [matcher(pattern) for pattern in [*patterns, last]]
        MaintenanceWindow.objects.filter(id=window.id).update(matchers=stored)
    return [message_of(project, f"db{number}") for number in range(1, alerts + 1)]


def message_of(project: Project, hostname: str) -> Notification:
    config = make_config(project)
    facts = {"hostId": "0" * 24, "hostname": hostname, "port": 27017}
    alert = make_alert(project, config_id=config.id, facts=facts)
    setting = config.settings.get()
    values = {"setting_id": setting.id, "type_name": "WEBHOOK", "channel": "WEBHOOK", "due": NOW}
    return make_notification(project, alert=alert, **values)


def step(desk: MuteDesk, messages: Sequence[Notification], now: datetime = NOW) -> None:
    """Lease the messages and decide on them, as a worker does."""
    leased = leases_take(ids=[message.id for message in messages], worker=1, now=now)
    muting = desk.settle(leased, now=now)
    list(decide(leased, now=now, muting=muting))


def decided(messages: Sequence[Notification]) -> list[bool]:
    """Whether each message was postponed or got its destination."""
    rows = Notification.objects.in_bulk([message.id for message in messages])
    return [bool(rows[message.id].destination or rows[message.id].silenced_by) for message in messages]


def test_a_message_of_another_project_is_decided_in_the_first_step(
    project: Project, desk: MuteDesk, compared: list[str]
) -> None:
    other: Project = ProjectFactory.create()
    make_window(other, -HOUR, HOUR)
    dear, innocent = make_dear(project), message_of(other, "db1")
    step(desk, [*dear, innocent])
    assert decided([*dear, innocent]) == [False, False, True]
    steps = 1
    while not all(decided(dear)):
        assert set(Notification.objects.filter(id__in=[row.id for row in dear]).values_list("worker")) == {
            (None,)
        }
        step(desk, dear)
        steps += 1
        assert steps < 100
    assert steps > 3
    muted = Notification.objects.get(id=dear[0].id)
    assert muted.silenced_by == MaintenanceWindow.objects.get(group=project, end=NOW + HOUR).id
    assert Notification.objects.get(id=dear[1].id).destination
    # Nothing is computed twice: two targets and all matchers of all windows.
    assert len(compared) == 2 * WINDOWS * MATCHERS


def test_notifications_of_a_project_are_not_claimed_while_its_search_lasts(
    project: Project, desk: MuteDesk
) -> None:
    other: Project = ProjectFactory.create()
    dear, innocent = make_dear(project), message_of(other, "db1")
    step(desk, dear)
    assert desk.searching == {project.id}
    claimed = claim(worker=1, slots=8, clock=lambda: NOW, without=desk.searching)
    assert [row.id for row in claimed] == [innocent.id]
    steps = 0
    while desk.searching:
        desk.go_on(now=NOW)
        steps += 1
    assert steps > 1
    claimed = claim(worker=1, slots=8, clock=lambda: NOW, without=desk.searching)
    assert {row.id for row in claimed} == {row.id for row in dear}
    assert not desk.settle(claimed, now=NOW).undecided


def test_a_search_ends_if_its_windows_are_deleted(project: Project, desk: MuteDesk) -> None:
    dear = make_dear(project)
    step(desk, dear)
    assert desk.searching == {project.id}
    MaintenanceWindow.objects.filter(group=project).delete()
    desk.go_on(now=NOW)
    assert not desk.searching
    claimed = claim(worker=1, slots=8, clock=lambda: NOW, without=desk.searching)
    assert {row.id for row in claimed} == {row.id for row in dear}


@each(("change", "is_muted"), [("begins", True), ("ends", False), ("is changed", False)])
def test_a_search_ends_that_lasts_longer_than_its_windows(
    project: Project, desk: MuteDesk, monkeypatch: pytest.MonkeyPatch, change: str, is_muted: bool
) -> None:
    """A window begins before each step. The window that mutes also stays, ends or is changed."""
    monkeypatch.setattr("alerting.engine.muting.MUTE_SECONDS", 2)
    [dear] = make_dear(project, alerts=1)
    muting = MaintenanceWindow.objects.filter(group=project, end=NOW + HOUR)
    muting_id, now = muting.get().id, NOW
    for number in range(100):
        # A worker claims nothing of a project while it searches.
        if desk.searching:
            desk.go_on(now=now)
        else:
            step(desk, [dear], now)
        if decided([dear]) == [True]:
            break
        now += SECOND
        other = make_window(project, -HOUR, 100 * HOUR)
        MaintenanceWindow.objects.filter(id=other.id).update(matchers=[matcher("never")], updated=now)
        if change == "is changed":
            muting.update(updated=now)
        if change == "ends" and number == 10:
            muting.update(end=now)
    assert number > 10
    row = Notification.objects.get(id=dear.id)
    assert (row.silenced_by, bool(row.destination)) == ((muting_id, False) if is_muted else (None, True))


def test_a_long_queue_of_a_project_leaves_room_for_another(project: Project) -> None:
    other: Project = ProjectFactory.create()
    alert = make_alert(project)
    for _ in range(20):
        make_notification(project, alert=alert, due=NOW - HOUR)
    last = make_notification(other, alert=make_alert(other), due=NOW)
    without_project = make_notification(project, group=None, event_id="0" * 24, due=NOW, kind="alert.inform")
    claimed = claim(worker=1, slots=8, clock=lambda: NOW, limit=2)
    assert len(claimed) == 8
    assert {last.id, without_project.id} < {row.id for row in claimed}


def test_a_project_that_took_more_time_comes_later(project: Project, desk: MuteDesk) -> None:
    other: Project = ProjectFactory.create()
    dear = make_dear(project)
    for _ in range(3):
        step(desk, dear)
    cheap = MaintenanceWindow.objects.get(id=make_window(other, -HOUR, HOUR).id)
    MaintenanceWindow.objects.filter(id=cheap.id).update(matchers=[matcher("db1"), matcher("db")])
    innocent = message_of(other, "db1")
    step(desk, [*dear, innocent])
    assert decided([*dear, innocent]) == [False, False, True]


def test_a_window_that_ends_before_the_decision_is_written_mutes_nothing(project: Project) -> None:
    window, message = make_window(project, -HOUR, HOUR), message_of(project, "db1")
    leased = leases_take(ids=[message.id], worker=1, now=NOW)
    muting = MuteDesk.undivided().settle(leased, now=NOW)
    assert muting.mutes
    MaintenanceWindow.objects.filter(id=window.id).update(end=NOW)
    assert not list(decide(leased, now=NOW, muting=muting))
    released = Notification.objects.get(id=message.id)
    assert (released.worker, released.silenced_by, released.due) == (None, None, NOW)
    step(MuteDesk.undivided(), [message])
    assert decided([message]) == [True]
    assert not Notification.objects.get(id=message.id).silenced_by


def test_a_search_begins_again_when_a_window_begins_or_ends(
    project: Project, desk: MuteDesk, compared: list[str]
) -> None:
    dear = make_dear(project, alerts=1)
    step(desk, dear)
    begun = len(compared)
    assert 0 < begun < WINDOWS * MATCHERS
    later = NOW + timedelta(minutes=61)  # the window that would mute is over
    while not all(decided(dear)):
        step(desk, dear, later)
    assert not Notification.objects.get(id=dear[0].id).silenced_by
    assert len(compared) == begun + (WINDOWS - 1) * MATCHERS


def test_a_window_that_cannot_be_evaluated_delays_only_its_project(project: Project, desk: MuteDesk) -> None:
    others = ProjectFactory.create_batch(2)
    for other, faulty in zip(others, [{"fieldName": "SIZE"}, matcher("(")], strict=True):
        MaintenanceWindow.objects.filter(id=make_window(other, -HOUR, HOUR).id).update(matchers=[faulty])
    make_window(project, -HOUR, HOUR)
    messages = [message_of(each, "db1") for each in [*others, project]]
    leased = leases_take(ids=[message.id for message in messages], worker=1, now=NOW)
    attempts = list(decide(leased, now=NOW, muting=desk.settle(leased, now=NOW)))
    assert sorted(attempt.notification.id for attempt in attempts) == sorted(row.id for row in messages[:2])
    assert all(isinstance(attempt.content, Outcome) for attempt in attempts)
    assert decided(messages[2:]) == [True]
    assert Alert.objects.count() == 3
