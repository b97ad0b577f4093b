"""A notification on the timeline of its alert: its attempts, its result and what comes next. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from alerting.choices import DropReason, NotificationStatus
from alerting.rules.delivery_policy import Step, Verdict
from alerting.rules.story import Moment, MomentKind, settled_at
from integrations.choices import DeliveryStatus, MessageKind
from opsapi.clock import time_words

THAT: Mapping[MessageKind, str] = {
    MessageKind.OPEN: "that the alert opened",
    MessageKind.UPDATE: "that the alert is still open",
    MessageKind.ACKNOWLEDGE: "that the alert was acknowledged",
    MessageKind.CLOSE: "that the alert closed",
    MessageKind.CANCEL: "that the alert was cancelled",
    MessageKind.INFORM: "of the event",
}
_ENDED: Mapping[DeliveryStatus, MomentKind] = {
    DeliveryStatus.DELIVERED: MomentKind.TOLD,
    DeliveryStatus.RETRY: MomentKind.NOT_YET,
    DeliveryStatus.FAILED: MomentKind.NOT_TOLD,
}
_MESSAGES: Mapping[MessageKind, str] = {
    MessageKind.OPEN: "Alert opened",
    MessageKind.UPDATE: "Alert still open",
    MessageKind.ACKNOWLEDGE: "Alert acknowledged",
    MessageKind.CLOSE: "Alert closed",
    MessageKind.CANCEL: "Alert cancelled",
    MessageKind.INFORM: "Event",
}
_TOLD: Mapping[MomentKind, str] = {
    MomentKind.TOLD: "was notified",
    MomentKind.NOT_YET: "was not notified yet",
    MomentKind.NOT_TOLD: "was not notified",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try, by its number: when it ended, and how long it took in milliseconds.

    `latency_ms` None: no time may be shown, because it would tell why the attempt failed; `at` is when
    the attempt began.
    """

    number: int
    at: datetime
    outcome: DeliveryStatus
    reason: str | None
    latency_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """One notification of the alert, with its newest attempts, the oldest of them first.

    `whom` is the recipient in words. `latency_ms` is the last attempt's. `being_sent`: a worker has it.
    """

    id: str
    setting_id: str
    kind: MessageKind
    whom: str
    status: NotificationStatus
    reason: str | None
    created: datetime
    due: datetime
    latency_ms: int | None
    attempts: int
    being_sent: bool
    tries: tuple[Attempt, ...] = ()
    silenced_by: str | None = None

    @property
    def that(self) -> str:
        """The message as a clause: `that the alert opened`."""
        return THAT[self.kind]

    @property
    def message(self) -> str:
        """The message as a title: `Alert opened`."""
        return _MESSAGES[self.kind]

    @property
    def failed(self) -> bool:
        """Whether it failed for good, and so may be sent again."""
        return self.status is NotificationStatus.FAILED


def telling_moments(telling: Telling, *, resolved: datetime | None, now: datetime) -> Iterator[Moment]:
    """What happened with it: its attempts, and why it was given up where there was none."""
    for _, alike in groupby(telling.tries, key=lambda one: (_kind_of(telling, one), one.reason)):
        yield _tried(telling, list(alike))
    if _is_given_up(telling):
        at = settled_at(
            due=telling.due, created=telling.created, reason=telling.reason, resolved=resolved, now=now
        )
        yield Moment(
            at=at,
            kind=MomentKind.NOT_TOLD,
            text=f"{telling.whom} was not notified {telling.that}.",
            reason=telling.reason,
            notification_id=telling.id,
        )


def _is_given_up(telling: Telling) -> bool:
    """Whether somebody was not told although no attempt says so; nobody misses a repeat of what is over."""
    if telling.kind is MessageKind.UPDATE and telling.reason == DropReason.ALERT_OVER:
        return False
    return telling.status is NotificationStatus.DROPPED or (telling.failed and not telling.tries)


def coming_moment(telling: Telling, verdict: Verdict, *, now: datetime) -> Moment | None:
    """What is to become of one that is pending; `verdict`: what is decided when it is due, as things stand.

    None when it is not pending.
    """
    if telling.status is not NotificationStatus.PENDING:
        return None
    kind, text, reason = _to_come(telling, verdict, now)
    at = verdict.until if verdict.step is Step.PUT_OFF and verdict.until else max(telling.due, now)
    return Moment(at=at, kind=kind, text=text, reason=reason, notification_id=telling.id)


def _kind_of(telling: Telling, attempt: Attempt) -> MomentKind:
    """The last attempt of one that was given up is the end of it, whatever that attempt left open."""
    if telling.failed and attempt is telling.tries[-1]:
        return MomentKind.NOT_TOLD
    return _ENDED[attempt.outcome]


def _tried(telling: Telling, alike: Sequence[Attempt]) -> Moment:
    """One attempt, or several in a row that ended the same way."""
    first, last = alike[0], alike[-1]
    kind = _kind_of(telling, last)
    return Moment(
        at=first.at,
        kind=kind,
        text=f"{telling.whom} {_TOLD[kind]} {telling.that}: {_which(alike)}.",
        reason=first.reason,
        notification_id=telling.id,
    )


def _which(alike: Sequence[Attempt]) -> str:
    """`attempt 3, 84 ms`; `attempts 1 to 2, 84 ms at most, until 12:00:02Z`."""
    first, last = alike[0], alike[-1]
    one = f"attempt {first.number}" if len(alike) == 1 else f"attempts {first.number} to {last.number}"
    told = [attempt.latency_ms for attempt in alike if attempt.latency_ms is not None]
    if not told:
        return one
    longest = duration_words(max(told))
    if len(alike) == 1:
        return f"{one}, {longest}"
    return f"{one}, up to {longest} each, last at {time_words(last.at)}"


def duration_words(milliseconds: int) -> str:
    """`84 ms`, `2.5 s`."""
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def _to_come(telling: Telling, verdict: Verdict, now: datetime) -> tuple[MomentKind, str, str | None]:
    told = f"{telling.whom} will be notified {telling.that}"
    if telling.being_sent:
        return MomentKind.TOLD, f"{told}: sending now.", None
    if verdict.step is Step.DROP:
        return MomentKind.NOT_TOLD, f"{telling.whom} will not be notified {telling.that}.", verdict.reason
    if verdict.step is Step.PUT_OFF:
        return MomentKind.TOLD, f"{told}, at this time at the earliest.", verdict.reason
    if telling.tries and telling.reason:
        return MomentKind.TOLD, f"{told}: attempt {telling.attempts + 1}.", telling.reason
    late = "due, waiting for a worker" if telling.due <= now else None
    return MomentKind.TOLD, f"{told}.", late
