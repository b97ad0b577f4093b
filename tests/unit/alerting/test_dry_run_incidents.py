"""The messages of grouped alerts in a dry run, decided without a database."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerting.engine.rules import SameDestination, merged_into
from alerting.incidents.topology import FleetUnit, FleetUnits, Picture, UnitKind, picture, units_of
from alerting.insight import dry_run_incidents
from alerting.insight.dry_run_alerts import NEVER_MUTED, DryRunAlert, DryRunMessage, DryRunReceiver
from alerting.insight.dry_run_incidents import DryRunTopology, IncidentRun
from alerting.insight.dry_run_mutes import MutedTime, TargetMutes
from alerting.reasons import NotificationReason
from events.types import Target
from integrations.choices import MessageKind

NOON = datetime(2099, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
END = NOON + 60 * MINUTE
OPEN, UPDATE, CLOSE, CANCEL = MessageKind.OPEN, MessageKind.UPDATE, MessageKind.CLOSE, MessageKind.CANCEL
RECEIVER = DryRunReceiver(
    position=0,
    type_name="EMAIL",
    channel="EMAIL",
    recipient="oncall@example.com",
    count=1,
    delay=timedelta(),
    interval=None,
    kinds=frozenset({OPEN, UPDATE, CLOSE, CANCEL}),
)


def facts(number: int) -> dict[str, Any]:
    return {"hostname": f"db{number}", "port": 27017, "replicaSetName": "rs0"}


FLEET = FleetUnits.of([units_of(facts(number)) for number in range(9)])


def down(number: int, since: int, until: int | None = None, mutes: TargetMutes = NEVER_MUTED) -> DryRunAlert:
    """A member of the replica set that is down, in minutes after noon."""
    return DryRunAlert(
        id=f"db{number} {since}",
        target_key=f"db{number}",
        facts=facts(number),
        created=NOON + since * MINUTE,
        opens=NOON + since * MINUTE,
        start_value=None,
        value=None,
        ended=None if until is None else NOON + until * MINUTE,
        mutes=mutes,
        units=units_of(facts(number)),
    )


def muted(since: int, until: int) -> TargetMutes:
    return TargetMutes([MutedTime(NOON + since * MINUTE, NOON + until * MINUTE, "w1")], END)


def sent(
    alerts: Sequence[DryRunAlert], receiver: DryRunReceiver = RECEIVER, wait: int = 1
) -> list[tuple[MessageKind, int | None]]:
    """The kind of each message of the first alert's incident, and when it was sent, in minutes."""
    return [
        (each.kind, (each.sent - NOON) // MINUTE if each.sent else None)
        for each in run_of(alerts, receiver, wait=wait)
    ]


def run_of(
    alerts: Sequence[DryRunAlert], *receivers: DryRunReceiver, wait: int = 1
) -> Sequence[DryRunMessage]:
    """The messages of the first alert's incident."""
    alerts = [replace(alert, messages=[]) for alert in alerts]
    run = IncidentRun(alerts, receivers, DryRunTopology(Target.HOST, wait * MINUTE, FLEET))
    for _ in run.steps(END):
        pass
    run.complete(END)
    return alerts[0].messages


def test_changes_that_matter_are_sent_after_the_wait() -> None:
    alerts = [down(0, 0, 30), down(1, 10, 30), down(2, 20, 30)]
    assert sent(alerts) == [(OPEN, 1), (UPDATE, 11), (CLOSE, 30)]


def test_a_receiver_whose_minimum_is_higher_gets_no_message_with_the_reason() -> None:
    low = replace(RECEIVER, is_below_minimum=True, interval=5 * MINUTE)
    alerts = [down(0, 0, 30), down(1, 10, 30), down(2, 20, 30)]
    messages = run_of(alerts, low, RECEIVER)
    reason = NotificationReason.BELOW_MIN_SEVERITY.value
    assert [(each.kind, each.reason) for each in messages if each.receiver is low] == [(OPEN, reason)]
    assert [each.kind for each in messages if each.sent] == [OPEN, UPDATE, CLOSE]


def test_an_alert_that_opens_as_another_ends_keeps_its_incident() -> None:
    assert sent([down(0, 0, 10), down(1, 10, 30)]) == [(OPEN, 1), (UPDATE, 11), (CLOSE, 30)]


def test_a_target_that_is_down_again_at_once_is_a_new_incident() -> None:
    alerts = [down(0, 0, 10), down(0, 10, 30)]
    alerts[1].follows = True
    assert sent(alerts) == [(OPEN, 1), (CLOSE, 10)]


def test_an_alert_joins_the_first_of_incidents_that_began_together_in_the_order_of_targets() -> None:
    def alert(number: int, since: int, until: int | None, *names: str, follows: bool = False) -> DryRunAlert:
        units = frozenset(FleetUnit(UnitKind.MACHINE, name) for name in names)
        return replace(down(number, since, until), units=units, follows=follows)

    # The alert that follows another on its target joins after the alerts that end.
    alerts = [
        alert(0, 0, 10, "a"),
        alert(0, 10, None, "a", follows=True),
        alert(1, 10, None, "b"),
        alert(2, 20, None, "a", "b"),
    ]
    run = IncidentRun(alerts, [RECEIVER], DryRunTopology(Target.HOST, MINUTE, FLEET))
    for _ in run.steps(END):
        pass
    assert run.complete(END) == [0, 1, 2, 1]


def test_an_incident_is_muted_while_all_its_open_alerts_are() -> None:
    assert sent([down(0, 0, 50, muted(0, 20)), down(1, 0, 50)]) == [(OPEN, 1), (CLOSE, 50)]
    assert sent([down(0, 0, 50, muted(0, 20)), down(1, 0, 50, muted(0, 30))]) == [(OPEN, 20), (CLOSE, 50)]
    assert sent([down(0, 0, 10, muted(0, 20))]) == [(OPEN, None)]
    assert sent([down(0, 0, 50, muted(0, 20)), down(1, 5, 50)]) == [(OPEN, 6), (CLOSE, 50)]


def test_a_message_that_a_window_holds_back_until_the_end_waits() -> None:
    alert = down(0, 0, None, muted(0, 90))
    run = IncidentRun([alert], [RECEIVER], DryRunTopology(Target.HOST, MINUTE, FLEET))
    assert [decides for _, decides in run.steps(END)] == [False, True]
    run.complete(END)
    (waiting,) = alert.messages
    assert (waiting.sent, waiting.reason, waiting.window_id) == (None, None, "w1")


def test_reminders_last_as_long_as_the_incident() -> None:
    reminded = replace(RECEIVER, interval=10 * MINUTE)
    assert sent([down(0, 0, 30)], reminded) == [(OPEN, 1), (UPDATE, 11), (UPDATE, 21), (CLOSE, 30)]


def test_people_get_no_reminder_shortly_after_a_change() -> None:
    alerts = [down(0, 0, 30), down(1, 8, 30)]
    people = replace(RECEIVER, interval=10 * MINUTE, for_people=True)
    assert sent(alerts, people) == [(OPEN, 1), (UPDATE, 9), (UPDATE, 21), (CLOSE, 30)]
    webhook = replace(people, for_people=False)
    assert sent(alerts, webhook) == [(OPEN, 1), (UPDATE, 9), (UPDATE, 11), (UPDATE, 21), (CLOSE, 30)]


def test_an_incident_whose_targets_were_deleted_is_cancelled() -> None:
    deleted = down(0, 0, 30)
    deleted.cancelled = True
    assert sent([deleted]) == [(OPEN, 1), (CANCEL, 30)]
    assert sent([deleted, down(1, 0, 20)]) == [(OPEN, 1), (CLOSE, 30)]


def test_a_receiver_without_recipients_is_not_notified() -> None:
    nobody = replace(RECEIVER, no_recipients="no recipients")
    assert sent([down(0, 0, 30), down(1, 10, 30)], nobody) == [(OPEN, None)]


def test_a_message_is_compared_with_the_last_messages_only(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def counted(
        waiting: SameDestination, others: Iterable[SameDestination], now: datetime
    ) -> SameDestination | None:
        known = list(others)
        compared.append(len(known))
        return merged_into(waiting, known, now)

    monkeypatch.setattr(dry_run_incidents, "merged_into", counted)
    often = replace(RECEIVER, interval=MINUTE, addresses=frozenset({"ada"}))
    messages = run_of([down(0, 0)], often, replace(often, position=1, interval=7 * MINUTE))
    assert len([each for each in messages if each.sent]) == 60
    assert len([each for each in messages if each.merged_into == 0]) == 9
    assert max(compared) <= 4


def test_a_picture_is_drawn_from_the_units_of_affected_hosts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[FleetUnits] = []

    def kept(
        covered: Sequence[FleetUnit | None], fleet: FleetUnits, *, last: Picture | None, first_is_open: bool
    ) -> Picture:
        drawn.append(fleet)
        return picture(covered, fleet, last=last, first_is_open=first_is_open)

    monkeypatch.setattr(dry_run_incidents, "picture", kept)
    sets = [units_of({**facts(number), "replicaSetName": f"rs{number // 3}"}) for number in range(300)]
    alerts = [replace(down(number, 3 * number, 20), units=sets[number]) for number in range(3)]
    run = IncidentRun(alerts, [RECEIVER], DryRunTopology(Target.HOST, MINUTE, FleetUnits.of(sets)))
    for _ in run.steps(END):
        pass
    of_set = frozenset().union(*sets[:3])
    assert len(drawn) >= 3
    assert all(fleet.hosts.keys() <= of_set for fleet in drawn)
    assert any(fleet.size(FleetUnit(UnitKind.REPLICA_SET, "rs0")) == 3 for fleet in drawn)
