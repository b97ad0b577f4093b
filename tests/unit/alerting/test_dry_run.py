"""The messages of an alert that would have been, decided without a database."""

from datetime import UTC, datetime, timedelta
from typing import Any

from alerting.configs.matchers import Matcher, MatcherField, MatcherOperator
from alerting.engine.observations import Condition, Observation
from alerting.engine.transition import ConfigView
from alerting.insight.dry_run_alerts import (
    DryRun,
    DryRunAlert,
    DryRunLimit,
    DryRunMessage,
    DryRunReceiver,
    limits_of,
)
from alerting.insight.dry_run_incidents import IncidentRun
from alerting.insight.dry_run_mutes import MutedTime, TargetMutes
from events.types import EventType
from integrations.choices import MessageKind
from tests.each import each

NOON = datetime(2099, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOST = {"hostId": "1", "hostname": "db1", "port": 27017}
OPEN, UPDATE, CLOSE = MessageKind.OPEN, MessageKind.UPDATE, MessageKind.CLOSE


def at(minutes: int) -> datetime:
    return NOON + minutes * MINUTE


def an_alert(ended: int | None, delay: int = 0) -> DryRunAlert:
    return DryRunAlert(
        id="1",
        target_key="db1",
        facts=HOST,
        created=NOON,
        opens=at(delay),
        start_value=None,
        value=None,
        ended=None if ended is None else at(ended),
    )


def a_receiver(**changes: Any) -> DryRunReceiver:
    values: dict[str, Any] = {
        "position": 0,
        "type_name": "EMAIL",
        "channel": "EMAIL",
        "recipient": "oncall@example.com",
        "count": 1,
        "delay": timedelta(),
        "interval": None,
        "kinds": frozenset({OPEN, UPDATE, CLOSE}),
    }
    return DryRunReceiver(**(values | changes))


def muted(since: int, until: int) -> TargetMutes:
    return TargetMutes([MutedTime(at(since), at(until), "w1")], at(60))


def minutes_of(messages: list[DryRunMessage]) -> list[tuple[MessageKind, int | None]]:
    """The kind of each message, and when it was sent, in minutes."""
    return [(each.kind, (each.sent - NOON) // MINUTE if each.sent else None) for each in messages]


def of_alert(alert: DryRunAlert, mutes: TargetMutes | None = None, **changes: Any) -> list[DryRunMessage]:
    """The messages about an alert that is an incident by itself."""
    alert.mutes = mutes or alert.mutes
    run = IncidentRun([alert], [a_receiver(**changes)])
    for _ in run.steps(at(60)):
        pass
    run.complete(at(60))
    return alert.messages


@each(
    ("ended", "changes", "expected"),
    [
        (10, {}, [(OPEN, 0), (CLOSE, 10)]),
        (None, {}, [(OPEN, 0)]),
        (10, {"delay": 10 * MINUTE}, [(OPEN, None)]),
        (11, {"delay": 10 * MINUTE}, [(OPEN, 10), (CLOSE, 11)]),
        (20, {"interval": 10 * MINUTE}, [(OPEN, 0), (UPDATE, 10), (CLOSE, 20)]),
        (None, {"interval": 30 * MINUTE}, [(OPEN, 0), (UPDATE, 30), (UPDATE, 60)]),
        (10, {"kinds": frozenset({OPEN, UPDATE})}, [(OPEN, 0)]),
        (10, {"no_recipients": "no recipients"}, [(OPEN, None)]),
    ],
)
def test_delays_reminders_and_ends(
    ended: int | None, changes: dict[str, Any], expected: list[tuple[MessageKind, int | None]]
) -> None:
    assert minutes_of(of_alert(an_alert(ended), **changes)) == expected


@each(
    ("ended", "mute", "changes", "expected"),
    [
        (None, (0, 30), {}, [(OPEN, 30)]),
        (20, (0, 30), {}, [(OPEN, None)]),
        (20, (10, 30), {}, [(OPEN, 0), (CLOSE, 30)]),
        (20, (10, 30), {"keeps_state": True}, [(OPEN, 0), (CLOSE, 20)]),
        (
            None,
            (5, 30),
            {"interval": 10 * MINUTE},
            [(OPEN, 0), (UPDATE, 30), *((UPDATE, n) for n in (40, 50, 60))],
        ),
        (None, (0, 90), {}, [(OPEN, None)]),
    ],
)
def test_a_window_mutes_until_its_end(
    ended: int | None,
    mute: tuple[int, int],
    changes: dict[str, Any],
    expected: list[tuple[MessageKind, int | None]],
) -> None:
    assert minutes_of(of_alert(an_alert(ended), muted(*mute), **changes)) == expected


def test_a_message_names_its_window_and_why_it_is_never_sent() -> None:
    (waiting,) = of_alert(an_alert(None), muted(0, 90))
    (dropped,) = of_alert(an_alert(20), muted(0, 90))
    assert (waiting.window_id, waiting.reason) == ("w1", None)
    assert dropped.window_id == "w1"
    assert dropped.reason is not None


def test_a_deleted_target_cancels() -> None:
    run = DryRun(ConfigView("1", EventType.HOST_DOWN), timedelta())
    run.see(NOON, Observation(EventType.HOST_DOWN, Condition.HOLDS, HOST))
    run.remove(at(1), lambda facts: facts["hostId"] == "2")
    assert run.alerts[0].status_at(at(2)) == "OPEN"
    run.remove(at(1), lambda facts: facts["hostId"] == "1")
    assert (run.alerts[0].status_at(NOON), run.alerts[0].status_at(at(2))) == ("OPEN", "CANCELLED")
    run.see(at(3), Observation(EventType.HOST_DOWN, Condition.HOLDS, HOST))
    assert len(run.alerts) == 2


def test_an_alert_follows_if_it_begins_when_the_last_on_its_target_ended() -> None:
    run = DryRun(ConfigView("1", EventType.HOST_DOWN), timedelta())
    for begins, ends in ((0, 1), (1, 2), (3, 4)):
        run.see(at(begins), Observation(EventType.HOST_DOWN, Condition.HOLDS, HOST))
        run.remove(at(ends), lambda _: True)
    assert [alert.follows for alert in run.alerts] == [False, True, False]


@each(
    ("event_type", "matchers", "expected"),
    [
        ("HOST_DOWN", False, {DryRunLimit.CURRENT_WINDOWS}),
        ("HOST_DOWN", True, {DryRunLimit.CURRENT_WINDOWS, DryRunLimit.CURRENT_FACTS}),
        ("NO_PRIMARY", False, {DryRunLimit.CURRENT_WINDOWS, DryRunLimit.ENDS_NOT_RECORDED}),
        (
            "OUTSIDE_METRIC_THRESHOLD",
            False,
            {DryRunLimit.CURRENT_WINDOWS, DryRunLimit.DELETED_HOSTS_LEFT_OUT},
        ),
        ("TOO_MANY_UNHEALTHY_MEMBERS", False, {DryRunLimit.NOT_RECORDED}),
        ("ORG_PUBLIC_API_ACCESS_LIST_REQUIRED", False, {DryRunLimit.NOT_PRODUCED}),
    ],
)
def test_limits_follow_from_the_configuration(
    event_type: str, matchers: bool, expected: set[DryRunLimit]
) -> None:
    matcher = Matcher(MatcherField.REPLICA_SET_NAME, MatcherOperator.EQUALS, "rs0")
    config = ConfigView("1", EventType(event_type), matchers=[matcher] if matchers else [])
    assert set(limits_of(config)) == expected
