"""The incidents and messages of a dry run.

Alerts begin, join and leave incidents with `incidents.grouping`, over a ledger in memory. `IncidentRun`
decides each message with `engine.rules.decide_delivery`, the function of delivery, in the order of time,
as if every receiver answered at once and no alert was acknowledged. An event that opens no alert is notified
once.

The messages are no rows of the ledger: there can be 50,000, and a row costs more than the decision about it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count, groupby
from operator import itemgetter

from alerting.engine.memory import MemoryIncidents
from alerting.engine.rules import (
    DeliveryStep,
    DueNotification,
    Mute,
    SameDestination,
    decide_delivery,
    merged_into,
    mute_of_incident,
    recent_since,
    repeat_due,
)
from alerting.incidents.choices import AlertStatus
from alerting.incidents.grouping import incidents_join, incidents_leave
from alerting.incidents.topology import (
    FIRST,
    FleetUnit,
    FleetUnits,
    OpenedAlert,
    Picture,
    covered_unit,
    first_message_due,
    is_important_change,
    picture,
    root_unit,
)
from alerting.insight.dry_run_alerts import (
    DryRunAlert,
    DryRunEvent,
    DryRunMessage,
    DryRunReceiver,
    DryRunSubject,
)
from events.types import Target
from integrations.choices import OPEN_KINDS, MessageKind


@dataclass(frozen=True, slots=True)
class DryRunTopology:
    """How alerts are grouped: the target of their event type, groupWaitSec, and the fleet around them.

    `labels` are the labels that may relate alerts.
    """

    target: Target
    wait: timedelta
    fleet: FleetUnits
    labels: AbstractSet[FleetUnit] = frozenset()


_MICROSECOND = timedelta(microseconds=1)
_ALONE = Picture(members=1, root=FIRST)
"""The picture of an alert that is an incident by itself."""


_Said = dict[tuple[str, MessageKind, bool], SameDestination]
"""The last messages that were sent, by notification, kind, and whether the message is about a change."""


@dataclass(slots=True, eq=False)
class _DryRunIncident:
    """An incident whose messages are about `lead`, its first alert, or an event.

    `said`: the last messages to addresses that several notifications share. `seen`: the picture in the last
    of them, by addresses. A message can be the same as one of these only: the notifications of an incident
    are muted together, so their messages of a kind are sent at the same time. `open`: the open alerts of a
    group; None if they have changed.
    """

    lead: DryRunSubject
    status: AlertStatus | None = AlertStatus.OPEN
    """The status of its alerts; None for an event."""
    receivers: list["_IncidentReceiver"] = field(default_factory=list)
    said: dict[frozenset[str], _Said] = field(default_factory=dict)
    seen: dict[frozenset[str], Picture] = field(default_factory=dict)
    open: "_OpenAlerts | None" = None


class _OpenAlerts:
    """The open alerts of a group: their mute, and the picture of their incident."""

    def __init__(
        self,
        alerts: Collection[DryRunAlert],
        lead: DryRunSubject,
        topology: DryRunTopology,
        units: Mapping[int, AbstractSet[FleetUnit]],
    ) -> None:
        """`lead` is the first alert of the incident. `units` are the units of each host of the fleet."""
        self._covered = [covered_unit(topology.target, alert.units) for alert in alerts]
        self._mutes = {alert.mutes for alert in alerts}
        self._first_is_open, self._fleet = lead in alerts, topology.fleet
        affected = self._fleet.hosts_of({unit for unit in self._covered if unit})
        self._near = {unit for number in affected for unit in units[number]}
        self._pictures: dict[Picture | None, Picture] = {}

    def mute(self, at: datetime) -> Mute | None:
        """The mute of all of them at a time."""
        return mute_of_incident(mutes.at(at) for mutes in self._mutes)

    def picture(self, last: Picture | None) -> Picture:
        """The picture for a message after the picture `last`."""
        if last not in self._pictures:
            # Other units have no affected host, so no picture shows them. The fleet can have thousands.
            root = root_unit(last.root) if last else None
            fleet = self._fleet.only(self._near | {root} if root else self._near)
            self._pictures[last] = picture(self._covered, fleet, last=last, first_is_open=self._first_is_open)
        return self._pictures[last]


@dataclass(slots=True, eq=False)
class _IncidentReceiver:
    """A receiver and an incident: the picture and time of the last message, and the messages that wait.

    `news` is the first message, a change or the end. At most one of them waits. `said`: the messages that its
    message can be merged into; None if no other notification has its addresses.
    """

    incident: _DryRunIncident
    receiver: DryRunReceiver
    said: _Said | None
    last: Picture | None = None
    sent: datetime | None = None
    news: DryRunMessage | None = None
    reminder: DryRunMessage | None = None

    def sends(self, kind: MessageKind) -> bool:
        return kind in self.receiver.kinds

    def was_just_notified(self, at: datetime) -> bool:
        """Whether people get no reminder, because their last message is recent."""
        interval = self.receiver.interval
        if not self.receiver.for_people or interval is None or self.sent is None:
            return False
        return self.sent > recent_since(interval, at)


class _DryRunLedger(MemoryIncidents[DryRunAlert]):
    """The alerts and incidents of a dry run. `labels` are the labels that may relate alerts."""

    def __init__(self, labels: AbstractSet[FleetUnit]) -> None:
        super().__init__()
        self._labels = labels

    def alert_units(self, alerts: Collection[OpenedAlert], /) -> Mapping[str, frozenset[FleetUnit]]:
        return {alert.id: self.stored_alerts[alert.id].units for alert in alerts}

    def labels_of_a_part(self, group_id: str, labels: Collection[FleetUnit], /) -> frozenset[FleetUnit]:
        return frozenset(self._labels & set(labels))


class IncidentRun:
    """The incidents of alerts or events, which come in the order of `opens`, and of their target."""

    def __init__(
        self,
        subjects: Sequence[DryRunSubject],
        receivers: Sequence[DryRunReceiver],
        topology: DryRunTopology | None = None,
    ) -> None:
        """Without `topology`, each alert is an incident by itself."""
        self.count = 0
        """The number of messages."""
        self._subjects, self._receivers, self._topology = subjects, receivers, topology
        self._wait_for_more = topology.wait if topology else timedelta()
        self._waits = {"": topology.wait if topology else None}
        self._ledger = _DryRunLedger(topology.labels if topology else frozenset())
        self._shared = _shared_addresses(receivers)
        self._units_of_hosts = topology.fleet.by_host() if topology else {}
        self.opened = 0
        """The number of subjects that have opened."""
        self._all: list[_DryRunIncident] = []
        self._incidents: dict[str, _DryRunIncident] = {}
        """The incidents of alerts, by the id of their first alert."""
        self._due: list[tuple[datetime, int, int, _IncidentReceiver, DryRunMessage]] = []
        self._numbers = count()

    def steps(self, until: datetime) -> Iterator[tuple[datetime, bool]]:
        """Decide what happens by `until`.

        Yield before each step its time, and whether it decides a message, so that the caller can stop.
        """
        for at, changes in groupby(sorted(_changes(self._subjects)), key=itemgetter(0)):
            if at > until:
                break
            yield from self._messages_before(at)
            yield at, False
            for step, together in groupby(changes, key=itemgetter(1)):
                some = [self._subjects[place] for *_, place in together]
                self._open(some, at) if step in _OPENS else self._end(some, at)
        yield from self._messages_before(until + _MICROSECOND)

    def _messages_before(self, limit: datetime) -> Iterator[tuple[datetime, bool]]:
        while self._due and self._due[0][0] < limit:
            at, *_, to, message = heappop(self._due)
            if (message is to.news or message is to.reminder) and message.at == at:
                yield at, True
                self._decide(to, message, at)

    def complete(self, until: datetime) -> list[int]:
        """Add the messages that are muted at the end, and return the places of the first alerts of incidents.

        The places are by alert, or empty if each alert is an incident by itself.
        """
        for incident in self._all:
            incident.lead.messages += _muted(incident, until)
        if self._topology is None:
            return []
        alerts = [alert for alert in self._subjects[: self.opened] if isinstance(alert, DryRunAlert)]
        places = {alert.id: place for place, alert in enumerate(alerts)}
        rows = [self._ledger.stored_incidents[alert.incident_id or ""] for alert in alerts]
        return [places[row.lead_id] for row in rows]

    # --- alerts -----------------------------------------------------------------------------------

    def _open(self, subjects: Sequence[DryRunSubject], at: datetime) -> None:
        """Let alerts that open together begin or join incidents, and events be notified."""
        self.opened += len(subjects)
        alerts = []
        for subject in subjects:
            if isinstance(subject, DryRunEvent):
                self._begin(_DryRunIncident(subject, status=None), MessageKind.INFORM, at)
                continue
            subject.status, subject.incident_id = AlertStatus.OPEN.value, subject.id
            self._ledger.add_alert(subject)
            alerts.append(subject)
        joined = incidents_join(alerts, self._waits, self._ledger)
        for alert in alerts:
            if alert.id in joined.leads:
                incident = self._incidents[alert.id] = _DryRunIncident(alert)
                self._begin(incident, MessageKind.OPEN, at)
        for incident_row, _ in joined.lasting.values():
            self._change(self._incidents[incident_row.lead_id], at)

    def _begin(self, incident: _DryRunIncident, kind: MessageKind, at: datetime) -> None:
        begun, wait = incident.lead.created, self._wait_for_more
        self._all.append(incident)
        for receiver in self._receivers:
            is_shared = receiver.addresses in self._shared
            said = incident.said.setdefault(receiver.addresses, {}) if is_shared else None
            to = _IncidentReceiver(incident, receiver, said)
            incident.receivers.append(to)
            if to.sends(kind):
                due = first_message_due(begun, at, delay=receiver.delay, wait=wait)
                to.news = self._wait(to, kind, due)

    def _end(self, subjects: Sequence[DryRunSubject], at: datetime) -> None:
        """Let alerts that end leave their incidents; an incident ends with its last open alert."""
        alerts = [alert for alert in subjects if isinstance(alert, DryRunAlert)]
        for alert in alerts:
            self._ledger.change_alert(alert.id, status=alert.end_status.value, resolved=at)
        kind = MessageKind.CANCEL if any(alert.cancelled for alert in alerts) else MessageKind.CLOSE
        ends = {alert.id: at for alert in alerts}
        left = incidents_leave(alerts=alerts, at=ends, kind=kind, ledger=self._ledger)
        for incident in left.lasting:
            self._change(self._incidents[incident.lead_id], at)
        for ended in left.ended:
            self._finish(self._incidents[ended.lead_id], ended.kind, at)

    def _open_alerts(self, incident: _DryRunIncident) -> _OpenAlerts | None:
        """The open alerts of a group."""
        lead = incident.lead
        if self._topology is None or incident.open or not isinstance(lead, DryRunAlert):
            return incident.open
        if alerts := self._ledger.members_with(AlertStatus.OPEN, lead.incident_id):
            incident.open = _OpenAlerts(alerts, lead, self._topology, self._units_of_hosts)
        return incident.open

    def _mute(self, incident: _DryRunIncident, at: datetime) -> Mute | None:
        """The mute of its open alerts. After the end, the mute of its first alert applies."""
        mutes = incident.lead.mutes
        if self._topology is None and incident.status:
            # No other alert can end the wait, so it lasts for all windows that follow each other.
            return mutes.last(at)
        opened = self._open_alerts(incident)
        return opened.mute(at) if opened else mutes.at(at)

    def _picture(self, to: _IncidentReceiver) -> Picture:
        opened = self._open_alerts(to.incident)
        return opened.picture(to.last) if opened else _ALONE

    # --- messages ---------------------------------------------------------------------------------

    def _wait(
        self, to: _IncidentReceiver, kind: MessageKind, due: datetime, *, changed: datetime | None = None
    ) -> DryRunMessage:
        message = DryRunMessage(to.receiver, kind, due, due, next(self._numbers), changed)
        self._decide_at(due, to, message)
        return message

    def _decide_at(self, at: datetime, to: _IncidentReceiver, message: DryRunMessage) -> None:
        message.at = at
        heappush(self._due, (at, message.order, next(self._numbers), to, message))

    def _change(self, incident: _DryRunIncident, at: datetime) -> None:
        """Decide after the wait whether the change is important; a message that waits says it anyway.

        If it is muted, it is decided again, because the incident may not be muted any more.
        """
        incident.open = None
        due = at + self._wait_for_more
        for to in incident.receivers:
            if to.news and to.news.window_id and to.news.at > due:
                self._decide_at(due, to, to.news)
            elif to.last is not None and to.news is None and to.sends(MessageKind.UPDATE):
                to.news = self._wait(to, MessageKind.UPDATE, due, changed=at)

    def _finish(self, incident: _DryRunIncident, end: MessageKind, at: datetime) -> None:
        """End an incident: receivers that were notified get its end."""
        incident.open = None
        incident.status = AlertStatus.CLOSED if end is MessageKind.CLOSE else AlertStatus.CANCELLED
        for to in incident.receivers:
            to.reminder = None
            if to.news and to.news.kind is MessageKind.OPEN:
                self._decide_at(max(to.news.due, at), to, to.news)
            else:
                is_notified = to.sent is not None and to.sends(end)
                to.news = self._wait(to, end, at) if is_notified else None

    def _decide(self, to: _IncidentReceiver, message: DryRunMessage, at: datetime) -> None:
        incident, nobody = to.incident, to.receiver.no_recipients
        mute = self._mute(incident, at)
        into = merged_into(message.same, to.said.values(), at) if to.said else None
        due = DueNotification(
            kind=message.kind,
            status=incident.status,
            is_below_minimum=to.receiver.is_below_minimum,
            keeps_state=to.receiver.keeps_state,
            mute=mute,
            worth_sending=message.changed is None or self._is_important(to),
            merged_into=into.id if into else None,
        )
        verdict = decide_delivery(due, at)
        if mute and verdict.step not in {DeliveryStep.SEND, DeliveryStep.MERGE}:
            message.window_id = mute.window_id
        if verdict.step is DeliveryStep.POSTPONE and verdict.until:
            self._decide_at(verdict.until, to, message)
            return
        if message is to.news:
            to.news = None
        else:
            to.reminder = None
        if verdict.step is DeliveryStep.MERGE and into:
            message.reason, message.merged_into = verdict.sentence, int(into.setting_id)
            self._keep(message, incident)
            to.last = incident.seen.get(to.receiver.addresses, to.last)
            self._remind(to, message, at)
        elif verdict.step is DeliveryStep.SEND and nobody is None:
            if not (message.is_reminder and to.was_just_notified(at)):
                self._send(to, message, at)
            self._remind(to, message, at)
        elif message.kind in {MessageKind.OPEN, MessageKind.INFORM}:
            message.reason = verdict.sentence or nobody
            self._keep(message, incident)

    def _is_important(self, to: _IncidentReceiver) -> bool:
        return to.last is not None and is_important_change(to.last, self._picture(to))

    def _send(self, to: _IncidentReceiver, message: DryRunMessage, at: datetime) -> None:
        message.sent = at
        self._keep(message, to.incident)
        if message.kind in OPEN_KINDS:
            to.last, to.sent = self._picture(to), at
        if to.said is not None:
            same = message.same
            to.said[same.setting_id, same.kind, same.is_change] = same
            if message.kind in OPEN_KINDS and to.last:
                to.incident.seen[to.receiver.addresses] = to.last

    def _remind(self, to: _IncidentReceiver, message: DryRunMessage, at: datetime) -> None:
        """Let the next reminder wait."""
        again = repeat_due(to.receiver.interval, at)
        is_about_open = message.kind in OPEN_KINDS
        if again and is_about_open and to.reminder is None and to.sends(MessageKind.UPDATE):
            to.reminder = self._wait(to, MessageKind.UPDATE, again)

    def _keep(self, message: DryRunMessage, incident: _DryRunIncident) -> None:
        self.count += 1
        incident.lead.messages.append(message)


_OPENS = frozenset({0, 2})
"""The steps of a time in which alerts open; in steps 1 and 3 they end."""


def _changes(subjects: Sequence[DryRunSubject]) -> Iterator[tuple[datetime, int, int]]:
    """Yield the time, the step and the place of the opening and the end of each subject."""
    for place, subject in enumerate(subjects):
        step = 0 if subject.opens_before_ends else 2
        yield subject.opens, step, place
        if subject.ended is not None:
            yield subject.ended, step + 1 if subject.ended == subject.opens else 1, place


def _shared_addresses(receivers: Sequence[DryRunReceiver]) -> set[frozenset[str]]:
    """The addresses of several notifications, whose messages can be the same."""
    positions = defaultdict(set)
    for receiver in receivers:
        positions[receiver.addresses].add(receiver.position)
    return {addresses for addresses, some in positions.items() if addresses and len(some) > 1}


def _muted(incident: _DryRunIncident, until: datetime) -> Iterator[DryRunMessage]:
    """The messages that a maintenance window still holds back."""
    for to in incident.receivers:
        for message in (to.news, to.reminder):
            if message and message.window_id and message.due <= until:
                yield message
