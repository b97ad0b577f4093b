"""The pipeline run by hand, with a stand-in for the outside."""

from collections.abc import Sequence
from datetime import datetime

from alerting.engine import delivery
from alerting.engine.absence import Absence
from alerting.engine.claims import AT_ONCE, claim
from alerting.engine.evaluation import close_over, evaluate_signals, open_tracked
from alerting.engine.muting import MuteDesk
from alerting.engine.rules import Mute
from alerting.models import Alert, AlertConfig, Notification
from automation.agents.changes import heartbeats_sweep, held_signals_release
from automation.agents.store import last_sweep
from integrations.channels.outcome import Outcome
from integrations.choices import ChannelType, DeliveryStatus, MessageKind
from integrations.messages import Message
from opsapi import clock
from opsapi.sql import execute
from tests.racing import in_other_session


class Outside:
    """Replaces all receivers: keeps the sent messages, and answers as the test asks."""

    def __init__(self) -> None:
        self.sent: list[tuple[ChannelType, dict[str, str], Message]] = []
        self.outcome = Outcome(DeliveryStatus.DELIVERED, None, 7)
        self.outcomes: dict[str, Outcome] = {}

    def deliver(
        self, channel: ChannelType, config: dict[str, str], message: Message, *, now: datetime
    ) -> Outcome:
        """In place of `integrations.channels.delivery.deliver`."""
        self.sent.append((channel, config, message))
        return self.outcomes.get(next(iter(config.values())), self.outcome)

    @property
    def said(self) -> list[tuple[str, str]]:
        """The recipient (the first value of the configuration) and kind of each message, in order."""
        return [(next(iter(config.values())), message.kind.name) for _, config, message in self.sent]

    @property
    def kinds(self) -> list[MessageKind]:
        """What was notified, in order."""
        return [message.kind for _, _, message in self.sent]


def evaluate(now: datetime | None = None, *, absent_since: datetime | None = None) -> None:
    """Evaluate everything there is; no time passes meanwhile."""
    for _ in range(1000):
        if not evaluate_signals(now=now or clock.now(), absent_since=absent_since, clock=lambda: 0.0):
            return
    raise AssertionError("evaluating brings forth signals without end")


SLOTS = 256
WORKER = 1


def deliver_round(
    now: datetime | None = None, *, limit: int = AT_ONCE, absent_since: datetime | None = None
) -> tuple[int, int]:
    """Claim, decide, send, record, once; answers how many were claimed and how many attempts there were.

    `absent_since`: when the workers were away last, while this one waits for reports.
    """
    claims = claim(worker=WORKER, slots=SLOTS, clock=lambda: now or clock.now(), limit=limit)
    desk = MuteDesk(clock=lambda: 0.0, absent_since=lambda: absent_since)
    muting = desk.settle(claims, now=now or clock.now())
    jobs = list(delivery.decide(claims, now=now or clock.now(), muting=muting))
    for job in jobs:
        delivery.record([(job, delivery.send(job, now=now or clock.now()))], now=now or clock.now())
    return len(claims), len(jobs)


def deliver_meanwhile(now: datetime) -> tuple[int, int]:
    """`deliver_round` in another session, while this transaction keeps its locks. It waits for no lock."""

    def deliver() -> tuple[int, int]:
        execute("SET lock_timeout = '20s'")
        return deliver_round(now)

    return in_other_session(deliver)


def deliver_one(now: datetime | None = None) -> bool:
    """Make the next attempt that is due; answers whether there was one."""
    while True:
        claimed, attempts = deliver_round(now, limit=1)
        if attempts or not claimed:
            return bool(attempts)


def deliver_all(now: datetime | None = None, *, absent_since: datetime | None = None) -> int:
    """Deliver everything that is due; answers how many attempts there were."""
    count = 0
    for _ in range(1_000):
        claimed, attempts = deliver_round(now, absent_since=absent_since)
        count += attempts
        if not claimed:
            return count
    raise AssertionError("delivering brings forth deliveries without end")


def mutes_of(notifications: Sequence[Notification], *, now: datetime) -> dict[str, Mute]:
    """What mutes each notification, as delivery decides it."""
    return MuteDesk.undivided().settle(notifications, now=now).mutes


def begin(now: datetime) -> list[delivery.DeliveryAttempt]:
    """Begin the attempts that are due, as a worker does that dies then."""
    while True:
        claims = claim(worker=WORKER, slots=SLOTS, clock=lambda: now)
        jobs = list(delivery.decide(claims, now=now))
        if jobs or not claims:
            return jobs


def statuses(config: AlertConfig) -> list[str]:
    """The states of a configuration's alerts, oldest first."""
    return list(
        Alert.objects.filter(config_id=config.id).order_by("created", "id").values_list("status", flat=True)
    )


class WorkerInTime:
    """A worker whose clock the test sets. It can search for alerts to open before it sweeps."""

    def __init__(self, now: datetime) -> None:
        self._now = self._steady = now
        self._absence = Absence(last_sweep, self._monotonic)

    def _monotonic(self) -> float:
        return self._steady.timestamp()

    def work(self, now: datetime, *, sweeps: bool = True, steady: datetime | None = None) -> None:
        """Do all there is. `steady`: the time of a clock that does not jump, if the worker's clock does."""
        self._now, self._steady = now, steady or now
        self._absence.begin_search(now)
        held_signals_release(now=now)
        evaluate(now, absent_since=self._absence.since())
        close_over(now=now)
        self._open()
        if sweeps:
            heartbeats_sweep(clock=lambda: now)
            evaluate(now, absent_since=self._absence.since())
            self._open()
        deliver_all(now, absent_since=self._absence.since())

    def _open(self) -> None:
        open_tracked(now=self._now, absent_since=self._absence.since())
        self._absence.end_search()
